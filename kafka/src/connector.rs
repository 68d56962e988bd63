//! Opens connections to brokers: TCP, TLS, login.

use std::io;
use std::time::Duration;

use config::KafkaConfig;
use net::tls::{ClientTls, ClientTlsSettings, Identity, Verification};
use system::Entropy;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::connection::{Connection, Stream};
use crate::error::KafkaError;
use crate::login::Login;

/// The time limit for TCP and TLS together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The settings of new connections.
pub struct Connector {
    tls: Option<ClientTls>,
    login: Option<Login>,
}

impl Connector {
    /// Reads the TLS files. Logins take random bytes from `entropy`.
    ///
    /// # Errors
    /// A TLS file cannot be used; the error names the file.
    pub fn new(settings: &KafkaConfig, entropy: &Entropy) -> Result<Self, KafkaError> {
        let identity = settings
            .tls_certificate
            .clone()
            .zip(settings.tls_key.clone());
        let tls = settings.tls.then(|| {
            ClientTls::new(ClientTlsSettings {
                verification: Verification::Identity,
                ca: settings.tls_ca.clone(),
                identity: identity.map(|(certificate, key)| Identity { certificate, key }),
            })
        });
        let tls = tls.transpose();
        Ok(Self {
            tls: tls?,
            login: Login::new(settings, entropy),
        })
    }

    /// Connects, and logs in.
    ///
    /// # Errors
    /// The broker cannot be reached, or refuses the user.
    pub(crate) async fn connect(&self, address: &str) -> Result<Connection, KafkaError> {
        let name = match &self.tls {
            Some(tls) => {
                let name = tls.server_name(host(address));
                let name = name.map_err(|error| KafkaError::Name(error.to_string()))?;
                Some((tls.connector(), name))
            }
            None => None,
        };
        let opening = async {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let stream: Box<dyn Stream> = match name {
                Some((connector, name)) => Box::new(connector.connect(name, stream).await?),
                None => Box::new(stream),
            };
            Ok(stream)
        };
        let opened = timeout(CONNECT_TIMEOUT, opening).await;
        let opened = opened.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let stream = opened.map_err(|error| KafkaError::Connect {
            address: address.to_owned(),
            error,
        })?;
        let mut connection = Connection::begin(address, stream).await?;
        if let Some(login) = &self.login {
            login.run(&mut connection).await?;
        }
        Ok(connection)
    }
}

/// Returns the host of `HOST:PORT` or `[ADDRESS]:PORT`.
fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let inner = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    inner.unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn the_tls_server_name_of_a_broker_omits_the_port() {
        assert_eq!(host("kafka.example.com:9092"), "kafka.example.com");
        assert_eq!(host("10.0.0.1:9092"), "10.0.0.1");
        assert_eq!(host("[::1]:9092"), "::1");
    }
}
