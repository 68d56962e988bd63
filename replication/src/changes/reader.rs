//! Reads the changes of a stream from its relay files: from a position up to the end of the durable part.

use std::sync::Arc;

use binlog::{Checksum, RawEvent};
use route::Family;
use route::rules::Tables;
use tokio::sync::watch;

use super::error::{ChangeError, ChangeRefusal};
use super::event::StreamOrigin;
use super::history::History;
use super::source::ChangeSource;
use super::tables::TableCache;
use super::translator::{EventLocation, Output, Translator};
use crate::position::Position;
use crate::relay::{Next, RelayLog, RelayReader, Start};

/// The checksum of each event in relay files.
const CHECKSUM: Checksum = Checksum::Crc32;

/// If the buffer for an event is longer than this, it is shrunk afterwards.
const BUFFER_BYTES: usize = 1 << 20;

/// The place where a reader begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeStart {
    /// At the next transaction.
    Now,
    /// At the oldest transaction in the relay files.
    Oldest,
    /// After a position, in the notation of the servers.
    Behind(String),
}

/// A reader of one stream's changes.
pub struct ChangeReader {
    source: ChangeSource,
    log: Arc<RelayLog>,
    reader: RelayReader,
    translator: Translator,
    additions: watch::Receiver<u64>,
    /// One event.
    bytes: Vec<u8>,
}

/// The state of a reader after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More changes may be there.
    Goes,
    /// The reader has everything that is durable.
    IsLive,
    /// The writer of these files has ended. The reader begins again with the stream's new files.
    IsLeft,
}

impl ChangeReader {
    /// Finds the place to begin.
    ///
    /// # Errors
    /// The reader cannot begin at that place.
    pub fn begin(
        source: &ChangeSource,
        start: &ChangeStart,
        tables: &[String],
    ) -> Result<Self, ChangeRefusal> {
        let log = source.log();
        let log = log.ok_or_else(|| ChangeRefusal::NotBegun(source.cluster().to_owned()))?;
        let had = match start {
            ChangeStart::Now => log.position(),
            ChangeStart::Oldest => log.deleted(),
            ChangeStart::Behind(text) => parse(log.family(), text)?,
        };
        Self::at(source, log, had, Tables::new(tables))
    }

    /// Begins again at the same place, in the files that the stream writes now.
    ///
    /// # Errors
    /// These files do not contain the place.
    pub fn begin_again(
        self,
        source: &ChangeSource,
        tables: &[String],
    ) -> Result<Self, ChangeRefusal> {
        let log = source.log();
        let log = log.ok_or_else(|| ChangeRefusal::NotBegun(source.cluster().to_owned()))?;
        let had = self.translator.position().clone();
        Self::at(source, log, had, Tables::new(tables))
    }

    fn at(
        source: &ChangeSource,
        log: Arc<RelayLog>,
        had: Position,
        wanted: Tables,
    ) -> Result<Self, ChangeRefusal> {
        let reader = RelayReader::begin(&log, had.clone());
        let reader = reader.map_err(|start| match start {
            Start::NotBegun => ChangeRefusal::NotBegun(source.cluster().to_owned()),
            Start::Deleted(missing) => ChangeRefusal::Deleted { missing },
            Start::Ahead(ahead) => ChangeRefusal::Ahead(ahead),
        })?;
        let family = log.family();
        let history = History::open(source.history(), source.stream(), family);
        let history = history.map_err(|error| ChangeRefusal::System(error.to_string()))?;
        let tables = TableCache::new(history, source.filters().to_vec());
        let origin = StreamOrigin {
            family,
            cluster: source.cluster().to_owned(),
        };
        let translator = Translator::new(
            origin,
            had,
            wanted,
            (tables, source.system().clock.clone()),
            source.limits(),
        );
        Ok(Self {
            source: source.clone(),
            additions: log.additions(),
            log,
            reader,
            translator,
            bytes: Vec::new(),
        })
    }

    /// Notified when more may be there than the last step has found.
    pub fn additions(&mut self) -> &mut watch::Receiver<u64> {
        &mut self.additions
    }

    /// How long ago the last event was written, in seconds.
    pub fn delay(&self) -> u64 {
        let now = self.source.system().clock.unix_micros();
        u64::try_from((now - self.translator.written()) / 1_000_000).unwrap_or(0)
    }

    /// The stream that the reader reads.
    pub fn source(&self) -> &ChangeSource {
        &self.source
    }

    /// All complete transactions that were read.
    pub fn position(&self) -> &str {
        self.translator.position_text()
    }

    /// The position after a transaction that cannot be translated.
    pub fn next_position(&self) -> Option<String> {
        self.translator.next_position()
    }

    /// Reads one event of the files.
    ///
    /// # Errors
    /// The files cannot be read, an event cannot be translated, or the output refuses a change.
    pub fn step(&mut self, out: &mut dyn Output) -> Result<Progress, ChangeError> {
        let is_closed = self.log.is_closed();
        self.additions.mark_unchanged();
        self.bytes.clear();
        self.bytes.shrink_to(BUFFER_BYTES);
        match self.reader.next(&mut self.bytes)? {
            Next::End if is_closed => Ok(Progress::IsLeft),
            Next::End => Ok(Progress::IsLive),
            Next::File(_) => Ok(Progress::Goes),
            Next::Event => {
                let (file, end) = self.reader.file_position();
                let raw = RawEvent::parse(&self.bytes, CHECKSUM)?;
                raw.verify()?;
                let location = EventLocation {
                    file,
                    offset: end.saturating_sub(self.bytes.len() as u64),
                };
                self.translator.take(&raw, &location, out)?;
                Ok(Progress::Goes)
            }
        }
    }
}

fn parse(family: Family, text: &str) -> Result<Position, ChangeRefusal> {
    Position::parse(family, text).map_err(|error| ChangeRefusal::BadPosition {
        text: text.to_owned(),
        reason: error.to_string(),
    })
}
