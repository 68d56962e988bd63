//! Writes a stream's transactions into the relay files.
//!
//! ```text
//!   Between ──GTID──► Within ──end of the transaction──► Between      written, synced, shown to readers
//!      └──GTID of a transaction that is there──► Skipped ──its end──► Between
//! ```

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use binlog::{EventFlags, EventHeader, EventType, FormatDescription, Limits, RawEvent, put_event};
use net::clock;
use system::Clock;
use tokio::time::Instant;

use super::error::RelayError;
use super::files::{self, CHECKSUM, Head, io_error, position_of};
use super::log::{RelayFile, RelayLog};
use super::recovery::recover;
use crate::follow::Brought;
use crate::position::Position;

/// How long a complete transaction may wait, so that one sync covers several transactions.
const SYNC_DELAY: Duration = Duration::from_millis(5);

/// How many bytes are buffered before they are written to the file.
const BUFFER_BYTES: usize = 1 << 20;

/// About how many files a full relay folder has.
const FILES_WHEN_FULL: u64 = 16;

/// The size at which a new file begins is at least `FILE_BYTES_MIN` and at most `FILE_BYTES_MAX`, in bytes.
const FILE_BYTES_MIN: u64 = 256 << 10;
const FILE_BYTES_MAX: u64 = 256 << 20;

/// How often the age of the current file is checked.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);

/// The options with which a relay is opened.
#[derive(Debug, Clone)]
pub struct RelayOptions {
    /// The folder of the files.
    pub folder: PathBuf,
    /// The server id by which replicas know the proxy.
    pub server_id: u32,
    /// The UUID by which MySQL replicas know the proxy.
    pub uuid: String,
    /// See `relay_bytes_max`.
    pub bytes_max: u64,
    /// See `relay_age_max`.
    pub age_max: Duration,
    /// The longest event.
    pub limits: Limits,
    /// The clock by which the age of files is measured.
    pub clock: Clock,
}

/// The writer of a stream's relay files.
pub struct RelayWriter {
    log: Arc<RelayLog>,
    options: RelayOptions,
    /// The locked lock file of the folder. The lock lasts as long as the writer.
    _lock: File,
    current: Option<Current>,
    format: Option<FormatDescription>,
    /// All transactions that are complete in the files.
    position: Position,
    state: State,
    looked: Instant,
}

/// The file that is being written.
struct Current {
    file: File,
    path: PathBuf,
    /// How many bytes have been written to the file.
    written: u64,
    /// The bytes that come after `written`.
    buffer: Vec<u8>,
    /// The offset at which the last complete transaction ends, in bytes.
    whole: u64,
    /// When the oldest complete, unsynced transaction was completed.
    unsynced: Option<Instant>,
    opened_at: Instant,
    /// Whether a write or sync has failed. Then it is unknown how many of the last bytes are in the file.
    has_failed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Between,
    Within,
    Skipped,
}

impl RelayWriter {
    /// Opens the files of the folder. If there are none, the relay begins after `position`.
    ///
    /// # Errors
    /// The folder cannot be used, contains other files, or lacks transactions of `position`.
    pub fn open(options: RelayOptions, position: &Position) -> Result<Self, RelayError> {
        let folder = &options.folder;
        let lock = lock(folder)?;
        let recovered = recover(folder, options.limits)?;
        let (files, reached, format) = match recovered {
            Some(it) => (it.files, it.position, Some(it.format)),
            None => (Default::default(), position.clone(), None),
        };
        if reached.family() != position.family() {
            return Err(RelayError::Unfit(
                "the relay files are of servers of the other family; empty the folder, or name another",
            ));
        }
        if let Some(missing) = reached.missing(position) {
            let folder = folder.clone();
            return Err(RelayError::Behind { folder, missing });
        }
        let last = files.back().map(|it| (it.number, it.bytes));
        let log = RelayLog::new(
            folder,
            (options.server_id, &options.uuid),
            files,
            reached.clone(),
        );
        if let Some(format) = &format {
            log.set_version(format.server_version());
        }
        let current = last.map(|(number, bytes)| Current::append(log.path(number), bytes));
        Ok(Self {
            current: current.transpose()?,
            log: Arc::new(log),
            options,
            _lock: lock,
            format,
            position: reached,
            state: State::Between,
            looked: clock::now(),
        })
    }

    /// The log that readers read.
    pub fn log(&self) -> &Arc<RelayLog> {
        &self.log
    }

    /// Writes the next event of the stream. `brought` tells whether the event begins or ends a transaction.
    ///
    /// # Errors
    /// The event cannot be written.
    pub fn take(&mut self, raw: &RawEvent<'_>, brought: &Brought) -> Result<(), RelayError> {
        if raw.header().event_type == EventType::FORMAT_DESCRIPTION {
            return self.take_format(raw);
        }
        if let Brought::Begin(gtid) = brought {
            self.state = match self.position.contains(gtid) {
                true => State::Skipped,
                false => State::Within,
            };
        }
        if self.state == State::Within {
            self.put(raw)?;
        }
        if let Brought::Transaction(gtid) = brought {
            if self.state == State::Within {
                self.position.add(gtid);
                self.complete();
            }
            self.state = State::Between;
        }
        Ok(())
    }

    /// This event comes at the start of each log file of a server, and of each connection. The relay begins a new
    /// file then, too, because a MySQL server restarts `last_committed` and `sequence_number` in each of its files.
    /// Replicas use these numbers to execute transactions in parallel.
    fn take_format(&mut self, raw: &RawEvent<'_>) -> Result<(), RelayError> {
        let told = FormatDescription::decode(raw.body()).ok();
        let format = told.and_then(|it| it.of_relay());
        let format = format.ok_or(RelayError::Unfit(
            "the server is too old to feed replicas from: its events have no checksums",
        ))?;
        if self.state != State::Between {
            return Err(RelayError::Unfit(
                "the server has sent a FORMAT_DESCRIPTION event within a transaction",
            ));
        }
        let is_same = self.format.as_ref() == Some(&format);
        if self.current.is_some() && is_same && self.log.is_last_empty(&self.position) {
            return Ok(());
        }
        self.log.set_version(format.server_version());
        self.format = Some(format);
        self.begin_file()
    }

    /// Begins the next file.
    fn begin_file(&mut self) -> Result<(), RelayError> {
        self.sync()?;
        let Some(format) = self.format.clone() else {
            return Ok(());
        };
        let mut head = Head {
            format,
            before: self.position.clone(),
            bytes: 0,
        };
        let mut bytes = Vec::new();
        head.encode(&mut bytes, self.options.server_id)?;
        let number = files::numbers(self.log.folder());
        let number = number.map_err(io_error(self.log.folder(), "listed"))?;
        let number = number.last().map_or(1, |last| last + 1);
        self.current = Some(Current::create(self.log.path(number), &bytes)?);
        sync_folder(self.log.folder())?;
        self.log.begin(RelayFile {
            number,
            before: head.before,
            bytes: head.bytes,
        });
        self.delete_oldest()
    }

    fn put(&mut self, raw: &RawEvent<'_>) -> Result<(), RelayError> {
        let current = self.current.as_mut().ok_or(RelayError::Unfit(
            "the server has sent a transaction before its FORMAT_DESCRIPTION event",
        ))?;
        current.put(raw)
    }

    /// Marks the end of a complete transaction.
    fn complete(&mut self) {
        if let Some(current) = &mut self.current {
            current.whole = current.end();
            current.unsynced.get_or_insert_with(clock::now);
        }
    }

    /// Whether no transaction is incomplete.
    pub fn is_between(&self) -> bool {
        self.state == State::Between
    }

    /// When complete transactions must be synced; none if all are synced.
    pub fn sync_due(&self) -> Option<Instant> {
        let unsynced = self.current.as_ref().and_then(|it| it.unsynced);
        unsynced.map(|since| since + SYNC_DELAY)
    }

    /// Syncs complete transactions if they have waited long enough. Returns whether all complete transactions are
    /// synced.
    ///
    /// # Errors
    /// The file cannot be written or synced.
    pub fn sync_if_due(&mut self) -> Result<bool, RelayError> {
        if self.sync_due().is_some_and(|due| due <= clock::now()) {
            self.sync()?;
        }
        if self.state == State::Between && self.is_file_done() {
            self.begin_file()?;
        }
        Ok(self.sync_due().is_none())
    }

    /// Syncs complete transactions, and shows them to readers.
    ///
    /// # Errors
    /// The file cannot be written or synced.
    pub fn sync(&mut self) -> Result<(), RelayError> {
        let Some(current) = &mut self.current else {
            return Ok(());
        };
        if current.unsynced.is_none() {
            return Ok(());
        }
        current.flush()?;
        let synced = current.file.sync_data();
        current.has_failed |= synced.is_err();
        synced.map_err(io_error(&current.path, "synced"))?;
        current.unsynced = None;
        self.log.extend(current.whole, &self.position);
        Ok(())
    }

    /// Removes the incomplete transaction, because the stream begins again. If a write has failed, removes all
    /// transactions that are not synced.
    ///
    /// # Errors
    /// The file cannot be truncated.
    pub fn restart(&mut self) -> Result<(), RelayError> {
        self.state = State::Between;
        let Some(current) = &mut self.current else {
            return Ok(());
        };
        if current.has_failed {
            current.whole = self.log.last_bytes();
            current.unsynced = None;
            current.buffer.clear();
            current.written = u64::MAX;
            self.position = self.log.position();
        }
        current.cut()?;
        current.has_failed = false;
        self.sync()
    }

    /// Whether the current file is large or old enough.
    fn is_file_done(&mut self) -> bool {
        let limit = self.options.bytes_max / FILES_WHEN_FULL;
        let limit = limit.clamp(FILE_BYTES_MIN, FILE_BYTES_MAX);
        let age = self.options.age_max / FILES_WHEN_FULL as u32;
        let is_look_due = self.looked.elapsed() >= LOOK_INTERVAL;
        if is_look_due {
            self.looked = clock::now();
        }
        let head = self.log.file_head_bytes();
        self.current.as_ref().is_some_and(|it| {
            let is_old = is_look_due && it.opened_at.elapsed() > age && it.whole > head;
            it.whole > limit || is_old
        })
    }

    /// Deletes the oldest files while the relay is too large or the files are too old.
    fn delete_oldest(&self) -> Result<(), RelayError> {
        let is_due = |file: &RelayFile, all: u64| {
            all > self.options.bytes_max
                || is_older(
                    &self.log.path(file.number),
                    self.options.age_max,
                    &self.options.clock,
                )
        };
        while let Some(oldest) = self.log.take_oldest(is_due) {
            let path = self.log.path(oldest.number);
            std::fs::remove_file(&path).map_err(io_error(&path, "deleted"))?;
        }
        Ok(())
    }
}

impl Drop for RelayWriter {
    fn drop(&mut self) {
        self.log.leave();
    }
}

impl Current {
    fn create(path: PathBuf, head: &[u8]) -> Result<Self, RelayError> {
        let mut options = OpenOptions::new();
        options.append(true).create_new(true).mode(0o600);
        let file = options.open(&path).map_err(io_error(&path, "made"))?;
        let mut current = Self::of(file, path, 0);
        current.buffer.extend_from_slice(head);
        current.whole = current.end();
        let begun = current.begin();
        if begun.is_err() {
            // Recovery fails on a file without a head, so remove it.
            let _ = std::fs::remove_file(&current.path);
        }
        begun.map(|()| current)
    }

    fn begin(&mut self) -> Result<(), RelayError> {
        self.flush()?;
        let synced = self.file.sync_all();
        synced.map_err(io_error(&self.path, "synced"))
    }

    fn append(path: PathBuf, bytes: u64) -> Result<Self, RelayError> {
        let file = OpenOptions::new().append(true).open(&path);
        let file = file.map_err(io_error(&path, "opened"))?;
        Ok(Self::of(file, path, bytes))
    }

    fn of(file: File, path: PathBuf, bytes: u64) -> Self {
        Self {
            file,
            path,
            written: bytes,
            buffer: Vec::new(),
            whole: bytes,
            unsynced: None,
            opened_at: clock::now(),
            has_failed: false,
        }
    }

    fn end(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Appends an event. `next_position` becomes its position in the relay file.
    fn put(&mut self, raw: &RawEvent<'_>) -> Result<(), RelayError> {
        let length = binlog::HEADER_BYTES + raw.body().len() + CHECKSUM.length();
        let flags = raw.header().flags;
        let header = EventHeader {
            next_position: position_of(self.end() + length as u64),
            flags: EventFlags(flags.0 & !EventFlags::RELAY_LOG.0),
            ..*raw.header()
        };
        put_event(&mut self.buffer, &header, raw.body(), CHECKSUM)
            .map_err(|_| RelayError::Unfit("an event is longer than 4 GiB"))?;
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RelayError> {
        let written = self.file.write_all(&self.buffer);
        self.has_failed |= written.is_err();
        written.map_err(io_error(&self.path, "written"))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER_BYTES);
        Ok(())
    }

    /// Removes the bytes after the last complete transaction.
    fn cut(&mut self) -> Result<(), RelayError> {
        if self.written <= self.whole {
            let keep = usize::try_from(self.whole - self.written).unwrap_or(0);
            self.buffer.truncate(keep);
            return Ok(());
        }
        self.buffer.clear();
        let cut = self.file.set_len(self.whole);
        cut.map_err(io_error(&self.path, "truncated"))?;
        self.written = self.whole;
        Ok(())
    }
}

impl RelayLog {
    /// The length of the current file's head: a file that is longer contains transactions.
    fn file_head_bytes(&self) -> u64 {
        // Magic number, FORMAT_DESCRIPTION and an empty GTID list are shorter than this in all versions.
        512
    }
}

/// Locks the folder: only one writer may use it.
fn lock(folder: &Path) -> Result<File, RelayError> {
    let path = folder.join("lock");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(&path).map_err(io_error(&path, "opened"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(RelayError::InUse(folder.to_owned())),
        Err(std::fs::TryLockError::Error(error)) => Err(io_error(&path, "locked")(error)),
    }
}

/// Syncs the folder, so that a new file's name survives a crash.
fn sync_folder(folder: &Path) -> Result<(), RelayError> {
    let synced = File::open(folder).and_then(|it| it.sync_all());
    synced.map_err(io_error(folder, "synced"))
}

fn is_older(path: &Path, age: Duration, clock: &Clock) -> bool {
    let written = std::fs::metadata(path).and_then(|it| it.modified());
    let passed = written.map(|it| clock.wall().duration_since(it));
    matches!(passed, Ok(Ok(passed)) if passed > age)
}
