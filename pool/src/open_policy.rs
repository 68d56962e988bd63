//! When waiters are worth one more connection.
//!
//! A session that finds no idle connection could open one, or wait until one comes back; it is not known
//! which is sooner. So it first waits for as long as an opening takes: at worst that is twice the time
//! of the better choice (the ski rental problem), and a burst of short statements is over by then and
//! opens nothing. No more connections are opened at once than are lent: a backend that has stopped for a
//! moment makes them double, and not as many as there are waiters.

use std::time::Duration;

use crate::places::{Purpose, SubPool};

#[cfg(test)]
mod tests;

/// An opening counts as this long at least, because timers are no finer.
const OPENING_MIN: Duration = Duration::from_millis(1);

/// The prospect of the waiters, unless one of them opens a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prospect {
    /// Nothing: no connection is about to come back.
    Nothing,
    /// A connection that comes back.
    Return,
    /// A connection that comes back or is being opened; no more may be opened at once.
    Opening,
}

impl<K, C, W> SubPool<K, C, W> {
    /// Whether a session that finds neither an idle connection nor a waiter opens a connection at once.
    pub(crate) fn opens_at_once(&self, patience: Duration) -> bool {
        let wait = self.growth_wait();
        self.has_room()
            && (patience < wait || wait.is_zero() || self.prospect() == Prospect::Nothing)
    }

    /// When the first waiter may open a connection; none while it should wait.
    pub(crate) fn grows_at(&self) -> Option<Duration> {
        let since = self.waiters.first_since()?;
        if !self.has_room() {
            return None;
        }
        let wait = self.growth_wait();
        match self.prospect() {
            _ if wait.is_zero() => Some(since),
            Prospect::Nothing => Some(since),
            Prospect::Return => Some(since.saturating_add(wait)),
            Prospect::Opening => None,
        }
    }

    /// Returns the time for which a waiter waits for a released connection before it opens one.
    fn growth_wait(&self) -> Duration {
        let opening = self.opening_time.estimate();
        opening.max(OPENING_MIN).min(self.limits.open_wait_max)
    }

    fn prospect(&self) -> Prospect {
        let (leased, opening) = (self.leased.len(), self.opening.len());
        let purposes = self.leased.iter().map(|(_, leased)| leased.purpose);
        let returning = purposes.filter(|it| *it != Purpose::Hold).count();
        match returning {
            0 if opening == 0 => Prospect::Nothing,
            // All lent connections are held: the first waiter may open one after its wait.
            0 if leased > 0 => Prospect::Return,
            _ if opening >= leased.max(1) => Prospect::Opening,
            _ => Prospect::Return,
        }
    }

    fn has_room(&self) -> bool {
        self.connections() < self.limits.connections_max as usize
    }
}
