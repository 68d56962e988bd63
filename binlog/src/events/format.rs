//! FORMAT_DESCRIPTION: the first event of a file. It describes the layout of the other events.

use wire::{Malformed, Reader};

use crate::checksum::{CHECKSUM_BYTES, Checksum};
use crate::error::EventError;
use crate::event_type::EventType;
use crate::header::HEADER_BYTES;

const VERSION_BYTES: usize = 50;
const ALGORITHM_NONE: u8 = 0;
const ALGORITHM_CRC32: u8 = 1;
const ALGORITHM_UNDEFINED: u8 = 255;

/// The layout of the events after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatDescription {
    /// The server's version, filled with zero bytes up to 50.
    version: [u8; VERSION_BYTES],
    /// When the server started, in seconds since 1970, if this is the first file since then; otherwise 0.
    pub created: u32,
    /// The length of the body's fixed part for each type, from type 1.
    post_headers: Vec<u8>,
    /// The checksum algorithm of the events; none if the server is too old to send it.
    algorithm: Option<u8>,
}

impl FormatDescription {
    /// Reads a whole event. Only its own body tells whether a checksum ends it.
    ///
    /// # Errors
    /// The body is too short, or is of another version.
    pub fn of_event(event: &[u8]) -> Result<Self, EventError> {
        let body = event.get(HEADER_BYTES..);
        let body = body.ok_or(Malformed::Truncated("event header"))?;
        Self::read(body, CHECKSUM_BYTES)
    }

    /// Decodes the body, without the checksum.
    ///
    /// # Errors
    /// The body is too short, or is of another version.
    pub fn decode(body: &[u8]) -> Result<Self, EventError> {
        Self::read(body, 0)
    }

    /// Reads a body. If the server supports checksums, the body is followed by a checksum of `behind` bytes.
    fn read(bytes: &[u8], behind: usize) -> Result<Self, EventError> {
        let mut reader = Reader::new(bytes);
        let log_version = reader.u16("binary log version")?;
        if log_version != 4 {
            return Err(EventError::Version(log_version));
        }
        let version: [u8; VERSION_BYTES] = reader.array("server version")?;
        let created = reader.u32("creation time")?;
        if usize::from(reader.u8("header length")?) != HEADER_BYTES {
            return Err(Malformed::Invalid("header length").into());
        }
        let mut description = Self {
            version,
            created,
            post_headers: Vec::new(),
            algorithm: None,
        };
        let rest = reader.rest();
        let tail = if description.tells_checksum() {
            1 + behind
        } else {
            0
        };
        let count = rest.len().checked_sub(tail);
        let count = count.ok_or(Malformed::Truncated("checksum algorithm"))?;
        description.post_headers = reader.bytes(count, "post-header lengths")?.to_vec();
        if tail > 0 {
            let algorithm = reader.u8("checksum algorithm")?;
            if ![ALGORITHM_NONE, ALGORITHM_CRC32, ALGORITHM_UNDEFINED].contains(&algorithm) {
                return Err(Malformed::Invalid("checksum algorithm").into());
            }
            description.algorithm = Some(algorithm);
        }
        Ok(description)
    }

    /// Appends the body without the checksum.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&4_u16.to_le_bytes());
        out.extend_from_slice(&self.version);
        out.extend_from_slice(&self.created.to_le_bytes());
        out.push(HEADER_BYTES as u8);
        out.extend_from_slice(&self.post_headers);
        out.extend(self.algorithm);
    }

    /// The server's version, as `SELECT version()` returns it.
    pub fn server_version(&self) -> String {
        let text = self.version.split(|byte| *byte == 0).next();
        String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
    }

    /// Whether a MariaDB server has written the event.
    pub fn is_mariadb(&self) -> bool {
        let is_mariadb = |text: &[u8]| text.eq_ignore_ascii_case(b"MariaDB");
        self.version.windows(7).any(is_mariadb)
    }

    /// The checksum of the events after this one.
    pub fn checksum(&self) -> Checksum {
        match self.algorithm {
            Some(ALGORITHM_CRC32) => Checksum::Crc32,
            _ => Checksum::None,
        }
    }

    /// The checksum of this event. If the server supports checksums, this event has one even if the other events
    /// have none.
    pub fn own_checksum(&self) -> Checksum {
        match self.algorithm {
            Some(_) => Checksum::Crc32,
            None => Checksum::None,
        }
    }

    /// The length of the fixed part of a type's body.
    pub fn post_header(&self, event_type: EventType) -> usize {
        let index = usize::from(event_type.0).checked_sub(1);
        let told = index.and_then(|index| self.post_headers.get(index));
        told.map_or_else(|| event_type.usual_post_header(), |&it| usize::from(it))
    }

    /// Returns the description for a relay file: each event has a CRC-32, and `created` is 0. None if the server is
    /// too old for checksums.
    pub fn of_relay(&self) -> Option<Self> {
        self.algorithm.is_some().then(|| Self {
            created: 0,
            algorithm: Some(ALGORITHM_CRC32),
            ..self.clone()
        })
    }

    /// The number of event types that the server knows.
    pub fn types_count(&self) -> usize {
        self.post_headers.len()
    }

    /// Whether the event contains the checksum algorithm: since MySQL 5.6.1 and MariaDB 5.3.
    fn tells_checksum(&self) -> bool {
        let version = self.server_version();
        let mut numbers = version.split(|letter: char| !letter.is_ascii_digit());
        let mut number = || -> u32 { numbers.next().and_then(|it| it.parse().ok()).unwrap_or(0) };
        let version = [number(), number(), number()];
        let since = if self.is_mariadb() {
            [5, 3, 0]
        } else {
            [5, 6, 1]
        };
        version >= since
    }
}
