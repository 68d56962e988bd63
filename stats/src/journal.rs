//! The way to the logs of statements and logins: workers put entries into a bounded queue and never wait;
//! who writes them is elsewhere.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use crate::slow::StatementView;

/// Entries that may wait to be written.
const ENTRIES_MAX: usize = 16_384;

/// Bytes of theirs.
const BYTES_MAX: usize = 16 << 20;

/// Which log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// Slow statements.
    Slow,
    /// Statements.
    Query,
    /// Logins, ends of sessions, what administrators do.
    Audit,
    /// Profiles of statements.
    Profiles,
}

impl Log {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Slow, Self::Query, Self::Audit, Self::Profiles];

    /// Its section of the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slow => "slow_log",
            Self::Query => "query_log",
            Self::Audit => "audit_log",
            Self::Profiles => "profiling",
        }
    }
}

/// What is to be written.
#[derive(Debug)]
pub enum Entry {
    /// A statement.
    Statement(Log, Box<StatementView>),
    /// What somebody has done.
    Audit(Box<AuditEvent>),
    /// A line that is ready.
    Line(Log, Box<str>),
    /// Nothing: files are to be opened again, or it is over.
    Look,
}

/// What somebody has done.
#[derive(Debug, Clone)]
pub struct AuditEvent {
    /// When.
    pub at: SystemTime,
    /// `login`, `login_failed`, `disconnect` or `administration`.
    pub event: &'static str,
    /// `clients`, `admin` or `http`.
    pub port: &'static str,
    /// The session's id.
    pub session: u32,
    /// As whom.
    pub user: String,
    /// From where.
    pub client: String,
    /// The schema that was named.
    pub schema: String,
    /// What, or why; without values.
    pub detail: String,
}

/// How a log fares.
#[derive(Debug, Default)]
pub struct LogCounts {
    written: AtomicU64,
    dropped: AtomicU64,
    trouble: Mutex<Option<String>>,
}

impl LogCounts {
    /// Entries that were written.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Entries that were not: too many waited, or they could not be written.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Why nothing can be written now.
    pub fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.clone()
    }

    /// So many more were written.
    pub fn note_written(&self, count: u64) {
        self.written.fetch_add(count, Ordering::Relaxed);
    }

    /// So many more were not.
    pub fn note_dropped(&self, count: u64) {
        self.dropped.fetch_add(count, Ordering::Relaxed);
    }

    /// It cannot be written, or can be again; says whether that is new.
    pub fn note_trouble(&self, trouble: Option<String>) -> bool {
        let mut known = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = known.is_some() != trouble.is_some();
        *known = trouble;
        is_new
    }
}

/// See the module.
#[derive(Debug)]
pub struct Journal {
    to: SyncSender<Entry>,
    bytes: AtomicUsize,
    is_to_reopen: AtomicBool,
    has_ended: AtomicBool,
    counts: [LogCounts; Log::ALL.len()],
}

impl Journal {
    /// A journal, and where its entries come out.
    pub fn new() -> (Arc<Self>, Receiver<Entry>) {
        let (to, entries) = sync_channel(ENTRIES_MAX);
        let journal = Self {
            to,
            bytes: AtomicUsize::new(0),
            is_to_reopen: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            counts: Default::default(),
        };
        (Arc::new(journal), entries)
    }

    /// How a log fares.
    pub fn counts(&self, log: Log) -> &LogCounts {
        &self.counts[log as usize]
    }

    /// Puts an entry into the queue; one too many is dropped and counted.
    pub fn offer(&self, entry: Entry) {
        let Some(log) = entry.log() else {
            return;
        };
        let bytes = entry.bytes();
        let waiting = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if waiting + bytes > BYTES_MAX || self.to.try_send(entry).is_err() {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.counts(log).note_dropped(1);
        }
    }

    /// Whoever writes is woken. Where the queue is full nobody sleeps.
    fn wake(&self) {
        let _ = self.to.try_send(Entry::Look);
    }

    /// Files are to be opened again, by the current settings.
    pub fn reopen(&self) {
        self.is_to_reopen.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether that has been said since this was last asked.
    pub fn is_to_reopen(&self) -> bool {
        self.is_to_reopen.swap(false, Ordering::AcqRel)
    }

    /// What waits is written, and nothing any more.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether that has been said.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// An entry has come out of the queue.
    pub fn is_taken(&self, entry: &Entry) {
        if entry.log().is_some() {
            self.bytes.fetch_sub(entry.bytes(), Ordering::Relaxed);
        }
    }
}

impl Entry {
    /// Where it is to be written.
    pub fn log(&self) -> Option<Log> {
        match self {
            Self::Statement(log, _) => Some(*log),
            Self::Line(log, _) => Some(*log),
            Self::Audit(_) => Some(Log::Audit),
            Self::Look => None,
        }
    }

    /// Its memory.
    fn bytes(&self) -> usize {
        match self {
            Self::Statement(_, it) => {
                let error = it.error.as_ref().map_or(0, |(_, message)| message.len());
                let text = it.text.as_ref().map_or(0, |text| text.len());
                size_of::<StatementView>() + it.digest_text.len() + text + error
            }
            Self::Audit(it) => {
                let texts = [&it.user, &it.client, &it.schema, &it.detail];
                let texts: usize = texts.iter().map(|text| text.len()).sum();
                size_of::<AuditEvent>() + texts
            }
            Self::Line(_, line) => size_of::<Self>() + line.len(),
            Self::Look => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(detail: &str) -> Entry {
        Entry::Audit(Box::new(AuditEvent {
            at: SystemTime::UNIX_EPOCH,
            event: "login",
            port: "clients",
            session: 1,
            user: "u".to_owned(),
            client: "c".to_owned(),
            schema: String::new(),
            detail: detail.to_owned(),
        }))
    }

    #[test]
    fn entries_beyond_the_queue_are_dropped_and_counted() {
        let (journal, entries) = Journal::new();
        for _ in 0..ENTRIES_MAX + 3 {
            journal.offer(event(""));
        }
        assert_eq!(journal.counts(Log::Audit).dropped(), 3);
        let taken = entries.try_iter().inspect(|entry| journal.is_taken(entry));
        assert_eq!(taken.count(), ENTRIES_MAX);
        journal.offer(event(&"x".repeat(BYTES_MAX)));
        assert_eq!(journal.counts(Log::Audit).dropped(), 4);
        journal.offer(event("it has room again"));
        assert_eq!(journal.counts(Log::Audit).dropped(), 4);
        drop(entries);
        journal.offer(event("nobody is there"));
        assert_eq!(journal.counts(Log::Audit).dropped(), 5);
    }
}
