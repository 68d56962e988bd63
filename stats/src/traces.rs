//! The queue of statements for the sender of spans. Workers put statements into a bounded queue and never wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::slow::StatementView;

/// The most statements in the queue.
const WAITING_MAX: usize = 4096;

/// Why spans were not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    /// Too many statements waited.
    QueueFull,
    /// The collector could not be reached, or did not answer in time.
    Unreachable,
    /// The collector rejected them.
    Refused,
    /// Traces were switched off, or the proxy ended.
    Ended,
}

impl Dropped {
    /// All reasons.
    pub const ALL: [Self; 4] = [
        Self::QueueFull,
        Self::Unreachable,
        Self::Refused,
        Self::Ended,
    ];

    /// The name in tables and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::Unreachable => "unreachable",
            Self::Refused => "refused",
            Self::Ended => "ended",
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct Traces {
    to: Sender<StatementView>,
    sent: AtomicU64,
    dropped: [AtomicU64; Dropped::ALL.len()],
    trouble: Mutex<Option<String>>,
}

impl Traces {
    /// A queue, and the receiver of its statements.
    pub fn new() -> (Arc<Self>, Receiver<StatementView>) {
        let (to, statements) = channel(WAITING_MAX);
        let traces = Self {
            to,
            sent: AtomicU64::new(0),
            dropped: Default::default(),
            trouble: Mutex::default(),
        };
        (Arc::new(traces), statements)
    }

    /// Puts a statement into the queue. If the queue is full, the statement is dropped and its spans are counted.
    pub fn offer(&self, statement: StatementView) {
        let spans = statement.spans();
        if self.to.try_send(statement).is_err() {
            self.note_dropped(Dropped::QueueFull, spans);
        }
    }

    /// Counts spans that were sent.
    pub fn note_sent(&self, spans: u64) {
        self.sent.fetch_add(spans, Ordering::Relaxed);
    }

    /// Counts spans that were not sent.
    pub fn note_dropped(&self, why: Dropped, spans: u64) {
        self.dropped[why as usize].fetch_add(spans, Ordering::Relaxed);
    }

    /// Notes that spans cannot be sent, or can be again. Returns whether that is new.
    pub fn note_trouble(&self, trouble: Option<String>) -> bool {
        let mut known = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = known.is_some() != trouble.is_some();
        *known = trouble;
        is_new
    }

    /// Spans that were sent.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Spans that were not sent, for this reason.
    pub fn dropped(&self, why: Dropped) -> u64 {
        self.dropped[why as usize].load(Ordering::Relaxed)
    }

    /// Why spans cannot be sent now.
    pub fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.clone()
    }
}
