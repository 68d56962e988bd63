//! Records in the format in which brokers store them: version 2 of Kafka's record batches.
//!
//! ```text
//!   offset, length, epoch of the leader │ 2 │ checksum │ compression, numbers, times, producer, sequence │ records
//!                                                      └────────────── of these bytes ───────────────────────────┘
//! ```

use config::KafkaCompression;

use crate::protocol::producer_id::ProducerId;

/// The length of the header before the records, in bytes.
const HEADER_BYTES: usize = 61;
/// The offset of the first byte that the length field counts.
const BEHIND_LENGTH: usize = 12;
/// The offset of the checksum, and of the first byte that it covers.
const CHECKSUM: usize = 17;
const BEHIND_CHECKSUM: usize = 21;

const MAGIC: u8 = 2;
const ZSTD: i16 = 4;
/// A fast level; higher levels compress only a little better.
const ZSTD_LEVEL: i32 = 3;

/// The producer of a batch, and the sequence number of its first record.
pub(crate) type Sequence = Option<(ProducerId, i32)>;

/// Records of one topic, in order.
#[derive(Debug, PartialEq, Eq)]
pub struct RecordBatch {
    /// Space for the header, and then the records.
    bytes: Vec<u8>,
    count: u32,
    first_ms: i64,
    last_ms: i64,
    compression: KafkaCompression,
}

impl RecordBatch {
    /// A batch without records. `first_ms` is the time of the first record, in milliseconds since 1970.
    pub fn new(first_ms: i64) -> Self {
        Self {
            bytes: vec![0; HEADER_BYTES],
            count: 0,
            first_ms,
            last_ms: first_ms,
            compression: KafkaCompression::None,
        }
    }

    /// Adds a record.
    pub fn add(&mut self, key: Option<&str>, value: &str, time_ms: i64) {
        let mut front = vec![0]; // No attributes.
        put_number(&mut front, time_ms - self.first_ms);
        put_number(&mut front, i64::from(self.count));
        match key {
            None => put_number(&mut front, -1),
            Some(key) => put_bytes(&mut front, key.as_bytes()),
        }
        put_number(&mut front, length(value.len()));
        let no_headers = 0;
        let whole = front.len() + value.len() + 1;
        put_number(&mut self.bytes, length(whole));
        self.bytes.extend(front);
        self.bytes.extend(value.as_bytes());
        self.bytes.push(no_headers);
        self.count = self.count.saturating_add(1);
        self.last_ms = self.last_ms.max(time_ms);
    }

    /// The number of records.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The size of the batch in a request, in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Compresses the records. Call this after the last record was added.
    ///
    /// # Errors
    /// The compression fails.
    pub fn compress(&mut self, compression: KafkaCompression) -> std::io::Result<()> {
        if compression == KafkaCompression::Zstd && self.compression == KafkaCompression::None {
            let records = self.bytes.get(HEADER_BYTES..).unwrap_or_default();
            let compressed = zstd::bulk::compress(records, ZSTD_LEVEL)?;
            self.bytes.truncate(HEADER_BYTES);
            self.bytes.extend(compressed);
        }
        self.compression = compression;
        Ok(())
    }

    /// Returns the batch with its header. If it is sent again, the sequence stays the same, unless the producer id
    /// has changed.
    pub(crate) fn sealed(&mut self, sequence: Sequence) -> &[u8] {
        let (id, first) = sequence.map_or((NO_PRODUCER, -1), |(id, first)| (id, first));
        let attributes = match self.compression {
            KafkaCompression::None => 0,
            KafkaCompression::Zstd => ZSTD,
        };
        // The count fits, because a batch is at most 2 GiB long.
        let count = i32::try_from(self.count).unwrap_or(i32::MAX);
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend(0_i64.to_be_bytes());
        header.extend(length_field(self.bytes.len() - BEHIND_LENGTH).to_be_bytes());
        header.extend((-1_i32).to_be_bytes());
        header.push(MAGIC);
        header.extend(0_u32.to_be_bytes());
        header.extend(attributes.to_be_bytes());
        header.extend((count - 1).to_be_bytes());
        header.extend(self.first_ms.to_be_bytes());
        header.extend(self.last_ms.to_be_bytes());
        header.extend(id.number.to_be_bytes());
        header.extend(id.epoch.to_be_bytes());
        header.extend(first.to_be_bytes());
        header.extend(count.to_be_bytes());
        self.bytes[..HEADER_BYTES].copy_from_slice(&header);
        let checksum = crc32c::crc32c(&self.bytes[BEHIND_CHECKSUM..]).to_be_bytes();
        self.bytes[CHECKSUM..BEHIND_CHECKSUM].copy_from_slice(&checksum);
        &self.bytes
    }
}

/// The producer id for a client that has none.
const NO_PRODUCER: ProducerId = ProducerId {
    number: -1,
    epoch: -1,
};

/// A batch that is too long for this field is refused with the request ([`super::protocol::produce::request`]).
fn length_field(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

fn length(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, length(bytes.len()));
    out.extend(bytes);
}

/// Appends a number in zigzag encoding, seven bits per byte.
fn put_number(out: &mut Vec<u8>, number: i64) {
    let mut rest = (number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned();
    while rest >= 0x80 {
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by Kafka's own client 4.1.1 (`MemoryRecords.idempotentRecords`), without compression.
    const OF_KAFKA: &str = include_str!("tests/record_batch.hex");

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|it| format!("{it:02x}")).collect()
    }

    #[test]
    fn a_batch_has_the_bytes_that_kafka_gives_it() {
        let mut batch = RecordBatch::new(1_764_240_000_000);
        batch.add(Some("{\"id\":1}"), "first", 1_764_240_000_000);
        batch.add(None, &"x".repeat(200), 1_764_240_000_150);
        let id = ProducerId {
            number: 4000,
            epoch: 3,
        };
        assert_eq!(hex(batch.sealed(Some((id, 70)))), OF_KAFKA.trim());
        // A second call gives the same bytes.
        assert_eq!(hex(batch.sealed(Some((id, 70)))), OF_KAFKA.trim());
        assert_ne!(hex(batch.sealed(None)), OF_KAFKA.trim());
    }

    #[test]
    fn numbers_of_all_sizes_are_written_in_zigzag() {
        let written = |number| {
            let mut out = Vec::new();
            put_number(&mut out, number);
            out
        };
        assert_eq!(written(0), [0]);
        assert_eq!(written(-1), [1]);
        assert_eq!(written(1), [2]);
        assert_eq!(written(64), [0x80, 1]);
        assert_eq!(written(i64::MIN).len(), 10);
    }

    #[test]
    fn compressed_records_are_the_same_records() {
        let mut batch = RecordBatch::new(0);
        (0..100).for_each(|it| batch.add(None, "the same value", it));
        let plain = batch.bytes[HEADER_BYTES..].to_vec();
        let size = batch.size();
        batch.compress(KafkaCompression::Zstd).unwrap();
        batch.compress(KafkaCompression::Zstd).unwrap();
        assert!(batch.size() < size / 2);
        let records = &batch.sealed(None)[HEADER_BYTES..];
        assert_eq!(zstd::bulk::decompress(records, 1 << 20).unwrap(), plain);
    }
}
