//! Slow statements, one by one: each worker keeps the latest.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use sql::Server;

use crate::attribution::Attribution;
use crate::parent::TraceParent;
use crate::table::Ran;

/// A statement that has ended, as it is told.
#[derive(Debug, Clone)]
pub struct StatementView {
    /// When, since the process began.
    pub at: Duration,
    /// The id of its session, as its client sees it.
    pub session: u32,
    /// Where its client is.
    pub client: Arc<str>,
    /// Whose it was.
    pub attribution: Arc<Attribution>,
    /// What kind of server its session's is, where that is known.
    pub server: Server,
    /// Where it ran; none: it reached no backend.
    pub backend: Option<Ran>,
    /// The hash of its normalised text.
    pub digest: u64,
    /// Its normalised text.
    pub digest_text: Arc<str>,
    /// As it was said, where somebody may see that.
    pub text: Option<Arc<str>>,
    /// How long it took.
    pub times: StatementTimes,
    /// How much was moved for it.
    pub volume: StatementVolume,
    /// The number and the message of the error that it ended with.
    pub error: Option<(u16, String)>,
    /// The span in which it was said, where traces are followed.
    pub parent: Option<TraceParent>,
}

/// How long a statement took.
#[derive(Debug, Clone, Copy)]
pub struct StatementTimes {
    /// In the proxy, before it left for its backend, and not in a queue.
    pub proxy: Duration,
    /// Waiting for a connection, or for leave by a rule.
    pub queue: Duration,
    /// At the backend, up to the first byte of its reply.
    pub first_byte: Duration,
    /// The same up to the last.
    pub taken: Duration,
}

/// How much was moved for a statement.
#[derive(Debug, Clone, Copy)]
pub struct StatementVolume {
    /// Rows of its results.
    pub rows_sent: u64,
    /// Rows that it has changed.
    pub rows_affected: u64,
    /// Bytes that came from its client.
    pub bytes_in: u64,
    /// Bytes of its reply.
    pub bytes_out: u64,
}

impl StatementView {
    /// From its arrival to its end.
    pub fn whole(&self) -> Duration {
        self.times.proxy + self.times.queue + self.times.taken
    }

    /// How many spans tell of it: one, one for its wait, and two for what its backend did.
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
    /// It may have so many from now on.
    pub fn resize(&mut self, count_max: usize) {
        self.count_max = count_max;
        let surplus = self.latest.len().saturating_sub(count_max);
        self.latest.drain(..surplus);
        self.latest.shrink_to(count_max);
    }

    /// One more; the oldest makes room.
    pub fn note(&mut self, statement: Arc<StatementView>) {
        self.latest.push_back(statement);
        let surplus = self.latest.len().saturating_sub(self.count_max);
        self.latest.drain(..surplus);
    }

    /// All of them.
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
    fn the_latest_stay() {
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
