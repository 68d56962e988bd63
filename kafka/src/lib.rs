//! A producer for Kafka. All in-sync replicas acknowledge each record, and brokers store a record once, even if it
//! is sent twice.
//!
//! ```text
//!   RecordBatch ──► BrokerClient ──► leader, sequence ──► Connection ──► broker
//!                        ▲                                  TLS, SASL       │
//!                        └────── sent again, or a wait for a quota ◄────────┘
//! ```
//!
//! The protocol is implemented here, because each length in an answer comes from a peer: libraries allocate memory
//! for as many items as an answer states.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod client;
mod connection;
mod connector;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod login;
mod protocol;
mod record_batch;
mod refusal;
mod scram;

pub use client::BrokerClient;
pub use connector::Connector;
pub use error::KafkaError;
pub use protocol::AnswerError;
pub use record_batch::RecordBatch;
pub use refusal::Refusal;
pub use scram::ScramError;
