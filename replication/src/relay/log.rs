//! The durable content of the relay files, for their readers: the list of files, and their lengths.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use route::Family;
use tokio::sync::watch;

use super::files;
use crate::position::Position;

/// The readers' view of the relay files. The writer updates it.
#[derive(Debug)]
pub struct RelayLog {
    folder: PathBuf,
    /// The server id by which replicas know the proxy.
    server_id: u32,
    uuid: String,
    state: Mutex<LogState>,
    /// Counts additions. Also increases when the writer ends.
    additions: watch::Sender<u64>,
    /// Whether the writer has ended.
    is_closed: AtomicBool,
}

#[derive(Debug)]
struct LogState {
    files: VecDeque<RelayFile>,
    position: Position,
    /// The server's version text.
    version: String,
}

/// One relay file.
#[derive(Debug, Clone)]
pub struct RelayFile {
    /// The number in the file's name.
    pub number: u64,
    /// The transactions of all files before it.
    pub before: Position,
    /// The length of its durable part, in bytes. That part contains complete transactions only.
    pub bytes: u64,
}

impl RelayLog {
    /// A log of these files, which contain the transactions up to `position`.
    pub(super) fn new(
        folder: &Path,
        (server_id, uuid): (u32, &str),
        files: VecDeque<RelayFile>,
        position: Position,
    ) -> Self {
        Self {
            folder: folder.to_owned(),
            server_id,
            uuid: uuid.to_owned(),
            state: Mutex::new(LogState {
                files,
                position,
                version: String::new(),
            }),
            additions: watch::Sender::new(0),
            is_closed: AtomicBool::new(false),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The proxy's `server_id`. No replica may have the same.
    pub fn server_id(&self) -> u32 {
        self.server_id
    }

    /// The proxy's `server_uuid`.
    pub fn uuid(&self) -> &str {
        &self.uuid
    }

    /// The family of the servers whose transactions the files contain.
    pub fn family(&self) -> Family {
        self.state().position.family()
    }

    /// All transactions up to the end of the last file.
    pub fn position(&self) -> Position {
        self.state().position.clone()
    }

    /// Whether a file exists. Then replicas can be served, and the server's version is known.
    pub fn has_started(&self) -> bool {
        !self.state().files.is_empty()
    }

    /// The version text of the server whose events the files contain; empty before the first event.
    pub fn version(&self) -> String {
        self.state().version.clone()
    }

    /// The number of files, and their total size in bytes.
    pub fn size(&self) -> (usize, u64) {
        let state = self.state();
        (
            state.files.len(),
            state.files.iter().map(|it| it.bytes).sum(),
        )
    }

    /// The transactions that were deleted with their files.
    pub fn deleted(&self) -> Position {
        let state = self.state();
        let first = state.files.front().map(|it| it.before.clone());
        first.unwrap_or_else(|| state.position.clone())
    }

    /// A receiver that is notified of each addition, and when the writer ends.
    pub fn additions(&self) -> watch::Receiver<u64> {
        self.additions.subscribe()
    }

    /// Whether the writer has ended. Then another relay replaces this one.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Marks the writer as ended.
    pub(super) fn leave(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.additions.send_modify(|count| *count += 1);
    }

    pub(super) fn path(&self, number: u64) -> PathBuf {
        self.folder.join(files::name(number))
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the newest file that a replica with `had` can begin with; none if the replica needs deleted
    /// transactions.
    pub(super) fn first_for(&self, had: &Position) -> Option<RelayFile> {
        let state = self.state();
        let mut newest_first = state.files.iter().rev();
        newest_first
            .find(|it| had.missing(&it.before).is_none())
            .cloned()
    }

    /// Returns a file, and whether another file follows it; none if it was deleted.
    pub(super) fn file(&self, number: u64) -> Option<(RelayFile, bool)> {
        let state = self.state();
        let first = state.files.front()?.number;
        let index = usize::try_from(number.checked_sub(first)?).ok()?;
        let file = state.files.get(index)?.clone();
        Some((file, index + 1 < state.files.len()))
    }

    /// The length of the last file's durable part, in bytes.
    pub(super) fn last_bytes(&self) -> u64 {
        self.state().files.back().map_or(0, |it| it.bytes)
    }

    /// Whether the last file contains no transaction, given that the files end at `position`.
    pub(super) fn is_last_empty(&self, position: &Position) -> bool {
        let state = self.state();
        state.files.back().is_some_and(|it| it.before == *position)
    }

    pub(super) fn set_version(&self, version: String) {
        self.state().version = version;
    }

    /// Extends the durable part of the last file to `bytes`.
    pub(super) fn extend(&self, bytes: u64, position: &Position) {
        let mut state = self.state();
        if let Some(last) = state.files.back_mut() {
            last.bytes = bytes;
        }
        state.position.clone_from(position);
        drop(state);
        self.additions.send_modify(|count| *count += 1);
    }

    /// Adds a new file.
    pub(super) fn begin(&self, file: RelayFile) {
        self.state().files.push_back(file);
        self.additions.send_modify(|count| *count += 1);
    }

    /// Removes and returns the oldest file, if it is not the only one and `is_due` returns true.
    pub(super) fn take_oldest(
        &self,
        is_due: impl Fn(&RelayFile, u64) -> bool,
    ) -> Option<RelayFile> {
        let mut state = self.state();
        let all = state.files.iter().map(|it| it.bytes).sum();
        let first = state.files.front()?;
        let takes = state.files.len() > 1 && is_due(first, all);
        takes.then(|| state.files.pop_front()).flatten()
    }
}
