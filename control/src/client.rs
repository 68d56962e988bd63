//! A connection to a backend for other parts of the proxy that are no sessions: the same login, TLS and password
//! plugins as the control plane's own.

use config::{Config, Secret};
use route::Backend;
use tokio::io::{AsyncRead, AsyncWrite};
use wire::{ErrPacket, reply};

use crate::connection::Connection;
use crate::failure::Failure;
use crate::login::{Access, Destination, Entry};
use crate::rows::Bounds;

/// How much is read from the socket at once.
const BUFFER_BYTES: usize = 128 << 10;

/// A connection that is logged in.
pub struct BackendClient {
    connection: Connection,
}

/// What went wrong with a connection or a statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ClientError {
    /// The server's error number, if it answered with an error.
    pub number: Option<u16>,
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

/// A result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultSet {
    /// The columns' names.
    pub names: Vec<String>,
    /// The rows, each with a value for each column; none is NULL.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
}

impl BackendClient {
    /// Connects to a backend and logs in as `user`.
    ///
    /// # Errors
    /// The backend cannot be reached, or refuses the account.
    pub async fn log_in(
        config: &Config,
        (user, password): (&str, Option<&Secret>),
        backend: &Backend,
    ) -> Result<Self, ClientError> {
        let access = Access::of_account(config, user, password);
        let destination = Destination {
            host: backend.host.clone(),
            endpoints: backend.endpoints.clone(),
        };
        match access.log_in(&destination).await? {
            Entry::In(connection) => Ok(Self {
                connection: connection.buffered(BUFFER_BYTES),
            }),
            Entry::Refused(text) => Err(ClientError {
                number: None,
                text: format!("it refuses the account {user}: {text}"),
            }),
        }
    }

    /// Over a stream whose other end has logged us in, and calls itself `version`: for servers that are no backends.
    pub fn over<S>(stream: S, version: &str) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        Self {
            connection: Connection::over(Box::new(stream), version.to_owned()),
        }
    }

    /// What the server calls itself in its greeting.
    pub fn version(&self) -> &str {
        &self.connection.version
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
        let bounds = Bounds {
            rows: bounds.rows,
            bytes: bounds.bytes,
        };
        let mut rows = self.connection.query(statement, bounds).await?;
        let mut result = ResultSet {
            names: rows.names().to_vec(),
            rows: Vec::new(),
        };
        while let Some(row) = rows.next().await? {
            let values = row.values()?;
            let owned = values.into_iter().map(|value| value.map(<[u8]>::to_vec));
            result.rows.push(owned.collect());
        }
        Ok(result)
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

    /// Says goodbye and closes.
    pub async fn quit(self) {
        self.connection.quit().await;
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
}

fn expect_ok(answer: &[u8]) -> Result<(), ClientError> {
    match answer.first() {
        Some(&reply::OK) => Ok(()),
        Some(&reply::ERR) => Err(ClientError::of_packet(answer)),
        _ => Err(ClientError {
            number: None,
            text: "its answer is neither OK nor an error".to_owned(),
        }),
    }
}

impl From<Failure> for ClientError {
    fn from(failure: Failure) -> Self {
        Self {
            number: match &failure {
                Failure::Refused { number, .. } => Some(*number),
                _ => None,
            },
            text: failure.to_string(),
        }
    }
}
