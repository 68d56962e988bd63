//! The connection of a session, in clear or over TLS.

use std::io;
use std::sync::Arc;

use anyhow::Result;
use net::tls::{ClientTls, ClientTlsSettings, Verification};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::client::Resumption;

/// A connection of either kind.
pub enum Stream {
    Clear(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Returns the TLS settings of sessions. They accept every certificate and resume no session, as most client libraries.
///
/// # Errors
/// When TLS cannot be set up.
pub fn connector() -> Result<TlsConnector> {
    let settings = ClientTlsSettings {
        verification: Verification::None,
        ca: None,
        identity: None,
    };
    let connector = ClientTls::new(settings)?.connector();
    let mut config = ClientConfig::clone(connector.config());
    config.resumption = Resumption::disabled();
    Ok(TlsConnector::from(Arc::new(config)))
}

impl Stream {
    /// Begins TLS on a connection on which the server has agreed to it.
    pub async fn over_tls(self, connector: &TlsConnector) -> io::Result<Self> {
        let Self::Clear(stream) = self else {
            return Ok(self);
        };
        let name = stream.peer_addr()?.ip().into();
        let stream = connector.connect(name, stream).await?;
        Ok(Self::Tls(Box::new(stream)))
    }

    pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Clear(stream) => stream.write_all(bytes).await,
            Self::Tls(stream) => {
                stream.write_all(bytes).await?;
                stream.flush().await
            }
        }
    }

    /// Reads once into the room that `buffer` has; 0 at the end.
    pub async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Clear(stream) => stream.read_buf(buffer).await,
            Self::Tls(stream) => stream.read_buf(buffer).await,
        }
    }

    /// The connection, if it is in clear.
    pub fn into_clear(self) -> Option<TcpStream> {
        match self {
            Self::Clear(stream) => Some(stream),
            Self::Tls(_) => None,
        }
    }
}
