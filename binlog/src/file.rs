//! Binary log files: the magic bytes, then one event after another.

use std::io::{self, Read};

use crate::checksum::Checksum;
use crate::error::EventError;
use crate::event_type::EventType;
use crate::events::format::FormatDescription;
use crate::header::{EventHeader, HEADER_BYTES};
use crate::limits::Limits;
use crate::raw::RawEvent;

/// A binary log begins with these bytes.
const MAGIC: [u8; 4] = *b"\xfebin";
/// A binary log that MySQL has encrypted begins with these bytes.
const MAGIC_ENCRYPTED: [u8; 4] = *b"\xfdbin";

/// The reason why a file cannot be read further, and the place.
#[derive(Debug, thiserror::Error)]
#[error("at position {position}: {fault}")]
pub struct FileError {
    /// The offset of the event.
    pub position: u64,
    /// The fault.
    pub fault: Fault,
}

/// The faults of a file.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The operating system cannot read the file.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is no binary log.
    #[error("this is no binary log: it does not begin with the bytes fe 62 69 6e")]
    NotBinlog,
    /// MySQL has encrypted the file.
    #[error("the file is encrypted (binlog_encryption); only its server can read it")]
    Encrypted,
    /// The file ends within an event.
    #[error("the file ends within an event: {present} of {expected} bytes are there")]
    Truncated {
        /// How many bytes of the event are in the file.
        present: usize,
        /// How many bytes the event has.
        expected: usize,
    },
    /// An event is damaged.
    #[error(transparent)]
    Event(#[from] EventError),
}

/// Reads the events of a file. It holds one event in memory at a time.
#[derive(Debug)]
pub struct EventReader<R> {
    source: R,
    position: u64,
    limits: Limits,
    checksum: Checksum,
    has_started: bool,
    buffer: Vec<u8>,
}

impl<R: Read> EventReader<R> {
    /// Starts at the first byte of a file.
    pub fn new(source: R, limits: Limits) -> Self {
        Self {
            source,
            position: 0,
            limits,
            checksum: Checksum::None,
            has_started: false,
            buffer: Vec::new(),
        }
    }

    /// Returns the next event with its offset, after verifying its checksum; none at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read, ends within an event, or contains an event that is damaged or too long.
    pub fn next_event(&mut self) -> Result<Option<(u64, RawEvent<'_>)>, FileError> {
        if !self.has_started {
            self.read_magic().map_err(|fault| self.at(fault))?;
            self.has_started = true;
        }
        let start = self.position;
        let at = |fault| FileError {
            position: start,
            fault,
        };
        if !self.read_bytes().map_err(at)? {
            return Ok(None);
        }
        self.position += self.buffer.len() as u64;
        let checksum = self.checksum_of_event().map_err(|error| at(error.into()))?;
        let event = RawEvent::parse(&self.buffer, checksum).map_err(|error| at(error.into()))?;
        event.verify().map_err(|error| at(error.into()))?;
        Ok(Some((start, event)))
    }

    fn at(&self, fault: Fault) -> FileError {
        FileError {
            position: self.position,
            fault,
        }
    }

    fn read_magic(&mut self) -> Result<(), Fault> {
        self.append(MAGIC.len())?;
        match self.buffer.as_slice() {
            magic if magic == MAGIC => {}
            magic if magic == MAGIC_ENCRYPTED => return Err(Fault::Encrypted),
            _ => return Err(Fault::NotBinlog),
        }
        self.position = MAGIC.len() as u64;
        Ok(())
    }

    /// Reads the bytes of one event; returns false at the end of the file.
    fn read_bytes(&mut self) -> Result<bool, Fault> {
        self.buffer.clear();
        self.append(HEADER_BYTES)?;
        if self.buffer.is_empty() {
            return Ok(false);
        }
        let truncated = |present: usize, expected: usize| Fault::Truncated { present, expected };
        if self.buffer.len() < HEADER_BYTES {
            return Err(truncated(self.buffer.len(), HEADER_BYTES));
        }
        let header = EventHeader::decode(&self.buffer).map_err(EventError::from)?;
        let length = header.length as usize;
        if length > self.limits.event_bytes_max {
            let limit = self.limits.event_bytes_max;
            let length = u64::from(header.length);
            return Err(EventError::TooLong { length, limit }.into());
        }
        let rest = length.checked_sub(HEADER_BYTES);
        let rest = rest.ok_or(EventError::from(wire::Malformed::Invalid("event length")))?;
        self.append(rest)?;
        if self.buffer.len() < length {
            return Err(truncated(self.buffer.len(), length));
        }
        Ok(true)
    }

    /// Appends up to `count` bytes to the buffer, fewer at the end of the file. Memory grows only with the bytes
    /// that come.
    fn append(&mut self, count: usize) -> io::Result<usize> {
        let mut limited = (&mut self.source).take(count as u64);
        limited.read_to_end(&mut self.buffer)
    }

    /// Returns the checksum of the event in the buffer. A FORMAT_DESCRIPTION event sets the checksum of the others.
    fn checksum_of_event(&mut self) -> Result<Checksum, EventError> {
        let header = EventHeader::decode(&self.buffer)?;
        if header.event_type != EventType::FORMAT_DESCRIPTION {
            return Ok(self.checksum);
        }
        let format = FormatDescription::of_event(&self.buffer)?;
        self.checksum = format.checksum();
        Ok(format.own_checksum())
    }
}
