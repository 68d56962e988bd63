//! A producer for Kafka: records for topics, each acknowledged by all in-sync replicas, and kept once although they were
//! sent twice.
//!
//! ```text
//!   RecordBatch ──► BrokerClient ──► leader, sequence ──► Connection ──► broker
//!                        ▲                                  TLS, SASL       │
//!                        └────── sent again, or a wait for a quota ◄────────┘
//! ```
//!
//! The protocol is written here, because each length in an answer is a peer's: libraries take memory for as many items
//! as an answer promises.

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
