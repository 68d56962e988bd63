//! The events of one transaction, until it is whole.

use std::io::{self, BufReader, Read, Seek, Write};
use std::path::Path;

use binlog::{Checksum, EventHeader, HEADER_BYTES, RawEvent, put_event};
use tempfile::SpooledTempFile;

use super::error::FilterError;
use crate::error::StreamError;

/// A longer transaction goes into a file without a name.
const MEMORY_BYTES_MAX: usize = 4 << 20;

/// See the module.
pub struct Spool {
    file: SpooledTempFile,
    /// How long the events are in the relay file.
    bytes: u64,
    events: u64,
    scratch: Vec<u8>,
}

impl Spool {
    /// An empty one; a long one is in a folder.
    pub fn new(folder: &Path) -> Self {
        Self {
            file: tempfile::spooled_tempfile_in(MEMORY_BYTES_MAX, folder),
            bytes: 0,
            events: 0,
            scratch: Vec::new(),
        }
    }

    /// How long the events are in the relay file, with headers and checksums.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends an event.
    ///
    /// # Errors
    /// It is too long, or the file cannot be written.
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

    /// Gives all events, in order, and whether each is the last.
    ///
    /// # Errors
    /// The file cannot be read, or the events are not taken.
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
