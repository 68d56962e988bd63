//! Sends records to the brokers, one request at a time, and waits for the acknowledgements of all in-sync replicas.

use std::future::Future;

use config::{KafkaCompression, KafkaConfig};
use kafka::{BrokerClient, Connector, KafkaError, RecordBatch};
use system::Entropy;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::changes::error::ChangeError;

/// A blocking client of the brokers.
pub struct Producer {
    client: BrokerClient,
    compression: KafkaCompression,
    runtime: Runtime,
    stopped: watch::Receiver<()>,
}

impl Producer {
    /// Gets the metadata from the brokers.
    ///
    /// # Errors
    /// No broker answers, or the settings do not fit; [`ChangeError::Gone`] if the sink must end.
    pub fn connect(
        settings: &KafkaConfig,
        entropy: &Entropy,
        stopped: watch::Receiver<()>,
    ) -> Result<Self, ChangeError> {
        let failed = |error: std::io::Error| ChangeError::Kafka(error.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let connector = Connector::new(settings, entropy)?;
        let mut producer = Self {
            client: BrokerClient::new(connector, settings.brokers.clone()),
            compression: settings.compression,
            runtime,
            stopped,
        };
        let (client, stopped) = (&mut producer.client, &mut producer.stopped);
        run(&producer.runtime, stopped, client.find_brokers())?;
        Ok(producer)
    }

    /// Sends records to a topic, in order. When this returns, the brokers have acknowledged them.
    ///
    /// # Errors
    /// The topic may or may not have the records; [`ChangeError::Gone`] if the sink must end.
    pub fn send(&mut self, topic: &str, records: &mut RecordBatch) -> Result<(), ChangeError> {
        let compressed = records.compress(self.compression);
        let sent = match compressed {
            Ok(()) => {
                let sending = self.client.produce(topic, records);
                run(&self.runtime, &mut self.stopped, sending)
            }
            Err(error) => Err(KafkaError::Compression(error).into()),
        };
        sent.map_err(|error| match error {
            ChangeError::Kafka(text) => ChangeError::Kafka(format!("topic {topic}: {text}")),
            other => other,
        })
    }
}

/// Waits for an answer, unless the sink must end.
fn run<T>(
    runtime: &Runtime,
    stopped: &mut watch::Receiver<()>,
    answer: impl Future<Output = Result<T, KafkaError>>,
) -> Result<T, ChangeError> {
    runtime.block_on(async {
        tokio::select! {
            answered = answer => Ok(answered?),
            _ = stopped.changed() => Err(ChangeError::Gone),
        }
    })
}

impl From<KafkaError> for ChangeError {
    fn from(error: KafkaError) -> Self {
        Self::Kafka(error.to_string())
    }
}
