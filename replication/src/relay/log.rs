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
    known: Mutex<LogState>,
    /// How often something has been added, or the writer has left.
    additions: watch::Sender<u64>,
    /// Whether nobody writes any more.
    is_left: AtomicBool,
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
            known: Mutex::new(LogState {
                files,
                position,
                version: String::new(),
            }),
            additions: watch::Sender::new(0),
            is_left: AtomicBool::new(false),
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, LogState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.known().position.family()
    }

    /// All transactions up to the end of the last file.
    pub fn position(&self) -> Position {
        self.known().position.clone()
    }

    /// Whether there is a file, so that replicas can be fed, and the server's version is known.
    pub fn has_begun(&self) -> bool {
        !self.known().files.is_empty()
    }

    /// What the server calls itself whose events these are; empty before the first.
    pub fn version(&self) -> String {
        self.known().version.clone()
    }

    /// How many files there are, and their bytes.
    pub fn size(&self) -> (usize, u64) {
        let known = self.known();
        (
            known.files.len(),
            known.files.iter().map(|it| it.bytes).sum(),
        )
    }

    /// The transactions that are not in any file any more.
    pub fn deleted(&self) -> Position {
        let known = self.known();
        let first = known.files.front().map(|it| it.before.clone());
        first.unwrap_or_else(|| known.position.clone())
    }

    /// Told of each addition, and when the writer has left.
    pub fn additions(&self) -> watch::Receiver<u64> {
        self.additions.subscribe()
    }

    /// Whether nobody writes any more: another relay has taken its place, or will.
    pub fn is_left(&self) -> bool {
        self.is_left.load(Ordering::Acquire)
    }

    /// The writer is gone.
    pub(super) fn leave(&self) {
        self.is_left.store(true, Ordering::Release);
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
        let known = self.known();
        let mut newest_first = known.files.iter().rev();
        newest_first
            .find(|it| had.missing(&it.before).is_none())
            .cloned()
    }

    /// A file, and whether another comes behind it; none if it is deleted.
    pub(super) fn file(&self, number: u64) -> Option<(RelayFile, bool)> {
        let known = self.known();
        let first = known.files.front()?.number;
        let index = usize::try_from(number.checked_sub(first)?).ok()?;
        let file = known.files.get(index)?.clone();
        Some((file, index + 1 < known.files.len()))
    }

    /// How many bytes of the last file are durable.
    pub(super) fn last_bytes(&self) -> u64 {
        self.known().files.back().map_or(0, |it| it.bytes)
    }

    /// Whether the last file has no transactions, if the files go up to `position`.
    pub(super) fn is_last_empty(&self, position: &Position) -> bool {
        let known = self.known();
        known.files.back().is_some_and(|it| it.before == *position)
    }

    pub(super) fn set_version(&self, version: String) {
        self.known().version = version;
    }

    /// The last file is durable up to there.
    pub(super) fn extend(&self, bytes: u64, position: &Position) {
        let mut known = self.known();
        if let Some(last) = known.files.back_mut() {
            last.bytes = bytes;
        }
        known.position.clone_from(position);
        drop(known);
        self.additions.send_modify(|count| *count += 1);
    }

    /// Another file has begun.
    pub(super) fn begin(&self, file: RelayFile) {
        self.known().files.push_back(file);
        self.additions.send_modify(|count| *count += 1);
    }

    /// Takes out the oldest file if it is not the only one and `is_due`.
    pub(super) fn take_oldest(
        &self,
        is_due: impl Fn(&RelayFile, u64) -> bool,
    ) -> Option<RelayFile> {
        let mut known = self.known();
        let all = known.files.iter().map(|it| it.bytes).sum();
        let first = known.files.front()?;
        let takes = known.files.len() > 1 && is_due(first, all);
        takes.then(|| known.files.pop_front()).flatten()
    }
}
