//! When those who wait are worth one connection more.
//!
//! Who finds none idle could open one, or wait until one comes back; nobody knows which is sooner. So it
//! first waits for as long as an opening takes: at worst that is twice the time of the better choice
//! (the ski rental problem), and a burst of short statements is over by then and opens nothing.
//! Openings at once are no more than connections lent: a backend that has stopped for a moment makes
//! them double, and not as many as there are waiters.

use std::time::Duration;

use crate::places::{Purpose, SubPool};

#[cfg(test)]
mod tests;

/// An opening is taken to last this long at least: timers are no finer.
const OPENING_MIN: Duration = Duration::from_millis(1);

/// What those who wait may hope for, unless one of them opens a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prospect {
    /// Nothing: none is about to come back.
    Nothing,
    /// One that comes back.
    Return,
    /// One that comes back or is being opened, and as many are as may be at once.
    Opening,
}

impl<K, C, W> SubPool<K, C, W> {
    /// Whether somebody who finds none idle, where nobody waits, is to open a connection at once.
    pub(crate) fn opens_at_once(&self, patience: Duration) -> bool {
        let wait = self.growth_wait();
        self.has_room()
            && (patience < wait || wait.is_zero() || self.prospect() == Prospect::Nothing)
    }

    /// When the first of those who wait may open a connection; none while it had better wait.
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

    /// How long somebody waits for one to come back before it opens one.
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
            // What is lent stays where it is: whoever has waited may open one.
            0 if leased > 0 => Prospect::Return,
            _ if opening >= leased.max(1) => Prospect::Opening,
            _ => Prospect::Return,
        }
    }

    fn has_room(&self) -> bool {
        self.connections() < self.limits.connections_max as usize
    }
}
