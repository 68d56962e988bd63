//! A client of the brokers: finds the leader of a topic, and sends records to it.
//!
//! ```text
//!   leader of the topic ──► number of the producer, sequence of the topic ──► Produce ──► acknowledged
//!        ▲                                                                       │
//!        └─────────────── a wait, another leader, another connection ◄───────────┘ refused, or lost
//! ```
//!
//! If records are sent again, they have the same sequence number, so the leader stores them only once.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::sleep;

use crate::connection::Connection;
use crate::connector::Connector;
use crate::error::KafkaError;
use crate::protocol::producer_id::ProducerId;
use crate::protocol::{Api, metadata, produce, producer_id};
use crate::record_batch::{RecordBatch, Sequence};
use crate::refusal::{CLUSTER_AUTHORIZATION_FAILED, DUPLICATE_SEQUENCE_NUMBER, Refusal};

/// The waits before each new try. After the last one the sink begins again, and logs the error.
const WAITS_MS: [u64; 6] = [50, 100, 200, 400, 800, 800];

/// The maximum number of known topics. If there are more, the client forgets them and gets a new producer id.
const TOPICS_MAX: usize = 4096;

/// A client of one Kafka cluster.
pub struct BrokerClient {
    connector: Connector,
    /// The addresses of the brokers in the settings.
    first: Vec<String>,
    /// The addresses of all brokers, by broker id, from the last metadata answer.
    brokers: HashMap<i32, String>,
    /// The open connections, by the broker's address.
    connections: HashMap<String, Connection>,
    topics: HashMap<String, TopicState>,
    producer: Option<Producer>,
    /// Whether the log already says that a broker makes the proxy wait.
    has_told_wait: bool,
}

#[derive(Default)]
struct TopicState {
    leader: Option<i32>,
    /// The sequence number of the topic's next record.
    next: i32,
}

/// The producer id of the client.
#[derive(Clone, Copy)]
enum Producer {
    Known(ProducerId),
    /// The brokers give no producer id: they are too old, or the user may not ask for one.
    Anonymous,
}

impl BrokerClient {
    /// A client without connections.
    pub fn new(connector: Connector, first: Vec<String>) -> Self {
        Self {
            connector,
            first,
            brokers: HashMap::new(),
            connections: HashMap::new(),
            topics: HashMap::new(),
            producer: None,
            has_told_wait: false,
        }
    }

    /// Gets the metadata of all brokers.
    ///
    /// # Errors
    /// No broker answers.
    pub async fn find_brokers(&mut self) -> Result<(), KafkaError> {
        self.metadata(None).await.map(drop)
    }

    /// Sends records to a topic. When this returns, all in-sync replicas have the records.
    ///
    /// # Errors
    /// The topic may or may not have the records.
    pub async fn produce(
        &mut self,
        topic: &str,
        records: &mut RecordBatch,
    ) -> Result<(), KafkaError> {
        let mut waits = WAITS_MS.iter();
        loop {
            let Err(error) = self.produce_once(topic, records).await else {
                return Ok(());
            };
            self.forget(topic, &error);
            let wait = waits.next().filter(|_| error.may_pass());
            let Some(wait) = wait else { return Err(error) };
            sleep(Duration::from_millis(*wait)).await;
        }
    }

    async fn produce_once(
        &mut self,
        topic: &str,
        records: &mut RecordBatch,
    ) -> Result<(), KafkaError> {
        let sequence = self.sequence(topic).await?;
        let leader = self.leader(topic).await?;
        let count = records.count();
        let records = records.sealed(sequence);
        let request = produce::request(topic, records).ok_or(KafkaError::TooLong)?;
        let asked = self.ask(&leader, produce::API, &[&request, records]).await;
        let (version, answer) = asked?;
        let produced = produce::answer(version, &answer)?;
        self.hold(&leader, produced.throttle_ms);
        if !matches!(produced.code, 0 | DUPLICATE_SEQUENCE_NUMBER) {
            return Err(Refusal::new(produced.code, produced.message).into());
        }
        if let Some(topic) = self.topics.get_mut(topic) {
            topic.next = behind(topic.next, count);
        }
        Ok(())
    }

    /// Forgets the topic's leader after an error, and the producer id if the brokers no longer know it.
    fn forget(&mut self, topic: &str, error: &KafkaError) {
        if let Some(topic) = self.topics.get_mut(topic) {
            topic.leader = None;
        }
        if matches!(error, KafkaError::Refused(it) if it.wants_new_producer()) {
            self.begin_as_another();
        }
    }

    fn begin_as_another(&mut self) {
        self.producer = None;
        self.topics.clear();
    }

    /// Returns the producer id, and the sequence number of the topic's next record.
    async fn sequence(&mut self, topic: &str) -> Result<Sequence, KafkaError> {
        if self.topics.len() >= TOPICS_MAX && !self.topics.contains_key(topic) {
            self.begin_as_another();
        }
        let producer = match self.producer {
            Some(producer) => producer,
            None => self.ask_number().await?,
        };
        self.producer = Some(producer);
        let next = self.topics.entry(topic.to_owned()).or_default().next;
        Ok(match producer {
            Producer::Known(id) => Some((id, next)),
            Producer::Anonymous => None,
        })
    }

    async fn ask_number(&mut self) -> Result<Producer, KafkaError> {
        let request = producer_id::request();
        let asked = self.ask_any(producer_id::API, &request).await;
        let (address, answer) = match asked {
            Err(KafkaError::Version { .. }) => return Ok(Producer::Anonymous),
            asked => asked?,
        };
        let (throttle_ms, code, id) = producer_id::answer(&answer)?;
        self.hold(&address, throttle_ms);
        match code {
            0 => Ok(Producer::Known(id)),
            CLUSTER_AUTHORIZATION_FAILED => Ok(Producer::Anonymous),
            code => Err(Refusal::new(code, None).into()),
        }
    }

    /// Returns the address of the broker that leads the topic's partition.
    async fn leader(&mut self, topic: &str) -> Result<String, KafkaError> {
        const LEADER_NOT_AVAILABLE: i16 = 5;
        let known = self.topics.get(topic).and_then(|it| it.leader);
        if let Some(address) = known.and_then(|it| self.brokers.get(&it)) {
            return Ok(address.clone());
        }
        let found = self.metadata(Some(topic)).await?;
        let found = found.unwrap_or(metadata::Topic {
            code: LEADER_NOT_AVAILABLE,
            leader: -1,
        });
        let address = self.brokers.get(&found.leader);
        match (found.code, address) {
            (0, Some(address)) => {
                let topic = self.topics.entry(topic.to_owned()).or_default();
                topic.leader = Some(found.leader);
                Ok(address.clone())
            }
            (0, None) => Err(Refusal::new(LEADER_NOT_AVAILABLE, None).into()),
            (code, _) => Err(Refusal::new(code, None).into()),
        }
    }

    /// Gets the metadata of all brokers, and of a topic.
    async fn metadata(
        &mut self,
        topic: Option<&str>,
    ) -> Result<Option<metadata::Topic>, KafkaError> {
        let request = metadata::request(topic);
        let (address, answer) = self.ask_any(metadata::API, &request).await?;
        let metadata = metadata::answer(&answer)?;
        self.hold(&address, metadata.throttle_ms);
        let brokers = metadata.brokers.into_iter();
        self.brokers = brokers
            .map(|it| (it.id, address_of(&it.host, it.port)))
            .collect();
        let (brokers, first) = (&self.brokers, &self.first);
        self.connections
            .retain(|it, _| first.contains(it) || brokers.values().any(|broker| broker == it));
        Ok(metadata.topic)
    }

    /// Sends a request to one broker after the other until one answers: first the brokers with a connection, then
    /// all others, then those of the settings.
    async fn ask_any(&mut self, api: Api, body: &[u8]) -> Result<(String, Vec<u8>), KafkaError> {
        let known = self.connections.keys().chain(self.brokers.values());
        let addresses: Vec<_> = known.chain(&self.first).cloned().collect();
        let mut last = None;
        for address in addresses {
            match self.ask(&address, api, &[body]).await {
                Ok((_, answer)) => return Ok((address, answer)),
                Err(
                    error @ (KafkaError::Connect { .. }
                    | KafkaError::Lost { .. }
                    | KafkaError::Silent { .. }),
                ) => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        let error = last.unwrap_or(KafkaError::NoBroker);
        Err(KafkaError::Unreachable(Box::new(error)))
    }

    /// Sends a request to a broker. If it gets no answer, the connection is not used again.
    async fn ask(
        &mut self,
        address: &str,
        api: Api,
        body: &[&[u8]],
    ) -> Result<(i16, Vec<u8>), KafkaError> {
        let mut connection = match self.connections.remove(address) {
            Some(connection) => connection,
            None => self.connector.connect(address).await?,
        };
        let answered = connection.ask(api, body).await?;
        self.connections.insert(address.to_owned(), connection);
        Ok(answered)
    }

    /// Delays the next request to a broker, because the broker's answer asks for that. The answer itself is valid.
    fn hold(&mut self, address: &str, throttle_ms: i32) {
        let time = Duration::from_millis(u64::try_from(throttle_ms).unwrap_or(0));
        if time.is_zero() {
            return;
        }
        if let Some(connection) = self.connections.get_mut(address) {
            connection.hold(time);
        }
        if !std::mem::replace(&mut self.has_told_wait, true) {
            tracing::info!(
                kind = "kafka_throttled",
                broker = address,
                wait = ?time,
                "a broker's quota makes the proxy wait before its next request; the changes wait in the relay files"
            );
        }
    }
}

/// Returns the next sequence number. After the greatest number comes 0.
fn behind(sequence: i32, count: u32) -> i32 {
    let sum = sequence.cast_unsigned().wrapping_add(count);
    (sum & i32::MAX.cast_unsigned()).cast_signed()
}

/// Returns `HOST:PORT`, or `[ADDRESS]:PORT` for an IPv6 address.
fn address_of(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kafka_sequence_numbers_wrap_to_0_after_the_maximum() {
        assert_eq!(behind(0, 3), 3);
        assert_eq!(behind(i32::MAX - 1, 1), i32::MAX);
        assert_eq!(behind(i32::MAX, 1), 0);
        assert_eq!(behind(i32::MAX, 7), 6);
    }

    #[test]
    fn addresses_with_colons_are_in_brackets() {
        assert_eq!(address_of("kafka", 9092), "kafka:9092");
        assert_eq!(address_of("::1", 9092), "[::1]:9092");
    }
}
