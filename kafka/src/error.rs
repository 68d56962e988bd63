//! Why a request to the brokers fails, and what follows.

use std::time::Duration;

use crate::protocol::{AnswerError, Api};
use crate::refusal::Refusal;
use crate::scram::ScramError;

/// Why a request fails.
#[derive(Debug, thiserror::Error)]
pub enum KafkaError {
    /// No broker of the settings, and none that these have named, can be asked.
    #[error("no broker can be reached: {0}")]
    Unreachable(Box<KafkaError>),
    /// The settings name none.
    #[error("no broker is known")]
    NoBroker,
    /// There is no connection.
    #[error("no connection to {address}: {error}")]
    Connect {
        /// The broker's.
        address: String,
        /// The system's words.
        error: std::io::Error,
    },
    /// The connection breaks while a request is under way.
    #[error("the connection to {address} is lost: {error}")]
    Lost {
        /// The broker's.
        address: String,
        /// The system's words.
        error: std::io::Error,
    },
    /// No answer comes.
    #[error("the broker {address} has not answered for {} seconds", .wait.as_secs())]
    Silent {
        /// The broker's.
        address: String,
        /// How long the proxy has waited.
        wait: Duration,
    },
    /// Something comes that is no answer.
    #[error("{0}")]
    Answer(#[from] AnswerError),
    /// An answer has this many bytes.
    #[error("the broker {address} answers with {length} bytes, which no answer has")]
    Length {
        /// The broker's.
        address: String,
        /// What it says.
        length: i32,
    },
    /// The answer to another request comes.
    #[error("the broker {0} answers another request than the last")]
    Order(String),
    /// The broker is too old or too new.
    #[error("the broker {address} does not know the versions {} to {} of {}", .api.min, .api.max, .api.name)]
    Version {
        /// The broker's.
        address: String,
        /// The request.
        api: Api,
    },
    /// A file of TLS cannot be used.
    #[error(transparent)]
    Tls(#[from] net::tls::Error),
    /// The name of the broker cannot be checked.
    #[error("{0}")]
    Name(String),
    /// The broker has no such way to log in.
    #[error("the broker refuses the mechanism {mechanism}. It has: {}", .has.join(", "))]
    Mechanism {
        /// That of the settings.
        mechanism: &'static str,
        /// Those of the broker.
        has: Vec<String>,
    },
    /// The broker does not let the user in.
    #[error("the broker refuses the login: {0}")]
    Login(String),
    /// The broker does not prove that it knows the password.
    #[error(transparent)]
    Scram(#[from] ScramError),
    /// The broker refuses the request.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The records are longer than the protocol can say.
    #[error("the change is longer than 2 GiB")]
    TooLong,
    /// The records cannot be compressed.
    #[error("the records cannot be compressed: {0}")]
    Compression(std::io::Error),
}

impl KafkaError {
    /// Whether the same request may succeed in a moment.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Lost { .. } => true,
            Self::Refused(refusal) => refusal.may_pass(),
            _ => false,
        }
    }
}
