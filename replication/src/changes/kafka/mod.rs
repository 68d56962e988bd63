//! Sends the changes of a stream to topics of Kafka (`[[replication.kafka]]`).
//!
//! ```text
//!   open: lock, position file ──► metadata of the brokers
//!   change ──► batch ──► a request for each topic ──► acknowledged by all in-sync replicas
//!                                                        └──► position file: once a second, for whole transactions
//! ```
//!
//! Only one request is in flight, so the changes of a topic stay in order. If a request fails, the batch is sent
//! again with the same sequence number, by which brokers recognise it. If it fails for seconds, the sink begins
//! again after its position, so changes may come twice. If a broker's quota is used up, the next request waits.

mod batch;
mod producer;
mod topic;
mod writer;

#[cfg(test)]
mod tests;

use std::time::Duration;

use config::{ChangeFileStart, KafkaConfig};
use tokio::sync::watch;

use super::error::ChangeError;
use super::readers::ChangeTransport;
use super::sink::SinkSettings;
use super::source::ChangeSource;
use writer::KafkaWriter;

impl SinkSettings for KafkaConfig {
    type Sink = KafkaWriter;

    const TRANSPORT: ChangeTransport = ChangeTransport::Kafka;
    const THREAD: &'static str = "kafka";

    fn name(&self) -> String {
        format!("{} at {}", self.topic, self.brokers.join(","))
    }

    fn tables(&self) -> &[String] {
        &self.tables
    }

    fn from(&self) -> ChangeFileStart {
        self.from
    }

    fn open(
        &self,
        source: &ChangeSource,
        stopped: &watch::Receiver<()>,
    ) -> Result<KafkaWriter, ChangeError> {
        KafkaWriter::open(self, source, stopped.clone())
    }

    fn log_start(&self, position: &str) {
        tracing::info!(
            kind = "kafka_begins",
            brokers = self.brokers.join(","),
            topic = self.topic,
            position,
            "changes are sent to Kafka"
        );
    }

    fn log_retry(&self, error: &ChangeError, wait: Duration) {
        tracing::warn!(
            kind = "kafka_failed",
            brokers = self.brokers.join(","),
            topic = self.topic,
            cause = error.kind(),
            %error,
            ?wait,
            "changes cannot be sent to Kafka; the proxy tries again, and the changes wait in the relay files"
        );
    }
}
