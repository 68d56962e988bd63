//! Slow statements, one by one: each worker keeps the latest.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use sql::Server;

use crate::attribution::Attribution;
use crate::parent::TraceParent;
use crate::table::Ran;

/// The record of a statement that has ended.
#[derive(Debug, Clone)]
pub struct StatementView {
    /// When it ended, since the process began.
    pub at: Duration,
    /// The id of its session that the client sees.
    pub session: u32,
    /// The client's address.
    pub client: Arc<str>,
    /// The account and the schema.
    pub attribution: Arc<Attribution>,
    /// The kind of server of its session, if known.
    pub server: Server,
    /// The backend; `None`: it reached no backend.
    pub backend: Option<Ran>,
    /// The hash of its normalised text.
    pub digest: u64,
    /// Its normalised text.
    pub digest_text: Arc<str>,
    /// The text with its values, if values may be shown.
    pub text: Option<Arc<str>>,
    /// How long it took.
    pub times: StatementTimes,
    /// The rows and bytes of the statement.
    pub volume: StatementVolume,
    /// The number and the message of the error that it ended with.
    pub error: Option<(u16, String)>,
    /// The client's span that it belongs to, if traces are followed.
    pub parent: Option<TraceParent>,
}

/// How long a statement took.
#[derive(Debug, Clone, Copy)]
pub struct StatementTimes {
    /// Time in the proxy before it left for its backend, without queues.
    pub proxy: Duration,
    /// Time waiting for a connection, or for a rule's limit.
    pub queue: Duration,
    /// At the backend, up to the first byte of its reply.
    pub first_byte: Duration,
    /// At the backend, up to the last byte of its reply.
    pub taken: Duration,
}

/// The rows and bytes of a statement.
#[derive(Debug, Clone, Copy)]
pub struct StatementVolume {
    /// Rows of its results.
    pub rows_sent: u64,
    /// Rows that it changed.
    pub rows_affected: u64,
    /// Bytes that came from its client.
    pub bytes_in: u64,
    /// Bytes of its reply.
    pub bytes_out: u64,
}

impl StatementView {
    /// The time from arrival to end.
    pub fn whole(&self) -> Duration {
        self.times.proxy + self.times.queue + self.times.taken
    }

    /// The number of its spans: one for the whole, one for the wait, and two for the backend's work.
    pub fn spans(&self) -> u64 {
        match self.backend {
            Some(_) => 4,
            None => 2,
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct SlowRing {
    latest: VecDeque<Arc<StatementView>>,
    count_max: usize,
}

impl SlowRing {
    /// Sets the most statements to keep.
    pub fn resize(&mut self, count_max: usize) {
        self.count_max = count_max;
        let surplus = self.latest.len().saturating_sub(count_max);
        self.latest.drain(..surplus);
        self.latest.shrink_to(count_max);
    }

    /// Adds a statement; the oldest one is dropped if there is no room.
    pub fn note(&mut self, statement: Arc<StatementView>) {
        self.latest.push_back(statement);
        let surplus = self.latest.len().saturating_sub(self.count_max);
        self.latest.drain(..surplus);
    }

    /// All statements.
    pub fn snapshot(&self) -> Vec<Arc<StatementView>> {
        self.latest.iter().map(Arc::clone).collect()
    }

    /// Takes everything out.
    pub fn take(&mut self) -> Vec<Arc<StatementView>> {
        std::mem::take(&mut self.latest).into()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use system::Entropy;

    use super::*;

    #[test]
    fn the_slow_log_keeps_the_latest_statements() {
        let keys = Entropy::seeded(7).hash_keys().unwrap();
        let attribution = Attribution::new(&keys, "'a'@'%'".into(), "a", b"");
        let attribution = Arc::new(attribution);
        let slow = |second| {
            Arc::new(StatementView {
                at: Duration::from_secs(second),
                session: 1,
                client: "c".into(),
                attribution: Arc::clone(&attribution),
                server: Server::Unknown,
                backend: None,
                digest: 1,
                digest_text: "SELECT ?".into(),
                text: None,
                times: StatementTimes {
                    proxy: Duration::ZERO,
                    queue: Duration::ZERO,
                    first_byte: Duration::ZERO,
                    taken: Duration::from_secs(2),
                },
                volume: StatementVolume {
                    rows_sent: 0,
                    rows_affected: 0,
                    bytes_in: 0,
                    bytes_out: 0,
                },
                error: None,
                parent: None,
            })
        };
        let seconds = |ring: &SlowRing| -> Vec<_> {
            let told = ring.snapshot().into_iter();
            told.map(|it| it.at.as_secs()).collect()
        };
        let mut ring = SlowRing::default();
        ring.note(slow(0));
        assert!(ring.snapshot().is_empty(), "none may stay");
        ring.resize(3);
        (1..=5).for_each(|second| ring.note(slow(second)));
        assert_eq!(seconds(&ring), [3, 4, 5]);
        ring.resize(1);
        assert_eq!(seconds(&ring), [5]);
        assert_eq!(ring.take().len(), 1);
        assert!(ring.snapshot().is_empty());
    }
}
