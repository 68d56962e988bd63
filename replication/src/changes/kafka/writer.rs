//! Collects changes in batches, sends them, and stores the position after the acknowledged ones.

use std::fs::File;
use std::time::Duration;

use config::KafkaConfig;
use system::Clock;
use tokio::sync::watch;

use super::batch::Batch;
use super::producer::Producer;
use super::topic::Topics;
use crate::changes::error::ChangeError;
use crate::changes::sink::position_file::{lock, save_position, saved_position, with_suffix};
use crate::changes::sink::{Sink, SyncTimer};
use crate::changes::source::ChangeSource;
use crate::changes::translator::{ChangeRecord, Output};

/// The writer of one Kafka sink.
pub struct KafkaWriter {
    settings: KafkaConfig,
    topics: Topics,
    clock: Clock,
    stopped: watch::Receiver<()>,
    /// The lock file; another writer waits for its lock.
    _lock: File,
    producer: Producer,
    batch: Batch,
    /// All transactions that are complete, sent or in the batch.
    position: Option<String>,
    /// The transactions that the brokers have acknowledged.
    acknowledged: Option<String>,
    /// The position in the position file.
    saved: Option<String>,
    /// Since when an acknowledged position waits to be stored.
    timer: SyncTimer,
    /// Changes and bytes since the last `take_counts`.
    counts: (u64, u64),
    /// Whether a request has failed. Then the proxy no longer knows which changes the brokers have.
    has_failed: bool,
}

impl KafkaWriter {
    /// Reads the position file, and gets the metadata from the brokers.
    ///
    /// # Errors
    /// The file cannot be opened, another process writes it, or no broker answers.
    pub fn open(
        settings: &KafkaConfig,
        source: &ChangeSource,
        stopped: watch::Receiver<()>,
    ) -> Result<Self, ChangeError> {
        let lock = lock(&with_suffix(&settings.position_file, "lock"))?;
        let saved = saved_position(&settings.position_file)?;
        Ok(Self {
            settings: settings.clone(),
            topics: Topics::new(settings, source.cluster()),
            clock: source.system().clock.clone(),
            producer: Producer::connect(settings, &source.system().entropy, stopped.clone())?,
            stopped,
            _lock: lock,
            batch: Batch::default(),
            position: saved.clone(),
            acknowledged: saved.clone(),
            saved,
            timer: SyncTimer::default(),
            counts: (0, 0),
            has_failed: false,
        })
    }

    fn batch_bytes_max(&self) -> usize {
        usize::try_from(self.settings.batch_bytes_max).unwrap_or(usize::MAX)
    }

    /// Sends the batch, and waits until all of it is acknowledged.
    fn send(&mut self) -> Result<(), ChangeError> {
        for (topic, mut records) in self.batch.take() {
            let bytes = records.size();
            if let Err(error) = self.producer.send(&topic, &mut records) {
                self.has_failed = true;
                return Err(error);
            }
            self.counts.0 += u64::from(records.count());
            self.counts.1 += bytes as u64;
        }
        Ok(())
    }
}

impl Sink for KafkaWriter {
    fn position(&self) -> Option<&str> {
        self.position.as_deref()
    }

    fn begin(&mut self, position: &str) -> Result<(), ChangeError> {
        self.position = Some(position.to_owned());
        self.sync()
    }

    fn has_piece(&self) -> bool {
        self.batch.is_large(self.batch_bytes_max())
    }

    fn write_piece(&mut self) -> Result<(), ChangeError> {
        self.send()?;
        if self.acknowledged != self.position {
            self.acknowledged.clone_from(&self.position);
            self.timer.begin();
        }
        Ok(())
    }

    fn sync_due(&self) -> Option<Duration> {
        self.timer.due()
    }

    /// If a request has failed, or the sink must end, only the changes acknowledged before count.
    fn sync(&mut self) -> Result<(), ChangeError> {
        if !self.has_failed && !self.is_closed() {
            self.write_piece()?;
        }
        self.timer.clear();
        if self.acknowledged != self.saved
            && let Some(position) = &self.acknowledged
        {
            save_position(&self.settings.position_file, position)?;
            self.saved.clone_from(&self.acknowledged);
        }
        Ok(())
    }

    fn take_counts(&mut self) -> (u64, u64) {
        std::mem::take(&mut self.counts)
    }
}

impl Output for KafkaWriter {
    fn change(&mut self, change: &ChangeRecord<'_>) -> Result<(), ChangeError> {
        let Some(subject) = change.subject else {
            return Ok(());
        };
        let key = subject.key.as_deref();
        if self
            .batch
            .is_full_with(key, change.json, self.batch_bytes_max())
        {
            self.write_piece()?;
        }
        let now_ms = self.clock.unix_micros() / 1000;
        let topic = self.topics.of(subject);
        self.batch.add(topic, key, change.json, now_ms);
        Ok(())
    }

    fn end_of_transaction(&mut self, position: &str) -> Result<(), ChangeError> {
        let place = self.position.get_or_insert_default();
        place.clear();
        place.push_str(position);
        Ok(())
    }

    fn is_closed(&self) -> bool {
        self.stopped.has_changed().is_err()
    }

    fn needs_subjects(&self) -> bool {
        true
    }
}
