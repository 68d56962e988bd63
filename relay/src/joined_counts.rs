//! Counts of the sessions of listeners with `routing.session = "kernel"`, over all workers since the
//! start.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Why a session is not joined in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JoinObstacle {
    /// The kernel or a privilege is missing.
    Kernel,
    /// The client or the backend uses TLS.
    Tls,
    /// The client or the backend uses compression.
    Compression,
    /// The client or the backend is not connected over TCP.
    Socket,
    /// The kernel has refused these two connections, because one of them was closing.
    Closing,
}

impl JoinObstacle {
    /// The name that the admin interface shows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Tls => "tls",
            Self::Compression => "compression",
            Self::Socket => "socket",
            Self::Closing => "closing",
        }
    }
}

/// The key under which sessions are counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct JoinKey {
    listener: String,
    backend: String,
    obstacle: Option<JoinObstacle>,
}

/// The counts of one key.
#[derive(Debug, Default)]
pub struct JoinFigures {
    sessions: AtomicU64,
    current: AtomicU64,
    /// Bytes from clients, and bytes from backends.
    bytes: [AtomicU64; 2],
}

impl JoinFigures {
    pub(crate) fn begin(&self) {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        self.current.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        self.current.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, bytes: [u64; 2]) {
        for (sum, more) in self.bytes.iter().zip(bytes) {
            sum.fetch_add(more, Ordering::Relaxed);
        }
    }
}

/// All counts.
#[derive(Debug, Default)]
pub struct JoinCounts {
    all: Mutex<BTreeMap<JoinKey, Arc<JoinFigures>>>,
}

/// The sessions of one listener and one backend that were joined, or that were not joined for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinView {
    /// The address of the listener.
    pub listener: String,
    /// The name of the backend.
    pub backend: String,
    /// Why the sessions were not joined; `None`: they were joined.
    pub obstacle: Option<JoinObstacle>,
    /// The number of sessions since the start.
    pub sessions: u64,
    /// The number of joined sessions now.
    pub current: u64,
    /// Bytes that the kernel and the proxy have passed on for joined sessions: from clients, and from backends.
    pub bytes: [u64; 2],
}

impl JoinView {
    /// Whether the sessions were joined.
    pub fn is_joined(&self) -> bool {
        self.obstacle.is_none()
    }
}

impl JoinCounts {
    fn all(&self) -> MutexGuard<'_, BTreeMap<JoinKey, Arc<JoinFigures>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn figures(&self, key: JoinKey) -> Arc<JoinFigures> {
        Arc::clone(self.all().entry(key).or_default())
    }

    /// Returns the counts of the joined sessions of a listener and a backend.
    pub(crate) fn joined(&self, listener: String, backend: String) -> Arc<JoinFigures> {
        self.figures(JoinKey {
            listener,
            backend,
            obstacle: None,
        })
    }

    /// Counts a session that is relayed. Returns whether it is the first one for this reason.
    pub(crate) fn note_relayed(
        &self,
        listener: String,
        backend: String,
        obstacle: JoinObstacle,
    ) -> bool {
        let mut all = self.all();
        let is_first = !all.keys().any(|key| key.obstacle == Some(obstacle));
        let key = JoinKey {
            listener,
            backend,
            obstacle: Some(obstacle),
        };
        let figures = all.entry(key).or_default();
        figures.sessions.fetch_add(1, Ordering::Relaxed);
        is_first
    }

    /// All counts, by listener, backend and reason.
    pub fn views(&self) -> Vec<JoinView> {
        let all = self.all();
        let views = all.iter().map(|(key, figures)| JoinView {
            listener: key.listener.clone(),
            backend: key.backend.clone(),
            obstacle: key.obstacle,
            sessions: figures.sessions.load(Ordering::Relaxed),
            current: figures.current.load(Ordering::Relaxed),
            bytes: [0, 1].map(|index: usize| figures.bytes[index].load(Ordering::Relaxed)),
        });
        views.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_counted_by_listener_backend_and_reason() {
        let counts = JoinCounts::default();
        let note = |listener: &str, obstacle| {
            counts.note_relayed(listener.to_owned(), "db1".to_owned(), obstacle)
        };
        assert!(note(":1", JoinObstacle::Tls));
        assert!(!note(":2", JoinObstacle::Tls), "the log has said it");
        assert!(note(":1", JoinObstacle::Kernel));
        let joined = counts.joined(":1".to_owned(), "db1".to_owned());
        joined.begin();
        joined.begin();
        joined.add([3, 40]);
        joined.end();
        let found: Vec<_> = counts.views();
        let row = |it: &JoinView| {
            let reason = it.obstacle.map(JoinObstacle::name);
            (
                it.listener.clone(),
                reason,
                it.sessions,
                it.current,
                it.bytes,
            )
        };
        let found: Vec<_> = found.iter().map(row).collect();
        assert_eq!(
            found,
            [
                (":1".to_owned(), None, 2, 1, [3, 40]),
                (":1".to_owned(), Some("kernel"), 1, 0, [0, 0]),
                (":1".to_owned(), Some("tls"), 1, 0, [0, 0]),
                (":2".to_owned(), Some("tls"), 1, 0, [0, 0]),
            ]
        );
    }
}
