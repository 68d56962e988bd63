//! How many sessions a backend carries, counted over all workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The sessions on one backend. Workers share it and touch it once per session, never per
/// statement; it outlives snapshots and reloads.
#[derive(Debug, Default)]
pub struct Load {
    sessions: AtomicU32,
}

impl Load {
    /// Sessions at this instant.
    pub fn sessions(&self) -> u32 {
        self.sessions.load(Ordering::Relaxed)
    }

    /// Counts one session more, or none when `max` are there already.
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

/// A session's place on a backend; dropping it gives the place back.
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
    fn a_limit_lowered_below_the_sessions_there_admits_nobody() {
        let load = Arc::new(Load::default());
        let _slots: Vec<_> = (0..3).map(|_| load.begin(None).unwrap()).collect();
        assert!(load.begin(Some(2)).is_none());
        assert!(load.begin(Some(4)).is_some());
    }
}
