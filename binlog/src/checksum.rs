//! The checksum at the end of an event.

use wire::{Malformed, Reader};

use crate::error::EventError;
use crate::event_type::EventType;
use crate::header::EventHeader;

/// The length of a checksum in bytes.
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// The offset of the flags' low byte in an event.
const FLAGS_AT: usize = 17;

/// The checksum that ends the events of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Checksum {
    /// Nothing.
    #[default]
    None,
    /// The CRC-32 (that of zlib) of all bytes before it.
    Crc32,
}

impl Checksum {
    /// The length of the checksum in bytes.
    pub const fn length(self) -> usize {
        match self {
            Self::None => 0,
            Self::Crc32 => CHECKSUM_BYTES,
        }
    }

    /// The servers' name for it (`binlog_checksum`).
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Crc32 => "CRC32",
        }
    }

    /// Verifies the checksum of an event.
    pub(crate) fn verify(self, event: &[u8]) -> Result<(), EventError> {
        if self == Self::None {
            return Ok(());
        }
        let length = event.len().saturating_sub(CHECKSUM_BYTES);
        let (summed, stored) = event
            .split_at_checked(length)
            .ok_or(Malformed::Truncated("checksum"))?;
        let stored = Reader::new(stored).u32("checksum")?;
        let computed = crc32(summed);
        if stored == computed {
            Ok(())
        } else {
            Err(EventError::Checksum { stored, computed })
        }
    }
}

/// Computes the checksum of an event without its own checksum. The flag "in use" of a FORMAT_DESCRIPTION event counts
/// as cleared, because the server changes the flag in the file later (`event_checksum_test` of `log_event.cc`).
pub(crate) fn crc32(event: &[u8]) -> u32 {
    let is_format = EventHeader::decode(event)
        .is_ok_and(|header| header.event_type == EventType::FORMAT_DESCRIPTION);
    let mut hasher = crc32fast::Hasher::new();
    match event.split_at_checked(FLAGS_AT) {
        Some((before, [flags, after @ ..])) if is_format => {
            hasher.update(before);
            hasher.update(&[flags & !1]);
            hasher.update(after);
        }
        _ => hasher.update(event),
    }
    hasher.finalize()
}
