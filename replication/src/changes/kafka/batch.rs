//! The changes that are sent next, by topic.

use rskafka::chrono::{DateTime, Utc};
use rskafka::record::Record;

/// What a record takes besides its key and its value, at most: lengths, offset and time.
const RECORD_BYTES: usize = 32;
/// What a request takes besides its records.
const REQUEST_BYTES: usize = 256;

/// Changes that wait.
#[derive(Default)]
pub struct Batch {
    /// By topic, in the order in which the topics came.
    topics: Vec<(String, Vec<Record>)>,
    bytes: usize,
}

impl Batch {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.topics.is_empty()
    }

    /// Whether the batch would be larger than `max` bytes with this change.
    pub fn is_full_with(&self, key: Option<&str>, json: &str, max: usize) -> bool {
        !self.is_empty() && REQUEST_BYTES + self.bytes + size_of(key, json) > max
    }

    /// Whether the batch has half of `max` bytes.
    pub fn is_large(&self, max: usize) -> bool {
        self.bytes >= max / 2
    }

    /// Adds a change.
    pub fn add(&mut self, topic: String, key: Option<&str>, json: &str, time: DateTime<Utc>) {
        let record = Record {
            key: key.map(|it| it.as_bytes().to_vec()),
            value: Some(json.as_bytes().to_vec()),
            headers: std::collections::BTreeMap::new(),
            timestamp: time,
        };
        self.bytes += size_of(key, json);
        // Few topics have changes in one batch, mostly the same as the last.
        match self.topics.iter_mut().rev().find(|it| it.0 == topic) {
            Some((_, records)) => records.push(record),
            None => self.topics.push((topic, vec![record])),
        }
    }

    /// Takes all of it: the records of each topic.
    pub fn take(&mut self) -> Vec<(String, Vec<Record>)> {
        self.bytes = 0;
        std::mem::take(&mut self.topics)
    }
}

fn size_of(key: Option<&str>, json: &str) -> usize {
    key.map_or(0, str::len) + json.len() + RECORD_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_keeps_the_order_of_each_topic_and_is_full_before_it_is_too_large() {
        let mut batch = Batch::default();
        let json = "x".repeat(100);
        // A change that is too large by itself goes alone.
        assert!(!batch.is_full_with(None, &json, 10));
        for (topic, key) in [("a", "1"), ("b", "2"), ("a", "3")] {
            assert!(!batch.is_full_with(Some(key), &json, 655));
            batch.add(topic.to_owned(), Some(key), &json, DateTime::UNIX_EPOCH);
        }
        assert!(batch.is_full_with(Some("4"), &json, 655) && batch.is_large(655));
        let taken = batch.take();
        let keys = |records: &[Record]| -> Vec<_> {
            records.iter().map(|it| it.key.clone().unwrap()).collect()
        };
        let shown: Vec<_> = taken
            .iter()
            .map(|(topic, it)| (&**topic, keys(it)))
            .collect();
        let key = |it: &str| it.as_bytes().to_vec();
        assert_eq!(
            shown,
            [("a", vec![key("1"), key("3")]), ("b", vec![key("2")])]
        );
        assert!(batch.is_empty() && !batch.is_large(655));
    }
}
