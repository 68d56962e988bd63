//! What is durable in the relay files, for those who read them: the files, and how far they go.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use route::Family;
use tokio::sync::watch;

use super::files;
use crate::position::Position;

/// What readers know of a relay. Its writer keeps it up to date.
#[derive(Debug)]
pub struct RelayLog {
    folder: PathBuf,
    /// As whom replicas know the proxy.
    server_id: u32,
    uuid: String,
    state: Mutex<LogState>,
    /// How often something has been added, or the writer has left.
    additions: watch::Sender<u64>,
    /// Whether nobody writes any more.
    is_closed: AtomicBool,
}

#[derive(Debug)]
struct LogState {
    files: VecDeque<RelayFile>,
    position: Position,
    /// What the server calls itself.
    version: String,
}

/// One file.
#[derive(Debug, Clone)]
pub struct RelayFile {
    /// Its number.
    pub number: u64,
    /// The transactions of all files before it.
    pub before: Position,
    /// How many bytes of it are durable and whole.
    pub bytes: u64,
}

impl RelayLog {
    /// Of these files, which go up to `position`.
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

    /// `server_id`, which no replica may have.
    pub fn server_id(&self) -> u32 {
        self.server_id
    }

    /// `server_uuid`
    pub fn uuid(&self) -> &str {
        &self.uuid
    }

    /// Whose servers' files these are.
    pub fn family(&self) -> Family {
        self.state().position.family()
    }

    /// All transactions up to the end of the last file.
    pub fn position(&self) -> Position {
        self.state().position.clone()
    }

    /// Whether there is a file, so that replicas can be fed, and the server's version is known.
    pub fn has_started(&self) -> bool {
        !self.state().files.is_empty()
    }

    /// What the server calls itself whose events these are; empty before the first.
    pub fn version(&self) -> String {
        self.state().version.clone()
    }

    /// How many files there are, and their bytes.
    pub fn size(&self) -> (usize, u64) {
        let state = self.state();
        (
            state.files.len(),
            state.files.iter().map(|it| it.bytes).sum(),
        )
    }

    /// The transactions that are not in any file any more.
    pub fn deleted(&self) -> Position {
        let state = self.state();
        let first = state.files.front().map(|it| it.before.clone());
        first.unwrap_or_else(|| state.position.clone())
    }

    /// Told of each addition, and when the writer has left.
    pub fn additions(&self) -> watch::Receiver<u64> {
        self.additions.subscribe()
    }

    /// Whether nobody writes any more: another relay has taken its place, or will.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// The writer is gone.
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

    /// The newest file that a replica which has `had` can begin with; none if its next transactions are deleted.
    pub(super) fn first_for(&self, had: &Position) -> Option<RelayFile> {
        let state = self.state();
        let mut newest_first = state.files.iter().rev();
        newest_first
            .find(|it| had.missing(&it.before).is_none())
            .cloned()
    }

    /// A file, and whether another comes behind it; none if it is deleted.
    pub(super) fn file(&self, number: u64) -> Option<(RelayFile, bool)> {
        let state = self.state();
        let first = state.files.front()?.number;
        let index = usize::try_from(number.checked_sub(first)?).ok()?;
        let file = state.files.get(index)?.clone();
        Some((file, index + 1 < state.files.len()))
    }

    /// How many bytes of the last file are durable.
    pub(super) fn last_bytes(&self) -> u64 {
        self.state().files.back().map_or(0, |it| it.bytes)
    }

    /// Whether the last file has no transactions, if the files go up to `position`.
    pub(super) fn is_last_empty(&self, position: &Position) -> bool {
        let state = self.state();
        state.files.back().is_some_and(|it| it.before == *position)
    }

    pub(super) fn set_version(&self, version: String) {
        self.state().version = version;
    }

    /// The last file is durable up to there.
    pub(super) fn extend(&self, bytes: u64, position: &Position) {
        let mut state = self.state();
        if let Some(last) = state.files.back_mut() {
            last.bytes = bytes;
        }
        state.position.clone_from(position);
        drop(state);
        self.additions.send_modify(|count| *count += 1);
    }

    /// Another file has begun.
    pub(super) fn begin(&self, file: RelayFile) {
        self.state().files.push_back(file);
        self.additions.send_modify(|count| *count += 1);
    }

    /// Takes out the oldest file if it is not the only one and `is_due`.
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
