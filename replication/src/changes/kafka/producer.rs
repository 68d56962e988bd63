//! Sends records to the brokers, one request at a time, and waits for the acknowledgements of all in-sync replicas.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use config::{KafkaCompression, KafkaConfig, KafkaSasl};
use net::tls::{ClientTls, ClientTlsSettings, Identity, Verification};
use rskafka::BackoffConfig;
use rskafka::client::partition::{Compression, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder, Credentials, SaslConfig};
use rskafka::record::Record;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::dispatcher::{self, Dispatch};

use super::refusal::explain;
use crate::changes::error::ChangeError;

/// How long an answer may take. The brokers themselves give up after 30 seconds if replicas do not acknowledge.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(40);

/// A broker's answer is no longer: it has the names of all topics and brokers.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// Each topic has a connection of its own. So many are kept.
const TOPICS_MAX: usize = 64;

/// The partition that all changes of a topic go to, so that they stay in order.
const PARTITION: i32 = 0;

/// How the library tries again by itself, before the sink does. It does so on two levels, so that some seconds pass.
fn backoff() -> BackoffConfig {
    BackoffConfig {
        init_backoff: Duration::from_millis(50),
        max_backoff: Duration::from_millis(250),
        base: 2.0,
        deadline: Some(Duration::from_millis(600)),
    }
}

/// A client of the brokers.
pub struct Producer {
    client: Client,
    compression: Compression,
    topics: HashMap<String, PartitionClient>,
    runtime: Runtime,
    stopped: watch::Receiver<()>,
}

impl Producer {
    /// Asks the brokers for their metadata.
    ///
    /// # Errors
    /// None answers, or the settings do not fit; [`ChangeError::Gone`] if the sink is to end.
    pub fn connect(
        settings: &KafkaConfig,
        mut stopped: watch::Receiver<()>,
    ) -> Result<Self, ChangeError> {
        let failed = |error: std::io::Error| ChangeError::Kafka(error.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let mut builder = ClientBuilder::new(settings.brokers.clone())
            .client_id("pilotfish")
            .max_message_size(ANSWER_BYTES_MAX)
            .backoff_config(backoff());
        if settings.tls {
            let tls = tls(settings)?;
            builder = builder.tls_config(Arc::clone(tls.connector().config()));
        }
        if let Some(sasl) = sasl(settings) {
            builder = builder.sasl_config(sasl);
        }
        let client = run(&runtime, &mut stopped, async {
            builder.build().await.map_err(|error| explain(&error))
        })?;
        let compression = match settings.compression {
            KafkaCompression::None => Compression::NoCompression,
            KafkaCompression::Zstd => Compression::Zstd,
        };
        Ok(Self {
            client,
            compression,
            topics: HashMap::new(),
            runtime,
            stopped,
        })
    }

    /// Sends records to a topic, in order. They are acknowledged when this returns.
    ///
    /// # Errors
    /// They may or may not be in the topic; [`ChangeError::Gone`] if the sink is to end.
    pub fn send(&mut self, topic: &str, records: Vec<Record>) -> Result<(), ChangeError> {
        if self.topics.len() >= TOPICS_MAX && !self.topics.contains_key(topic) {
            self.topics.clear();
        }
        let (client, topics, compression) = (&self.client, &mut self.topics, self.compression);
        let sent = run(&self.runtime, &mut self.stopped, async {
            let partition = match topics.entry(topic.to_owned()) {
                std::collections::hash_map::Entry::Occupied(it) => it.into_mut(),
                std::collections::hash_map::Entry::Vacant(place) => {
                    let retry = UnknownTopicHandling::Retry;
                    let opened = client.partition_client(topic, PARTITION, retry).await;
                    place.insert(opened.map_err(|error| explain(&error))?)
                }
            };
            let sent = partition.produce(records, compression).await;
            sent.map_err(|error| explain(&error))
        });
        sent.map(|_| ()).map_err(|error| match error {
            ChangeError::Kafka(text) => ChangeError::Kafka(format!("topic {topic}: {text}")),
            other => other,
        })
    }
}

/// Waits for an answer, unless the sink is to end.
fn run<T>(
    runtime: &Runtime,
    stopped: &mut watch::Receiver<()>,
    answer: impl Future<Output = Result<T, String>>,
) -> Result<T, ChangeError> {
    let answered = async {
        tokio::select! {
            answered = timeout(ANSWER_TIMEOUT, answer) => match answered {
                Ok(answered) => answered.map_err(ChangeError::Kafka),
                Err(_) => Err(ChangeError::Kafka(format!(
                    "the brokers have not answered for {} seconds",
                    ANSWER_TIMEOUT.as_secs()
                ))),
            },
            _ = stopped.changed() => Err(ChangeError::Gone),
        }
    };
    // The library logs each of its steps. The sink says itself what has failed.
    dispatcher::with_default(&Dispatch::none(), || runtime.block_on(answered))
}

fn tls(settings: &KafkaConfig) -> Result<ClientTls, ChangeError> {
    let identity = settings
        .tls_certificate
        .clone()
        .zip(settings.tls_key.clone());
    let tls = ClientTls::new(ClientTlsSettings {
        verification: Verification::Identity,
        ca: settings.tls_ca.clone(),
        identity: identity.map(|(certificate, key)| Identity { certificate, key }),
    });
    tls.map_err(|error| ChangeError::Kafka(error.to_string()))
}

fn sasl(settings: &KafkaConfig) -> Option<SaslConfig> {
    let password = settings.password.as_ref().map(|it| it.expose().to_owned());
    let credentials = Credentials::new(
        settings.user.clone().unwrap_or_default(),
        password.unwrap_or_default(),
    );
    match settings.sasl {
        KafkaSasl::None => None,
        KafkaSasl::Plain => Some(SaslConfig::Plain(credentials)),
        KafkaSasl::ScramSha256 => Some(SaslConfig::ScramSha256(credentials)),
        KafkaSasl::ScramSha512 => Some(SaslConfig::ScramSha512(credentials)),
    }
}
