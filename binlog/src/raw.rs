//! An event as bytes, with a view of its header.

use wire::Malformed;

use crate::checksum::{Checksum, crc32};
use crate::error::EventError;
use crate::header::{EventHeader, HEADER_BYTES};

/// One event, as the server wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEvent<'a> {
    header: EventHeader,
    bytes: &'a [u8],
    checksum: Checksum,
}

impl<'a> RawEvent<'a> {
    /// Parses the bytes of one event. The stream's events end with `checksum`.
    ///
    /// # Errors
    /// The length in the header differs from the length of the bytes.
    pub fn parse(bytes: &'a [u8], checksum: Checksum) -> Result<Self, EventError> {
        let header = EventHeader::decode(bytes)?;
        if header.length as usize != bytes.len() {
            return Err(Malformed::Invalid("event length").into());
        }
        if bytes.len() < HEADER_BYTES + checksum.length() {
            return Err(Malformed::Truncated("checksum").into());
        }
        Ok(Self {
            header,
            bytes,
            checksum,
        })
    }

    /// The event's header.
    pub fn header(&self) -> &EventHeader {
        &self.header
    }

    /// All bytes of the event.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The kind of checksum that ends the event.
    pub fn checksum(&self) -> Checksum {
        self.checksum
    }

    /// The bytes between header and checksum.
    pub fn body(&self) -> &'a [u8] {
        let end = self.bytes.len() - self.checksum.length();
        self.bytes.get(HEADER_BYTES..end).unwrap_or_default()
    }

    /// Verifies the checksum.
    ///
    /// # Errors
    /// The checksum is wrong.
    pub fn verify(&self) -> Result<(), EventError> {
        self.checksum.verify(self.bytes)
    }
}

/// Appends an event: the header with the right length, the body, the checksum.
///
/// # Errors
/// The event would be longer than 4 GiB.
pub fn put_event(
    out: &mut Vec<u8>,
    header: &EventHeader,
    body: &[u8],
    checksum: Checksum,
) -> Result<(), EventError> {
    let length = HEADER_BYTES + body.len() + checksum.length();
    let length = u32::try_from(length).map_err(|_| EventError::TooLong {
        length: length as u64,
        limit: u32::MAX as usize,
    })?;
    let mut event = Vec::with_capacity(HEADER_BYTES + body.len() + checksum.length());
    EventHeader { length, ..*header }.encode(&mut event);
    event.extend_from_slice(body);
    if checksum == Checksum::Crc32 {
        let sum = crc32(&event);
        event.extend_from_slice(&sum.to_le_bytes());
    }
    out.extend_from_slice(&event);
    Ok(())
}
