//! The change feed: the rows that a stream's transactions have changed, as JSON in Debezium's shape.
//!
//! ```text
//!   relay files ──► ChangeReader ──► Translator ──► change, position ──► Queue ──► a client over HTTP
//!                                      │                              ├► ChangeFileWriter ──► a file
//!                                      │                              └► KafkaWriter ──► topics of a Kafka cluster
//!                                      └── TableCache: as the server sends them, or by the schema history
//! ```
//!
//! Each reader has its own thread and reads the files itself, so a slow reader delays no other. Changes come in the
//! order of the log, each at least once. Each change has the position after which a reader with that change goes
//! on: before the end of a transaction this is the position before the transaction.

mod columns;
mod error;
mod event;
mod file;
mod format;
mod history;
#[cfg(feature = "kafka")]
mod kafka;
mod key;
mod reader;
mod readers;
mod sink;
mod source;
mod statement;
mod subscription;
mod tables;
mod translation;
mod translator;
mod value;

#[cfg(test)]
pub(crate) mod tests;

pub use error::{ChangeError, ChangeRefusal};
pub use format::{ChangeLines, OLDEST_POSITION, ServerSentEvents};
pub use reader::ChangeStart;
pub use readers::{ChangeReaderView, ChangeReaders, ChangeState, ChangeTransport};
pub use sink::ChangeSinks;
pub use source::ChangeSource;
pub use subscription::{ChangeFormat, ChangeRequest, subscribe};
pub use translation::Translation;
pub use translator::{ChangeRecord, Output};
