//! Writes one change file: appends lines, syncs them once a second, and then stores the position in the position file.
//! After a crash it removes an incomplete last line, and goes on after the position file's or the last line's position.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::Duration;

use config::ChangeFileConfig;
use route::Family;
use tokio::sync::watch;

use super::rotation::{rotate, rotated};
use crate::changes::error::ChangeError;
use crate::changes::sink::position_file::{
    io_error, lock, opened, save_position, saved_position, with_suffix,
};
use crate::changes::sink::{Sink, SyncTimer};
use crate::changes::translator::{ChangeRecord, Output};
use crate::position::Position;

/// How many bytes are buffered before they are written to the file.
const PIECE_BYTES: usize = 64 << 10;

/// How many bytes are read at once while searching the last line.
const BLOCK_BYTES: u64 = 64 << 10;

/// The writer of one change file.
pub struct ChangeFileWriter {
    settings: ChangeFileConfig,
    stopped: watch::Receiver<()>,
    /// The lock file; another writer waits for its lock.
    _lock: File,
    file: File,
    bytes: u64,
    /// The bytes that come after `bytes`.
    piece: Vec<u8>,
    /// All transactions that are complete, in the file or in `piece`.
    position: Option<String>,
    /// The position in the position file.
    saved: Option<String>,
    /// Whether written bytes are not synced yet.
    is_unsynced: bool,
    /// Since when bytes or a position wait to be synced.
    timer: SyncTimer,
    /// Changes and bytes since the last `take_counts`.
    counts: (u64, u64),
}

impl ChangeFileWriter {
    /// Opens or creates the file, and removes an incomplete last line.
    ///
    /// # Errors
    /// The file cannot be opened, or another process writes it.
    pub fn open(
        settings: &ChangeFileConfig,
        stopped: watch::Receiver<()>,
    ) -> Result<Self, ChangeError> {
        let path = &settings.path;
        let lock = lock(&with_suffix(path, "lock"))?;
        let mut file = opened(path)?;
        let mut last = last_position(&mut file).map_err(io_error(path))?;
        if last.is_none()
            && let Some((_, newest)) = rotated(path).map_err(io_error(path))?.pop()
        {
            // The file is empty, because the proxy ended before it wrote a line; so use the last rotated file.
            let mut file = opened(&newest)?;
            last = last_position(&mut file).map_err(io_error(&newest))?;
        }
        let saved = saved_position(&with_suffix(path, "position"))?;
        let bytes = file.seek(SeekFrom::End(0)).map_err(io_error(path))?;
        Ok(Self {
            settings: settings.clone(),
            stopped,
            _lock: lock,
            file,
            bytes,
            piece: Vec::new(),
            position: joined(saved.clone(), last),
            saved,
            is_unsynced: false,
            timer: SyncTimer::default(),
            counts: (0, 0),
        })
    }

    /// Begins a new file if this one has reached its size limit.
    fn rotate_if_due(&mut self) -> Result<(), ChangeError> {
        if self.bytes + (self.piece.len() as u64) < self.settings.bytes_max {
            return Ok(());
        }
        self.sync()?;
        let path = &self.settings.path;
        rotate(path, self.settings.files_max).map_err(io_error(path))?;
        self.file = opened(path)?;
        self.bytes = 0;
        Ok(())
    }
}

impl Sink for ChangeFileWriter {
    fn position(&self) -> Option<&str> {
        self.position.as_deref()
    }

    fn begin(&mut self, position: &str) -> Result<(), ChangeError> {
        self.position = Some(position.to_owned());
        self.sync()
    }

    fn has_piece(&self) -> bool {
        self.piece.len() >= PIECE_BYTES
    }

    fn write_piece(&mut self) -> Result<(), ChangeError> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let written = self.file.write_all(&self.piece);
        written.map_err(io_error(&self.settings.path))?;
        self.bytes += self.piece.len() as u64;
        self.counts.1 += self.piece.len() as u64;
        self.piece.clear();
        self.piece.shrink_to(PIECE_BYTES);
        self.is_unsynced = true;
        self.timer.begin();
        Ok(())
    }

    fn sync_due(&self) -> Option<Duration> {
        self.timer.due()
    }

    fn sync(&mut self) -> Result<(), ChangeError> {
        self.write_piece()?;
        if self.is_unsynced {
            let synced = self.file.sync_data();
            synced.map_err(io_error(&self.settings.path))?;
            self.is_unsynced = false;
        }
        self.timer.clear();
        if self.position == self.saved {
            return Ok(());
        }
        if let Some(position) = &self.position {
            save_position(&with_suffix(&self.settings.path, "position"), position)?;
        }
        self.saved.clone_from(&self.position);
        Ok(())
    }

    fn take_counts(&mut self) -> (u64, u64) {
        std::mem::take(&mut self.counts)
    }
}

impl Output for ChangeFileWriter {
    fn change(&mut self, change: &ChangeRecord<'_>) -> Result<(), ChangeError> {
        self.piece.extend_from_slice(change.json.as_bytes());
        self.piece.push(b'\n');
        self.counts.0 += 1;
        match self.has_piece() {
            true => self.write_piece(),
            false => Ok(()),
        }
    }

    fn end_of_transaction(&mut self, position: &str) -> Result<(), ChangeError> {
        let place = self.position.get_or_insert_default();
        place.clear();
        place.push_str(position);
        self.timer.begin();
        self.rotate_if_due()
    }

    fn is_closed(&self) -> bool {
        self.stopped.has_changed().is_err()
    }
}

/// Returns the position of the last complete line that is a change. Removes everything after that line.
fn last_position(file: &mut File) -> io::Result<Option<String>> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut end = length;
    let found = loop {
        let Some(line_end) = line_end_before(file, end)? else {
            end = 0;
            break None;
        };
        end = line_end + 1;
        let begin = line_end_before(file, line_end)?.map_or(0, |it| it + 1);
        if let Some(position) = position_of(file, begin, line_end)? {
            break Some(position);
        }
        // The line is no change: a crash of the machine may leave other bytes. Try the line before it.
        end = begin;
    };
    if end < length {
        file.set_len(end)?;
        file.sync_all()?;
    }
    Ok(found)
}

/// Returns the offset of the last line feed before `end`.
fn line_end_before(file: &mut File, mut end: u64) -> io::Result<Option<u64>> {
    let mut block = Vec::new();
    while end > 0 {
        let begin = end.saturating_sub(BLOCK_BYTES);
        block.resize(usize::try_from(end - begin).unwrap_or(0), 0);
        file.seek(SeekFrom::Start(begin))?;
        file.read_exact(&mut block)?;
        if let Some(at) = block.iter().rposition(|it| *it == b'\n') {
            return Ok(Some(begin + at as u64));
        }
        end = begin;
    }
    Ok(None)
}

/// Returns the position in a line; none if the line is no change.
fn position_of(file: &mut File, begin: u64, end: u64) -> io::Result<Option<String>> {
    let mut line = vec![0; usize::try_from(end - begin).unwrap_or(0)];
    file.seek(SeekFrom::Start(begin))?;
    file.read_exact(&mut line)?;
    let value: Result<serde_json::Value, _> = serde_json::from_slice(&line);
    let position = value.ok().and_then(|it| it.get("position").cloned());
    Ok(position.and_then(|it| it.as_str().map(str::to_owned)))
}

/// Returns the union of both positions, because the file contains the changes of both.
fn joined(saved: Option<String>, last: Option<String>) -> Option<String> {
    let (saved, last) = match (saved, last) {
        (Some(saved), Some(last)) => (saved, last),
        (saved, last) => return saved.or(last),
    };
    for family in [Family::MySql, Family::MariaDb] {
        if let (Ok(mut one), Ok(other)) = (
            Position::parse(family, &saved),
            Position::parse(family, &last),
        ) {
            one.union(&other);
            return Some(one.to_string());
        }
    }
    Some(saved)
}
