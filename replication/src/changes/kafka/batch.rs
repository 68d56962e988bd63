//! The changes of the next requests, by topic.

use kafka::RecordBatch;

/// The maximum size of a record without key and value, in bytes: lengths, offset and time.
const RECORD_BYTES: usize = 32;
/// The size of a request without its records, in bytes.
const REQUEST_BYTES: usize = 256;

/// Changes that wait to be sent.
#[derive(Default)]
pub struct Batch {
    /// The records of each topic, in the order in which the topics came.
    topics: Vec<(String, RecordBatch)>,
    bytes: usize,
}

impl Batch {
    /// Whether the batch has no changes.
    pub fn is_empty(&self) -> bool {
        self.topics.is_empty()
    }

    /// Whether the batch would be larger than `max` bytes with this change.
    pub fn is_full_with(&self, key: Option<&str>, json: &str, max: usize) -> bool {
        !self.is_empty() && REQUEST_BYTES + self.bytes + size_of(key, json) > max
    }

    /// Whether the batch has at least half of `max` bytes.
    pub fn is_large(&self, max: usize) -> bool {
        self.bytes >= max / 2
    }

    /// Adds a change, at a time in milliseconds since 1970.
    pub fn add(&mut self, topic: String, key: Option<&str>, json: &str, time_ms: i64) {
        self.bytes += size_of(key, json);
        // A batch has few topics, and most changes go to a recent one.
        let of_topic = self.topics.iter_mut().rev().find(|it| it.0 == topic);
        if let Some((_, records)) = of_topic {
            records.add(key, json, time_ms);
            return;
        }
        let mut records = RecordBatch::new(time_ms);
        records.add(key, json, time_ms);
        self.topics.push((topic, records));
    }

    /// Empties the batch, and returns the records of each topic.
    pub fn take(&mut self) -> Vec<(String, RecordBatch)> {
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
        // A change that is larger than the limit is sent in its own batch.
        assert!(!batch.is_full_with(None, &json, 10));
        for (topic, key) in [("a", "1"), ("b", "2"), ("a", "3")] {
            assert!(!batch.is_full_with(Some(key), &json, 655));
            batch.add(topic.to_owned(), Some(key), &json, 0);
        }
        assert!(batch.is_full_with(Some("4"), &json, 655) && batch.is_large(655));
        let mut expected = RecordBatch::new(0);
        expected.add(Some("1"), &json, 0);
        expected.add(Some("3"), &json, 0);
        let taken = batch.take();
        let topics: Vec<_> = taken.iter().map(|it| (&*it.0, it.1.count())).collect();
        assert_eq!(topics, [("a", 2), ("b", 1)]);
        assert_eq!(taken[0].1, expected);
        assert!(batch.is_empty() && !batch.is_large(655));
    }
}
