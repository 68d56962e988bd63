//! Opens existing relay files, and truncates the last one after its last complete transaction.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::BufReader;
use std::path::Path;

use binlog::{EventHeader, EventReader, FormatDescription, Limits, Query};

use super::error::RelayError;
use super::files::{self, Head, io_error};
use super::log::RelayFile;
use crate::follow::{Brought, Follower, Statements};
use crate::position::Position;

/// The result of opening a folder.
pub struct Recovered {
    /// The files. They contain complete transactions only.
    pub files: VecDeque<RelayFile>,
    /// All transactions up to the end of the last file.
    pub position: Position,
    /// The format of the last file.
    pub format: FormatDescription,
}

/// Opens a folder; returns none if it contains no relay file.
///
/// # Errors
/// A file cannot be read, or is of another kind.
pub fn recover(folder: &Path, limits: Limits) -> Result<Option<Recovered>, RelayError> {
    let numbers = files::numbers(folder).map_err(io_error(folder, "listed"))?;
    let mut found: VecDeque<(RelayFile, FormatDescription)> = VecDeque::new();
    for number in &numbers {
        let path = folder.join(files::name(*number));
        let Some(head) = Head::read(&path, limits)? else {
            if numbers.last() == Some(number) {
                // The proxy ended while it was creating this file.
                std::fs::remove_file(&path).map_err(io_error(&path, "deleted"))?;
                continue;
            }
            return Err(RelayError::Strange {
                file: path,
                what: "it ends within its head, and other files follow",
            });
        };
        if let Some((last, _)) = found.back()
            && last.number + 1 != *number
        {
            tracing::warn!(
                kind = "relay_gap",
                file = %path.display(),
                "the relay file before this one is missing; the proxy does not use the older files"
            );
            found.clear();
        }
        let bytes = std::fs::metadata(&path).map_err(io_error(&path, "read"))?;
        let file = RelayFile {
            number: *number,
            before: head.before,
            bytes: bytes.len(),
        };
        found.push_back((file, head.format));
    }
    let Some((last, format)) = found.back_mut() else {
        return Ok(None);
    };
    let path = folder.join(files::name(last.number));
    let (bytes, position) = whole_transactions(&path, last.before.clone(), limits)?;
    if bytes < last.bytes {
        truncate(&path, bytes)?;
        last.bytes = bytes;
    }
    let format = format.clone();
    Ok(Some(Recovered {
        files: found.into_iter().map(|(file, _)| file).collect(),
        position,
        format,
    }))
}

/// Truncates a file, and syncs that.
fn truncate(path: &Path, bytes: u64) -> Result<(), RelayError> {
    let file = OpenOptions::new().write(true).open(path);
    let file = file.map_err(io_error(path, "opened"))?;
    file.set_len(bytes).map_err(io_error(path, "truncated"))?;
    file.sync_all().map_err(io_error(path, "synced"))
}

/// Ignores statements.
struct Unread;

impl Statements for Unread {
    fn statement(&mut self, _: &EventHeader, _: &Query<'_>) {}
}

/// Returns the end offset of a file's complete transactions, and the position after them. A damaged event counts as
/// not written.
fn whole_transactions(
    path: &Path,
    before: Position,
    limits: Limits,
) -> Result<(u64, Position), RelayError> {
    let file = File::open(path).map_err(io_error(path, "opened"))?;
    let mut events = EventReader::new(BufReader::with_capacity(1 << 20, file), limits);
    let mut follower = Follower::new(limits);
    let mut position = before;
    let mut whole = 0;
    let mut is_within = false;
    loop {
        let (at, raw) = match events.next_event() {
            Ok(Some(found)) => found,
            Ok(None) => return Ok((whole, position)),
            Err(error) if matches!(error.fault, binlog::Fault::Io(_)) => {
                return Err(RelayError::Damaged {
                    file: path.to_owned(),
                    error,
                });
            }
            Err(_) => return Ok((whole, position)),
        };
        let end = at + raw.bytes().len() as u64;
        match follower.take(&raw, &position, &mut Unread) {
            Ok(Brought::Begin(_)) => is_within = true,
            Ok(Brought::Transaction(gtid)) => {
                position.add(&gtid);
                is_within = false;
                whole = end;
            }
            Ok(_) if is_within => {}
            Ok(_) => whole = end,
            Err(_) => return Ok((whole, position)),
        }
    }
}
