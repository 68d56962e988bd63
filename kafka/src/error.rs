//! The errors of requests to brokers, and whether the client tries again.

use std::time::Duration;

use crate::protocol::{AnswerError, Api};
use crate::refusal::Refusal;
use crate::scram::ScramError;

/// The reason why a request fails.
#[derive(Debug, thiserror::Error)]
pub enum KafkaError {
    /// No broker can be reached, neither of the settings nor of the metadata.
    #[error("no broker can be reached: {0}")]
    Unreachable(Box<KafkaError>),
    /// The settings contain no broker.
    #[error("no broker is known")]
    NoBroker,
    /// The client cannot connect to the broker.
    #[error("no connection to {address}: {error}")]
    Connect {
        /// The broker's address.
        address: String,
        /// The operating system's message.
        error: std::io::Error,
    },
    /// The connection breaks during a request.
    #[error("the connection to {address} is lost: {error}")]
    Lost {
        /// The broker's address.
        address: String,
        /// The operating system's message.
        error: std::io::Error,
    },
    /// The broker does not answer in time.
    #[error("the broker {address} has not answered for {} seconds", .wait.as_secs())]
    Silent {
        /// The broker's address.
        address: String,
        /// How long the proxy has waited.
        wait: Duration,
    },
    /// The broker's answer is invalid.
    #[error("{0}")]
    Answer(#[from] AnswerError),
    /// The length of an answer is invalid.
    #[error("the broker {address} answers with {length} bytes, which no answer has")]
    Length {
        /// The broker's address.
        address: String,
        /// The length that the answer states, in bytes.
        length: i32,
    },
    /// The broker answers another request.
    #[error("the broker {0} answers another request than the last")]
    Order(String),
    /// The broker supports no common version of a request.
    #[error("the broker {address} does not know the versions {} to {} of {}", .api.min, .api.max, .api.name)]
    Version {
        /// The broker's address.
        address: String,
        /// The request.
        api: Api,
    },
    /// A TLS file cannot be used.
    #[error(transparent)]
    Tls(#[from] net::tls::Error),
    /// The broker's name is not valid for TLS.
    #[error("{0}")]
    Name(String),
    /// The broker does not support the mechanism for the login.
    #[error("the broker refuses the mechanism {mechanism}. It has: {}", .has.join(", "))]
    Mechanism {
        /// The mechanism of the settings.
        mechanism: &'static str,
        /// The mechanisms of the broker.
        has: Vec<String>,
    },
    /// The broker refuses the user.
    #[error("the broker refuses the login: {0}")]
    Login(String),
    /// The broker does not prove that it knows the password.
    #[error(transparent)]
    Scram(#[from] ScramError),
    /// The broker refuses the request.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The records are too long for the protocol.
    #[error("the change is longer than 2 GiB")]
    TooLong,
    /// The records cannot be compressed.
    #[error("the records cannot be compressed: {0}")]
    Compression(std::io::Error),
}

impl KafkaError {
    /// Whether the same request may succeed soon.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Lost { .. } => true,
            Self::Refused(refusal) => refusal.may_pass(),
            _ => false,
        }
    }
}
