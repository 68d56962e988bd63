//! A connection to a backend for parts of the proxy that are not sessions. Login, TLS and password plugins are those of
//! the control plane.

use std::sync::Arc;
use std::time::Duration;

use config::{BackendAddress, BackendTlsConfig, BackendTlsMode, Config, HealthConfig, Secret};
use route::Backend;
use system::Entropy;
use tokio::io::{AsyncRead, AsyncWrite};
use wire::reply::OkPacket;
use wire::{ErrPacket, reply};

use crate::connection::{Connection, PacketWriter};
use crate::failure::{Failure, ServerError};
use crate::login::{Access, Destination, Entry};
use crate::resolve::{SystemResolver, resolve_address};
use crate::rows::{Bounds, ResultSet, RowFormat};

/// Bytes to read from the socket at once.
const BUFFER_BYTES: usize = 128 << 10;

/// A connection that is logged in.
pub struct BackendClient {
    pub(crate) connection: Connection,
}

/// A server that need not be in any configuration, and the account to log in with. On a connection without TLS, a
/// password that must pass in full is encrypted with the public key that the server presents.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Where the server is.
    pub address: BackendAddress,
    /// The account.
    pub user: String,
    /// Its password.
    pub password: Secret,
    /// The default schema.
    pub schema: Option<String>,
    /// Whether to use TLS. There are no authorities to check a certificate with.
    pub tls: BackendTlsMode,
    /// How long the server may take to greet, and again for the login.
    pub timeout: Duration,
}

/// What went wrong with a connection or a statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ClientError {
    /// The server's error, if it answered with one.
    pub server: Option<ServerError>,
    /// What happened, for a log.
    pub text: String,
}

/// The most that one result may bring.
#[derive(Debug, Clone, Copy)]
pub struct ResultBounds {
    /// Rows.
    pub rows: usize,
    /// Bytes of all rows together.
    pub bytes: usize,
}

/// The result of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatementResult {
    /// The statement has no result set.
    Done {
        /// Rows that it has changed.
        affected_rows: u64,
    },
    /// The statement has a result set.
    Rows(ResultSet),
}

impl ClientOptions {
    /// These options in the form of a configuration.
    fn config(&self) -> Config {
        Config {
            backend_tls: BackendTlsConfig {
                mode: self.tls,
                get_server_public_key: true,
                ..BackendTlsConfig::default()
            },
            health: HealthConfig {
                timeout_connect: self.timeout,
                ..HealthConfig::default()
            },
            ..Config::default()
        }
    }

    async fn destination(&self) -> Result<Destination, Failure> {
        let host = match &self.address {
            BackendAddress::Tcp { host, .. } => Some(host.clone()),
            BackendAddress::Unix(_) => None,
        };
        let address = self.address.clone();
        let endpoints = resolve_address(Arc::new(SystemResolver), address, self.timeout).await?;
        Ok(Destination { host, endpoints })
    }
}

impl BackendClient {
    /// Connects to a backend and logs in as an account, a user and its password.
    ///
    /// # Errors
    /// The backend cannot be reached, or refuses the account.
    pub async fn log_in(
        config: &Config,
        account: (&str, Option<&Secret>),
        backend: &Backend,
        entropy: &Entropy,
    ) -> Result<Self, ClientError> {
        let access = Access::of_account(config, account, entropy);
        let destination = Destination {
            host: backend.location.host.clone(),
            endpoints: backend.location.endpoints.clone(),
        };
        Self::enter(&access, account.0, &destination).await
    }

    /// Connects to a server that is no backend, and logs in.
    ///
    /// # Errors
    /// As [`BackendClient::log_in`].
    pub async fn connect(options: &ClientOptions, entropy: &Entropy) -> Result<Self, ClientError> {
        let user = options.user.as_str();
        let account = (user, Some(&options.password));
        let access = Access::of_account(&options.config(), account, entropy);
        let access = access.with_schema(options.schema.clone());
        let destination = options.destination().await?;
        Self::enter(&access, user, &destination).await
    }

    async fn enter(
        access: &Access,
        user: &str,
        destination: &Destination,
    ) -> Result<Self, ClientError> {
        match access.log_in(destination).await? {
            Entry::In(connection) => Ok(Self {
                connection: connection.buffered(BUFFER_BYTES),
            }),
            Entry::Refused { text, error } => Err(ClientError {
                server: Some(error),
                text: format!("it refuses the account {user}: {text}"),
            }),
        }
    }

    /// A client over a stream that is already logged in to a server that calls itself `version`: for servers that are
    /// no backends.
    pub fn over<S>(stream: S, version: &str) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        Self {
            connection: Connection::over(Box::new(stream), version.to_owned()),
        }
    }

    /// The server's version, as in its greeting.
    pub fn version(&self) -> &str {
        &self.connection.version
    }

    /// The server's id of this connection, for KILL.
    pub fn thread_id(&self) -> u32 {
        self.connection.thread_id
    }

    /// Runs a statement that has no result.
    ///
    /// # Errors
    /// The server's, or the connection is broken.
    pub async fn run(&mut self, statement: &str) -> Result<(), ClientError> {
        let answer = self.connection.execute(statement).await?;
        expect_ok(&answer)
    }

    /// Runs a statement that has a result.
    ///
    /// # Errors
    /// The server's, more than the bounds allow, or the connection is broken. After either of the last two, the
    /// connection is of no use any more.
    pub async fn query(
        &mut self,
        statement: &str,
        bounds: ResultBounds,
    ) -> Result<ResultSet, ClientError> {
        let rows = self.connection.query(statement, bounds.into()).await?;
        Ok(rows.collect(RowFormat::Text).await?)
    }

    /// Runs a statement that may have a result.
    ///
    /// # Errors
    /// As [`BackendClient::query`].
    pub async fn ask(
        &mut self,
        statement: &str,
        bounds: ResultBounds,
    ) -> Result<StatementResult, ClientError> {
        let head = self.connection.execute(statement).await?;
        self.result(&head, bounds, RowFormat::Text).await
    }

    /// The result that begins with this payload.
    pub(crate) async fn result(
        &mut self,
        head: &[u8],
        bounds: ResultBounds,
        format: RowFormat,
    ) -> Result<StatementResult, ClientError> {
        if head.first() == Some(&reply::OK) {
            let ok = OkPacket::decode(head).map_err(Failure::from)?;
            return Ok(StatementResult::Done {
                affected_rows: ok.affected_rows,
            });
        }
        let rows = self.connection.rows(head, bounds.into()).await?;
        Ok(StatementResult::Rows(rows.collect(format).await?))
    }

    /// Sends a command that is answered with OK.
    ///
    /// # Errors
    /// As [`BackendClient::run`].
    pub async fn command(&mut self, payload: &[u8]) -> Result<(), ClientError> {
        self.connection.send_command(payload).await?;
        let answer = self.connection.read("an answer to a command").await?;
        expect_ok(&answer)
    }

    /// Sends a command whose answer is packets without end.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn begin(&mut self, payload: &[u8]) -> Result<(), ClientError> {
        Ok(self.connection.send_command(payload).await?)
    }

    /// Appends the next packet's bytes, of which there may be up to `bytes_max`; how many they are. A packet of
    /// [`wire::PACKET_PAYLOAD_MAX`] bytes is continued by the next.
    ///
    /// # Errors
    /// The connection is broken, or the packet is too long.
    pub async fn append_packet(
        &mut self,
        bytes: &mut Vec<u8>,
        bytes_max: usize,
    ) -> Result<usize, ClientError> {
        Ok(self.connection.append_packet(bytes, bytes_max).await?)
    }

    /// The next packet is counted as the first of a reply, to a packet that [`PacketWriter`] writes.
    pub fn expect_reply(&mut self) {
        self.connection.expect_reply();
    }

    /// Splits off what writes packets, so that they can be written while others are awaited. The client can only read
    /// from then on.
    pub fn with_writer(self) -> (Self, PacketWriter) {
        let (connection, writer) = self.connection.with_writer();
        (Self { connection }, writer)
    }

    /// Says goodbye and closes.
    pub async fn quit(self) {
        self.connection.quit().await;
    }
}

impl PacketWriter {
    /// Writes a payload that nothing has asked for.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn write(&mut self, payload: &[u8]) -> Result<(), ClientError> {
        Ok(self.write_payload(payload).await?)
    }
}

impl ClientError {
    /// What an ERR packet says.
    pub fn of_packet(payload: &[u8]) -> Self {
        match ErrPacket::decode(payload) {
            Ok(err) => Failure::refused(&err).into(),
            Err(malformed) => Failure::from(malformed).into(),
        }
    }

    /// One of the connection's, or of its use: the server has answered with none.
    pub fn without_answer(text: impl Into<String>) -> Self {
        Self {
            server: None,
            text: text.into(),
        }
    }

    /// The number of the server's error, if it answered with one.
    pub fn number(&self) -> Option<u16> {
        self.server.as_ref().map(|error| error.number)
    }
}

fn expect_ok(answer: &[u8]) -> Result<(), ClientError> {
    match answer.first() {
        Some(&reply::OK) => Ok(()),
        Some(&reply::ERR) => Err(ClientError::of_packet(answer)),
        _ => {
            let text = "its answer is neither OK nor an error";
            Err(ClientError::without_answer(text))
        }
    }
}

impl From<ResultBounds> for Bounds {
    fn from(bounds: ResultBounds) -> Self {
        Self {
            rows: bounds.rows,
            bytes: bounds.bytes,
        }
    }
}

impl From<Failure> for ClientError {
    fn from(failure: Failure) -> Self {
        let text = failure.to_string();
        let server = match failure {
            Failure::Refused { number, text } => Some(ServerError {
                number,
                message: text,
            }),
            _ => None,
        };
        Self { server, text }
    }
}
