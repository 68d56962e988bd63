//! The queue to the logs of statements and logins. Workers put entries into a bounded queue and never wait;
//! another thread writes them.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use crate::slow::StatementView;

/// The most entries in the queue.
const ENTRIES_MAX: usize = 16_384;

/// The most bytes of the entries in the queue.
const BYTES_MAX: usize = 16 << 20;

/// The log that an entry belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// Slow statements.
    Slow,
    /// Statements.
    Query,
    /// Logins, ends of sessions, actions of administrators.
    Audit,
    /// Profiles of statements.
    Profiles,
}

impl Log {
    /// All logs.
    pub const ALL: [Self; 4] = [Self::Slow, Self::Query, Self::Audit, Self::Profiles];

    /// Its section in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slow => "slow_log",
            Self::Query => "query_log",
            Self::Audit => "audit_log",
            Self::Profiles => "profiling",
        }
    }
}

/// An entry in the queue.
#[derive(Debug)]
pub enum Entry {
    /// A statement.
    Statement(Log, Box<StatementView>),
    /// An event for the audit log.
    Audit(Box<AuditEvent>),
    /// A line in its final form.
    Line(Log, Box<str>),
    /// No entry: wakes the writer, to open files again or to end.
    Look,
}

/// An event for the audit log.
#[derive(Debug, Clone)]
pub struct AuditEvent {
    /// When it happened.
    pub at: SystemTime,
    /// `login`, `login_failed`, `disconnect` or `administration`.
    pub event: &'static str,
    /// `clients`, `admin` or `http`.
    pub port: &'static str,
    /// The session's id.
    pub session: u32,
    /// The user.
    pub user: String,
    /// The client's address.
    pub client: String,
    /// The schema that the client named.
    pub schema: String,
    /// The action, or the cause; without values.
    pub detail: String,
}

/// The counts and the state of a log.
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

    /// Entries that were lost: too many waited, or they could not be written.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Why the log cannot be written now.
    pub fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.clone()
    }

    /// Counts written entries.
    pub fn note_written(&self, count: u64) {
        self.written.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts lost entries.
    pub fn note_dropped(&self, count: u64) {
        self.dropped.fetch_add(count, Ordering::Relaxed);
    }

    /// Notes that the log cannot be written, or can be again. Returns whether that is new.
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
    /// A journal, and the receiver of its entries.
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

    /// The counts and the state of a log.
    pub fn counts(&self, log: Log) -> &LogCounts {
        &self.counts[log as usize]
    }

    /// Puts an entry into the queue. If the queue is full, the entry is dropped and counted.
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

    /// Wakes the writer. If the queue is full, the writer is awake already.
    fn wake(&self) {
        let _ = self.to.try_send(Entry::Look);
    }

    /// Tells the writer to open the files again, by the current settings.
    pub fn reopen(&self) {
        self.is_to_reopen.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether the files are to be opened again. The call clears the request.
    pub fn is_to_reopen(&self) -> bool {
        self.is_to_reopen.swap(false, Ordering::AcqRel)
    }

    /// Tells the writer to write the waiting entries, and then to end.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether the writer is to end.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Notes that an entry was taken out of the queue.
    pub fn is_taken(&self, entry: &Entry) {
        if entry.log().is_some() {
            self.bytes.fetch_sub(entry.bytes(), Ordering::Relaxed);
        }
    }
}

impl Entry {
    /// The log it belongs to.
    pub fn log(&self) -> Option<Log> {
        match self {
            Self::Statement(log, _) => Some(*log),
            Self::Line(log, _) => Some(*log),
            Self::Audit(_) => Some(Log::Audit),
            Self::Look => None,
        }
    }

    /// Its memory, in bytes.
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
