//! Collects the events of one transaction until it is complete.

use std::io::{self, BufReader, Read, Seek, Write};
use std::path::Path;

use binlog::{Checksum, EventHeader, HEADER_BYTES, RawEvent, put_event};
use tempfile::SpooledTempFile;

use super::error::FilterError;
use crate::error::StreamError;

/// A transaction longer than this, in bytes, goes to an unnamed file.
const MEMORY_BYTES_MAX: usize = 4 << 20;

/// The collected events of one transaction.
pub struct Spool {
    file: SpooledTempFile,
    /// The length of the events in the relay file, in bytes.
    bytes: u64,
    events: u64,
    scratch: Vec<u8>,
}

impl Spool {
    /// An empty spool. `folder` is for the files of long transactions.
    pub fn new(folder: &Path) -> Self {
        Self {
            file: tempfile::spooled_tempfile_in(MEMORY_BYTES_MAX, folder),
            bytes: 0,
            events: 0,
            scratch: Vec::new(),
        }
    }

    /// The length of the events in the relay file, in bytes, with headers and checksums.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends an event.
    ///
    /// # Errors
    /// The event is too long, or the file cannot be written.
    pub fn push(&mut self, header: &EventHeader, body: &[u8]) -> Result<(), FilterError> {
        self.scratch.clear();
        put_event(&mut self.scratch, header, body, Checksum::None)?;
        self.file.write_all(&self.scratch)?;
        self.bytes += (self.scratch.len() + Checksum::Crc32.length()) as u64;
        self.events += 1;
        self.scratch.shrink_to(MEMORY_BYTES_MAX);
        Ok(())
    }

    /// Forgets all events.
    ///
    /// # Errors
    /// The file cannot be truncated.
    pub fn clear(&mut self) -> Result<(), FilterError> {
        self.file.rewind()?;
        self.file.set_len(0)?;
        (self.bytes, self.events) = (0, 0);
        Ok(())
    }

    /// Passes all events to `take`, in order. The flag is true for the last event.
    ///
    /// # Errors
    /// The file cannot be read, or `take` fails.
    pub fn drain(
        mut self,
        mut take: impl FnMut(&RawEvent<'_>, bool) -> Result<(), StreamError>,
    ) -> Result<(), StreamError> {
        self.file.rewind().map_err(FilterError::from)?;
        let mut reader = BufReader::new(self.file);
        let mut event = Vec::new();
        for number in 1..=self.events {
            read_event(&mut reader, &mut event).map_err(FilterError::from)?;
            let raw = RawEvent::parse(&event, Checksum::None).map_err(FilterError::from)?;
            take(&raw, number == self.events)?;
        }
        Ok(())
    }
}

fn read_event(reader: &mut impl Read, event: &mut Vec<u8>) -> io::Result<()> {
    event.resize(HEADER_BYTES, 0);
    reader.read_exact(event)?;
    let header = EventHeader::decode(event).map_err(io::Error::other)?;
    event.resize((header.length as usize).max(HEADER_BYTES), 0);
    reader.read_exact(event.get_mut(HEADER_BYTES..).unwrap_or_default())
}
