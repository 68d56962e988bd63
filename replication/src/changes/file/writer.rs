//! One change file: lines are appended, synced once a second, and behind that the position file says where they end.
//! After a crash what is not a whole line is cut off, and the position file or the last line says where to go on.

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

/// How much is gathered before the system gets it.
const PIECE_BYTES: usize = 64 << 10;

/// How much of a file's end is read at once.
const BLOCK_BYTES: u64 = 64 << 10;

/// See the module.
pub struct ChangeFileWriter {
    settings: ChangeFileConfig,
    stopped: watch::Receiver<()>,
    /// Another writer waits for it.
    _lock: File,
    file: File,
    bytes: u64,
    /// Behind that.
    piece: Vec<u8>,
    /// All transactions that are whole, in the file or the piece.
    position: Option<String>,
    /// The one that the position file has.
    saved: Option<String>,
    /// Whether bytes are written that are not synced.
    is_unsynced: bool,
    /// Since when bytes or a position wait to be kept.
    timer: SyncTimer,
    /// Changes and bytes that nobody was told of.
    counts: (u64, u64),
}

impl ChangeFileWriter {
    /// Opens the file, or makes it; cuts off what is not whole.
    ///
    /// # Errors
    /// It cannot be had, or another process writes it.
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
            // The proxy ended before it wrote the first line.
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

    /// Begins another file if this one is large enough.
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

/// The position of the last whole line. What is behind that line, or is none, is cut off.
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
        // A crash of the machine has left something else.
        end = begin;
    };
    if end < length {
        file.set_len(end)?;
        file.sync_all()?;
    }
    Ok(found)
}

/// Where the last line feed stands before an offset.
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

/// The position of a line; none if it is no change.
fn position_of(file: &mut File, begin: u64, end: u64) -> io::Result<Option<String>> {
    let mut line = vec![0; usize::try_from(end - begin).unwrap_or(0)];
    file.seek(SeekFrom::Start(begin))?;
    file.read_exact(&mut line)?;
    let value: Result<serde_json::Value, _> = serde_json::from_slice(&line);
    let position = value.ok().and_then(|it| it.get("position").cloned());
    Ok(position.and_then(|it| it.as_str().map(str::to_owned)))
}

/// The transactions of both, because both are in the file.
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
