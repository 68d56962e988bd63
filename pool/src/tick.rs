//! Actions that are due without a request: grant, refuse, open ahead, ping, close.

use std::hash::Hash;
use std::time::Duration;

use crate::connection_limit::{Claim, Otherwise};
use crate::places::{Gate, Idle, LINGER, Purpose, SubPool};
use crate::{CloseReason, Closing, Lease, OpeningPermit, Pool, Refusal, Wake};

#[cfg(test)]
mod tests;

/// How often ages and idle times are checked; also tokens that were dropped while a session waits.
const UPKEEP: Duration = Duration::from_secs(1);

/// One thing to do.
#[derive(Debug)]
#[must_use]
pub enum Action<K, C, W> {
    /// Wake a waiter.
    Wake(Wake<C, W>),
    /// Tell a waiter that it gets no connection here.
    Refuse(W, Refusal),
    /// Open a connection ahead of need, then give it back.
    Open(K, OpeningPermit),
    /// Ping this connection, then give it back or forget it.
    Ping(C, Lease),
    /// Close the connection, then report that.
    Close(C, CloseReason, Closing),
}

impl<K: Clone + Eq + Hash, C, W> Pool<K, C, W> {
    /// Returns the actions that are due `now`.
    #[must_use = "what is in the actions is lost if they are not done"]
    pub fn tick(&mut self, now: Duration) -> Vec<Action<K, C, W>> {
        self.collect_lost();
        self.ticked_at = Some(now);
        let mut actions = Vec::new();
        // Each step for all keys before the next: the waiters must be known before other keys yield
        // to them, and nothing is opened ahead of need in a place that a waiter needs.
        for turn in [
            SubPool::expire,
            SubPool::wake,
            SubPool::keep_up,
            SubPool::warm,
        ] {
            for index in self.indices() {
                self.at(index, |sub_pool| turn(sub_pool, now, &mut actions));
            }
        }
        actions
    }

    /// When [`tick`](Self::tick) should next be called, if nothing happens before; in the past if
    /// it is overdue. Ask again after every call, except a [`give_back`](Self::give_back) that does
    /// not return [`Linger`](crate::Next::Linger), and a check-out that takes an idle connection.
    pub fn next_tick(&self, now: Duration) -> Option<Duration> {
        let upkeep = self.upkeep(now);
        let sub_pools = self.sub_pools.iter();
        sub_pools
            .filter_map(|(_, sub_pool)| sub_pool.next_tick(upkeep, now))
            .min()
    }

    /// The same for one key alone, if it is known.
    pub fn next_tick_of(&self, key: &K, now: Duration) -> Option<Duration> {
        let sub_pool = &self.sub_pools[*self.by_key.get(key)?];
        sub_pool.next_tick(self.upkeep(now), now)
    }

    fn upkeep(&self, now: Duration) -> Duration {
        self.ticked_at.map_or(now, |at| at.saturating_add(UPKEEP))
    }

    pub(crate) fn indices(&self) -> Vec<usize> {
        self.sub_pools.iter().map(|(index, _)| index).collect()
    }
}

impl<K: Clone, C, W> SubPool<K, C, W> {
    fn expire(&mut self, now: Duration, actions: &mut Vec<Action<K, C, W>>) {
        for waiter in self.waiters.expired(now) {
            self.counts.timeouts += 1;
            actions.push(Action::Refuse(waiter, Refusal::TimedOut));
        }
    }

    fn wake(&mut self, now: Duration, actions: &mut Vec<Action<K, C, W>>) {
        actions.extend(self.serve(now).into_iter().map(Action::Wake));
    }

    fn keep_up(&mut self, now: Duration, actions: &mut Vec<Action<K, C, W>>) {
        self.close_idle(actions, |sub_pool, place| sub_pool.why_close(place, now));
        self.ping_idle(now, actions);
    }

    /// Closes the idle connections for which there is a reason, the least recently used first.
    pub(crate) fn close_idle(
        &mut self,
        actions: &mut Vec<Action<K, C, W>>,
        mut reason: impl FnMut(&Self, usize) -> Option<CloseReason>,
    ) {
        let mut place = 0;
        while place < self.idle.len() {
            let Some(reason) = reason(self, place) else {
                place += 1;
                continue;
            };
            if let Some(Idle { connection, record }) = self.idle.remove(place) {
                let closing = self.begin_closing(record, reason);
                actions.push(Action::Close(connection, reason, closing));
            }
        }
    }

    fn why_close(&self, place: usize, now: Duration) -> Option<CloseReason> {
        let record = &self.idle[place].record;
        if record.is_too_old(now) {
            return Some(CloseReason::TooOld);
        }
        if self.idle.len() > self.limits.idle_max as usize
            || self.kept() > self.limits.connections_max as usize
        {
            return Some(CloseReason::TooMany);
        }
        let is_spare = self.idle.len() > self.limits.idle_min as usize;
        let expiry = self.limits.idle_time_max;
        if is_spare && expiry.is_some_and(|most| record.used_at.saturating_add(most) <= now) {
            return Some(CloseReason::IdleTooLong);
        }
        let yields = self.yields_idle_at(place).is_some_and(|at| at <= now);
        yields.then_some(CloseReason::Yielded)
    }

    /// When an idle connection is yielded to the waiters for its place. One at a time: they have
    /// not seen the last place yet.
    fn yields_idle_at(&self, place: usize) -> Option<Duration> {
        let record = &self.idle.get(place)?.record;
        if !self.closing.is_empty() {
            return None;
        }
        match record.holdings.claim() {
            Claim::Nothing => None,
            Claim::AtOnce => Some(Duration::ZERO),
            Claim::Idle | Claim::AfterTurn => Some(record.used_at.saturating_add(LINGER)),
        }
    }

    /// Takes out connections without a reply for too long, at most half of the idle ones at a time,
    /// so that a check-out meanwhile finds one.
    fn ping_idle(&mut self, now: Duration, actions: &mut Vec<Action<K, C, W>>) {
        let Some(interval) = self.limits.ping_interval else {
            return;
        };
        let mut left = self.idle.len().div_ceil(2);
        let mut place = 0;
        while place < self.idle.len() && left > 0 {
            if self.idle[place]
                .record
                .last_reply_at
                .saturating_add(interval)
                > now
            {
                place += 1;
            } else if let Some(Idle { connection, record }) = self.idle.remove(place) {
                left -= 1;
                self.counts.pings += 1;
                actions.push(Action::Ping(connection, self.lend(record, Purpose::Ping)));
            }
        }
    }

    /// Opens connections ahead of need, in places for which no key waits.
    fn warm(&mut self, now: Duration, actions: &mut Vec<Action<K, C, W>>) {
        while self.is_cold() && self.warming.not_before <= now {
            let Some(places) = self.reserve(Otherwise::GoWithout, now) else {
                if self.rate_limit.is_ready(self.issuer.sub_pool, now) {
                    self.warming.not_before = now.saturating_add(UPKEEP);
                }
                return;
            };
            let permit = self.begin_opening(places, Purpose::Warmth, now);
            actions.push(Action::Open(self.key.clone(), permit));
        }
    }

    /// Whether fewer connections are ready, or about to be, than should be. Those being pinged are about to be.
    fn is_cold(&self) -> bool {
        let wanted = self.limits.idle_min.min(self.limits.idle_max) as usize;
        if self.gate != Gate::Open || !self.waiters.is_empty() || self.idle.len() >= wanted {
            return false;
        }
        let leased = self.leased.iter().map(|(_, leased)| leased.purpose);
        let opening = self.opening.iter().map(|(_, opening)| opening.purpose);
        let on_their_way = leased.chain(opening).filter(|p| !p.is_a_sessions());
        self.idle.len() + on_their_way.count() < wanted
            && self.connections() < self.limits.connections_max as usize
    }

    fn next_tick(&self, upkeep: Duration, now: Duration) -> Option<Duration> {
        // A lent connection will be idle, and may be lost meanwhile; the caller does not ask again then.
        let is_kept_up = self.connections() > 0 || !self.waiters.is_empty();
        let rate_limit = || self.rate_limit.ready_at(self.issuer.sub_pool, now);
        [
            is_kept_up.then_some(upkeep),
            self.waiters.first_deadline(),
            // In a queue, the limit's waker or the rate limit calls the key.
            self.grows_at().filter(|_| !self.is_queued()),
            self.rate_limit
                .is_queued(self.issuer.sub_pool)
                .then(rate_limit),
            self.is_cold()
                .then(|| rate_limit().max(self.warming.not_before)),
            self.yields_idle_at(0),
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
