//! TLS on either side, over rustls with aws-lc-rs; versions 1.2 and 1.3, sessions resumed.
//!
//! [`ServerTls`] accepts clients, [`ClientTls`] connects to backends. Both hold immutable rustls
//! configurations made from files. When the files change, new handshakes use a new configuration,
//! and established connections keep the old one. A faulty file changes nothing.

mod client;
mod error;
mod files;
mod provider;
mod server;
mod verify;

use std::fmt;
use std::io;

use rustls::{AlertDescription, CertificateError, CommonState, ProtocolVersion};
use tokio::io::AsyncWriteExt;

pub use client::{ClientTls, ClientTlsSettings, Verification};
pub use error::Error;
pub use files::{Identity, Reload};
pub use rustls_pki_types::ServerName;
pub use server::{ClientCertificates, ServerTls, ServerTlsSettings};
pub use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

use crate::socket::Socket;

/// What TLS has negotiated on a connection; for logs and status tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// `TLSv1.2` or `TLSv1.3`, as servers write it in `Ssl_version`.
    pub version: &'static str,
    /// The cipher suite's name in the IANA registry, as in `TLS_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// Whether an earlier session was resumed.
    pub resumed: bool,
    /// The subject of the other side's certificate, as `REQUIRE SUBJECT` writes it:
    /// `/C=SE/O=MySQL/CN=client`. `None` if the other side presented no certificate.
    pub subject: Option<String>,
    /// The issuer of that certificate, in the same form.
    pub issuer: Option<String>,
}

impl Facts {
    /// The facts of a connection whose handshake is complete; `None` before that.
    pub fn of(connection: &CommonState) -> Option<Facts> {
        let version = match connection.protocol_version()? {
            ProtocolVersion::TLSv1_3 => "TLSv1.3",
            _ => "TLSv1.2",
        };
        let suite = connection.negotiated_cipher_suite()?.suite();
        let name = suite.as_str().unwrap_or("unknown");
        let certificates = connection.peer_certificates().unwrap_or_default();
        Some(Facts {
            version,
            // rustls gives the suites of TLS 1.3 a prefix of their own; the registry does not.
            cipher: name.replacen("TLS13_", "TLS_", 1),
            resumed: connection.handshake_kind() == Some(rustls::HandshakeKind::Resumed),
            subject: certificates.first().and_then(|leaf| verify::subject(leaf)),
            issuer: certificates.first().and_then(|leaf| verify::issuer(leaf)),
        })
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.version, self.cipher)
    }
}

/// Answers a client's handshake. `read_ahead` are bytes of the handshake that were read together with
/// the request for TLS. The caller limits the time.
///
/// # Errors
/// The socket's or rustls'; [`explain`] words it.
pub async fn accept(
    acceptor: &TlsAcceptor,
    socket: Socket,
    read_ahead: &[u8],
) -> io::Result<TlsStream<Socket>> {
    let mut alert = Vec::new();
    let mut fault = None;
    // On the heap: a session's task should not hold a handshake's state for its whole life.
    let mut handshake = Box::pin(acceptor.accept_with(socket, |connection| {
        let mut unread = read_ahead;
        while !unread.is_empty() && fault.is_none() {
            let taken = connection.read_tls(&mut unread);
            let processed = taken.and_then(|_| {
                let state = connection.process_new_packets();
                state.map_err(|fault| io::Error::new(io::ErrorKind::InvalidData, fault))
            });
            fault = processed.err();
        }
        if fault.is_some() {
            // It writes into memory, which does not fail.
            let _ = connection.write_tls(&mut alert);
        }
    }));
    match fault {
        None => Ok(TlsStream::Server(handshake.await?)),
        Some(fault) => {
            if let Some(socket) = handshake.get_mut() {
                // The alert is a courtesy to the client; the caller gets the fault.
                let _ = socket.write_all(&alert).await;
            }
            Err(fault)
        }
    }
}

/// Starts the handshake with a backend that has agreed to TLS. The caller limits the time.
///
/// # Errors
/// The socket's or rustls'; [`explain`] words it.
pub async fn connect(
    connector: &TlsConnector,
    name: ServerName<'static>,
    socket: Socket,
) -> io::Result<TlsStream<Socket>> {
    let handshake = Box::pin(connector.connect(name, socket));
    Ok(TlsStream::Client(handshake.await?))
}

/// Explains to an administrator why a handshake or a TLS connection failed.
pub fn explain(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    match inner {
        Some(fault) => explain_fault(fault),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the connection was closed during the TLS handshake".to_owned()
        }
        None => error.to_string(),
    }
}

fn explain_fault(fault: &rustls::Error) -> String {
    use rustls::Error::{
        AlertReceived, InvalidCertificate, InvalidMessage, NoCertificatesPresented,
    };
    match fault {
        InvalidCertificate(reason) => explain_certificate(reason),
        NoCertificatesPresented => "it presented no certificate, but one is required".to_owned(),
        InvalidMessage(_) => format!("what it sent is not TLS: {fault}"),
        AlertReceived(AlertDescription::UnknownCA) => {
            "the other side does not trust the certificate's issuer".to_owned()
        }
        AlertReceived(AlertDescription::CertificateRequired) => {
            "the other side requires a certificate from us".to_owned()
        }
        AlertReceived(alert) => format!("the other side refused: TLS alert {alert:?}"),
        other => other.to_string(),
    }
}

fn explain_certificate(reason: &CertificateError) -> String {
    match reason {
        CertificateError::UnknownIssuer => {
            "its certificate is not signed by a trusted authority".to_owned()
        }
        CertificateError::BadSignature => {
            "its certificate is signed by another key than the trusted authority's".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet".to_owned()
        }
        CertificateError::Other(other) => other.to_string(),
        other => format!("its certificate is not accepted: {other}"),
    }
}

#[cfg(test)]
mod tests;
