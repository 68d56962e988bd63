//! Updates the transaction's length in MySQL's GTID events.

use wire::write::put_lenenc;
use wire::{Malformed, Reader};

use crate::checksum::Checksum;
use crate::event_type::EventType;
use crate::events::tagged_gtid;
use crate::header::HEADER_BYTES;

/// The length of the fields before the times: flags, UUID, number, a byte, and the logical clock.
const BEFORE_TIMES: usize = 1 + 16 + 8 + 1 + 16;
/// The length of a time in bytes. Its highest bit means that another time follows.
const TIME_BYTES: usize = 7;
const ORIGINAL_TIME_FOLLOWS: u64 = 1 << 55;

/// Returns the body of a GTID or GTID_TAGGED event with a new transaction length. The transaction's other events have
/// `others` bytes, including headers and checksums. A body without a length (MySQL before 8.0.2) stays unchanged.
///
/// # Errors
/// The body is too short.
pub fn with_transaction_bytes(
    event_type: EventType,
    body: &[u8],
    others: u64,
) -> Result<Vec<u8>, Malformed> {
    let own = |body: &[u8]| (HEADER_BYTES + body.len() + Checksum::Crc32.length()) as u64;
    let mut bytes = others + own(body);
    loop {
        let changed = match event_type {
            EventType::GTID_TAGGED => tagged_gtid::with_transaction_bytes(body, bytes)?,
            _ => untagged(body, bytes)?,
        };
        // The length includes this event itself. A longer number makes the event longer, so repeat until the length
        // fits.
        if others + own(&changed) == bytes {
            return Ok(changed);
        }
        bytes = others + own(&changed);
    }
}

fn untagged(body: &[u8], bytes: u64) -> Result<Vec<u8>, Malformed> {
    let mut reader = Reader::new(body);
    reader.bytes(BEFORE_TIMES.min(body.len()), "GTID")?;
    if reader.is_empty() {
        return Ok(body.to_vec());
    }
    if reader.uint(TIME_BYTES, "immediate commit time")? & ORIGINAL_TIME_FOLLOWS != 0 {
        reader.bytes(TIME_BYTES, "original commit time")?;
    }
    if reader.is_empty() {
        return Ok(body.to_vec());
    }
    let before = body.len() - reader.rest().len();
    reader.lenenc("transaction length")?;
    let mut changed = body.get(..before).unwrap_or_default().to_vec();
    put_lenenc(&mut changed, bytes);
    changed.extend_from_slice(reader.rest());
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::mysql_gtid::MysqlGtidEvent;

    /// A body as MySQL 8 writes it, with the length as a number of one byte.
    fn body() -> Vec<u8> {
        let mut body = vec![1];
        body.extend_from_slice(&[7; 16]);
        body.extend_from_slice(&42_u64.to_le_bytes());
        body.push(2);
        body.extend_from_slice(&5_u64.to_le_bytes());
        body.extend_from_slice(&6_u64.to_le_bytes());
        body.extend_from_slice(&[1, 2, 3, 4, 5, 6, 0x07]);
        body.push(200);
        body.extend_from_slice(&90_700_u32.to_le_bytes());
        body
    }

    #[test]
    fn the_length_counts_the_event_that_it_stands_in() {
        for others in [0, 100, 172, 173, 174, 65_000, 65_440, 1 << 20, 1 << 33] {
            let changed = with_transaction_bytes(EventType::GTID, &body(), others).unwrap();
            let event = MysqlGtidEvent::decode(&changed).unwrap();
            let own = HEADER_BYTES + changed.len() + 4;
            assert_eq!(event.transaction_bytes, Some(others + own as u64));
            assert_eq!(event.immediate_version, Some(90_700));
            assert_eq!(event.number, 42);
        }
    }

    #[test]
    fn a_body_without_the_length_stays_as_it_is() {
        for length in [42, 49] {
            let body = body();
            let (short, _) = body.split_at(length);
            let same = with_transaction_bytes(EventType::GTID, short, 1000);
            assert_eq!(same.unwrap(), short);
        }
    }
}
