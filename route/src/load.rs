//! How many sessions a backend carries, counted over all workers, and whether its server has a connection left.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::Moment;

/// After this time without another attempt, a server does not count as full any more.
const FULL_FOR: Duration = Duration::from_secs(60);

/// The sessions on one backend. Workers share it and touch it once per session, never per
/// statement; it outlives snapshots and reloads.
#[derive(Debug, Default)]
pub struct Load {
    sessions: AtomicU32,
    /// When the server last refused a connection with error 1040, in microseconds since the process started;
    /// zero: it has accepted a login since.
    refused: AtomicU64,
}

impl Load {
    /// Sessions at this instant.
    pub fn sessions(&self) -> u32 {
        self.sessions.load(Ordering::Relaxed)
    }

    /// The server has refused a connection with error 1040.
    pub fn note_server_full(&self, now: Moment) {
        let micros = u64::try_from(now.0.as_micros()).unwrap_or(u64::MAX);
        self.refused.store(micros.max(1), Ordering::Relaxed);
    }

    /// The server has accepted a login.
    pub fn note_server_accepts(&self) {
        // A store each time would invalidate the cache line of the other workers.
        if self.refused.load(Ordering::Relaxed) != 0 {
            self.refused.store(0, Ordering::Relaxed);
        }
    }

    /// Whether the server has recently refused the last connection attempt because it had too many connections.
    pub fn is_server_full(&self, now: Moment) -> bool {
        let refused = self.refused.load(Ordering::Relaxed);
        refused != 0 && now.since(Moment(Duration::from_micros(refused))) < FULL_FOR
    }

    /// Counts one more session; none if there are `max` already.
    pub fn begin(self: &Arc<Self>, max: Option<u32>) -> Option<SessionSlot> {
        let max = max.unwrap_or(u32::MAX);
        self.sessions
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sessions| {
                (sessions < max).then(|| sessions + 1)
            })
            .ok()
            .map(|_| SessionSlot(Arc::clone(self)))
    }
}

/// A session's slot on a backend; dropping it frees the slot.
#[derive(Debug)]
#[must_use = "the session is counted only while its slot lives"]
pub struct SessionSlot(Arc<Load>);

impl Drop for SessionSlot {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_slot_counts_while_it_lives() {
        let load = Arc::new(Load::default());
        let slot = load.begin(None).unwrap();
        assert_eq!(load.sessions(), 1);
        drop(slot);
        assert_eq!(load.sessions(), 0);
    }

    #[test]
    fn a_server_is_full_until_a_login_succeeds_or_a_while_without_attempts() {
        let load = Load::default();
        let at = |seconds| Moment(Duration::from_secs(seconds));
        assert!(!load.is_server_full(at(0)));
        load.note_server_full(at(0));
        assert!(load.is_server_full(at(1)));
        load.note_server_accepts();
        assert!(!load.is_server_full(at(1)));
        load.note_server_full(at(100));
        assert!(load.is_server_full(at(159)));
        assert!(!load.is_server_full(at(161)));
    }

    #[test]
    fn the_last_place_is_given_once_over_all_threads() {
        let load = Arc::new(Load::default());
        let given: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        (0..100)
                            .filter_map(|_| load.begin(Some(50)))
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            let slots: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
            slots.iter().map(Vec::len).sum()
        });
        assert_eq!(given, 50);
        assert_eq!(load.sessions(), 0);
    }

    #[test]
    fn a_limit_below_the_current_sessions_admits_no_session() {
        let load = Arc::new(Load::default());
        let _slots: Vec<_> = (0..3).map(|_| load.begin(None).unwrap()).collect();
        assert!(load.begin(Some(2)).is_none());
        assert!(load.begin(Some(4)).is_some());
    }
}
