//! One key's connections and waiters: four places, one queue, and the transitions between them.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use slab::Slab;

use crate::connection_limit::{Claim, Holdings, Otherwise, Places};
use crate::opening_time::OpeningTime;
use crate::requests::{Grant, Next, Refusal, Supply, Verdict, Wake, Wish};
use crate::tokens::{Closing, Lease, OpeningPermit, TokenIssuer};
use crate::waiters::Waiters;
use crate::{CloseReason, Counts, Figures, Limits, RateLimit};

#[cfg(test)]
mod tests;

/// A connection is used for so long before its key yields it to a key that has none: long enough
/// for the opening to be worth it.
pub(crate) const TURN: Duration = Duration::from_millis(250);

/// A connection that has been idle for less than this is not yielded yet: its session is likely to come back.
pub(crate) const LINGER: Duration = Duration::from_millis(20);

/// All connections and waiters of one key in one worker.
#[derive(Debug)]
pub(crate) struct SubPool<K, C, W> {
    pub key: K,
    pub limits: Limits,
    pub rate_limit: Rc<RateLimit>,
    pub holdings: Holdings,
    pub gate: Gate,
    /// Ascending by last use: the most recently used at the back. Empty while a session waits.
    pub idle: VecDeque<Idle<C>>,
    pub leased: Slab<Leased>,
    pub opening: Slab<Opening>,
    pub closing: Slab<Places>,
    pub waiters: Waiters<W>,
    pub warming: Warming,
    pub opening_time: OpeningTime,
    pub counts: Counts,
    pub issuer: TokenIssuer,
}

/// Whether the key serves sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    /// The key serves sessions.
    Open,
    /// The backend is down or drained: the key serves no sessions, and connections that come back are closed.
    Shut,
    /// As shut, and the sub-pool ends with its last connection.
    Removed,
}

#[derive(Debug)]
pub(crate) struct Idle<C> {
    pub connection: C,
    pub record: ConnectionRecord,
}

#[derive(Debug)]
pub(crate) struct Leased {
    pub record: ConnectionRecord,
    pub purpose: Purpose,
}

#[derive(Debug)]
pub(crate) struct Opening {
    pub holdings: Places,
    pub purpose: Purpose,
    pub started_at: Duration,
}

/// The pool's record of a connection in any state.
#[derive(Debug)]
pub(crate) struct ConnectionRecord {
    pub holdings: Places,
    pub opened_at: Duration,
    pub expires_at: Option<Duration>,
    /// When a session last used it.
    pub used_at: Duration,
    /// When it was last known to be alive.
    pub last_reply_at: Duration,
}

/// Why a connection is leased, or being opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A session uses it for a command.
    Session,
    /// A session holds it between commands. It is not known when it comes back.
    Hold,
    /// It is pinged.
    Ping,
    /// It is opened ahead of need.
    Warmth,
}

/// When connections may be opened ahead of need again, after that has failed.
#[derive(Debug, Default)]
pub(crate) struct Warming {
    pub not_before: Duration,
    failures: u32,
}

impl<K, C, W> SubPool<K, C, W> {
    pub(crate) fn new(key: K, supply: Supply, issuer: TokenIssuer) -> Self {
        SubPool {
            key,
            limits: supply.limits,
            rate_limit: supply.rate_limit,
            holdings: Holdings::new(supply.holdings),
            gate: Gate::Open,
            idle: VecDeque::new(),
            leased: Slab::new(),
            opening: Slab::new(),
            closing: Slab::new(),
            waiters: Waiters::new(),
            warming: Warming::default(),
            opening_time: OpeningTime::default(),
            counts: Counts::default(),
            issuer,
        }
    }

    // The transitions: each takes a connection, or a place for one, from one state to another.

    pub(crate) fn check_out<D, F>(
        &mut self,
        mut wish: Wish<D, F>,
        sequence: u64,
        now: Duration,
    ) -> Verdict<C>
    where
        D: FnMut(&C) -> u32,
        F: FnOnce() -> W,
    {
        if self.gate != Gate::Open {
            return self.refuse(Refusal::Shut);
        }
        if let Some((connection, lease)) = self.take_idle(&mut wish.distance) {
            return Verdict::Take(connection, lease);
        }
        if self.waiters.is_empty()
            && self.opens_at_once(wish.patience)
            && let Some(places) = self.reserve(Otherwise::StandInLine, now)
        {
            return Verdict::Open(self.begin_opening(places, Purpose::Session, now));
        }
        if self.waiters.len() + wish.waiting_elsewhere >= self.limits.waiters_max {
            return self.refuse(Refusal::Crowded);
        }
        if wish.patience.is_zero() {
            return self.refuse(Refusal::TimedOut);
        }
        self.counts.waits += 1;
        self.waiters
            .push(sequence, (wish.waiter)(), now, wish.patience);
        Verdict::Wait(self.issuer.ticket(sequence))
    }

    fn refuse(&mut self, refusal: Refusal) -> Verdict<C> {
        self.counts.refused += 1;
        Verdict::Refuse(refusal)
    }

    /// Idle → Leased: the connection at the least distance.
    pub(crate) fn take_idle(&mut self, mut distance: impl FnMut(&C) -> u32) -> Option<(C, Lease)> {
        let (index, distance) = self.nearest(&mut distance)?;
        let Idle { connection, record } = self.idle.remove(index)?;
        self.counts.reused += 1;
        self.counts.exact += u64::from(distance == 0);
        Some((connection, self.lend(record, Purpose::Session)))
    }

    /// Idle → Leased: the connection that `is_it` picks.
    pub(crate) fn take_idle_that(
        &mut self,
        mut is_it: impl FnMut(&C) -> bool,
    ) -> Option<(C, Lease)> {
        let mut idle = self.idle.iter();
        let index = idle.rposition(|idle| is_it(&idle.connection))?;
        let Idle { connection, record } = self.idle.remove(index)?;
        self.counts.reused += 1;
        Some((connection, self.lend(record, Purpose::Session)))
    }

    /// Idle → Leased: the connection unused for longest that `may` allows. It keeps its place in the order of use.
    pub(crate) fn take_to_ask(&mut self, mut may: impl FnMut(&C) -> bool) -> Option<(C, Lease)> {
        let mut idle = self.idle.iter();
        let index = idle.position(|idle| may(&idle.connection))?;
        let Idle { connection, record } = self.idle.remove(index)?;
        Some((connection, self.lend(record, Purpose::Ping)))
    }

    /// Returns the idle connection at the least distance, the most recently used among equals. The
    /// search ends at the first one with distance 0.
    fn nearest(&self, distance: &mut impl FnMut(&C) -> u32) -> Option<(usize, u32)> {
        let mut nearest: Option<(usize, u32)> = None;
        let recent = self.idle.iter().enumerate().rev();
        for (index, idle) in recent.take(self.limits.compared_max.max(1)) {
            let own = distance(&idle.connection);
            if nearest.is_none_or(|(_, best)| own < best) {
                nearest = Some((index, own));
            }
            if own == 0 {
                break;
            }
        }
        nearest
    }

    pub(crate) fn lend(&mut self, record: ConnectionRecord, purpose: Purpose) -> Lease {
        let index = self.leased.insert(Leased { record, purpose });
        self.counts.leased_max = self.counts.leased_max.max(self.leased.len());
        self.issuer.lease(index)
    }

    /// Leased → Leased: the session keeps the connection between commands.
    pub(crate) fn hold(&mut self, index: usize) {
        self.leased[index].purpose = Purpose::Hold;
    }

    pub(crate) fn begin_opening(
        &mut self,
        places: Places,
        purpose: Purpose,
        now: Duration,
    ) -> OpeningPermit {
        let opening = Opening {
            holdings: places,
            purpose,
            started_at: now,
        };
        self.issuer.permit(self.opening.insert(opening))
    }

    pub(crate) fn begin_closing(
        &mut self,
        record: ConnectionRecord,
        reason: CloseReason,
    ) -> Closing {
        self.counts.closed.count(reason);
        self.issuer.closing(self.closing.insert(record.holdings))
    }

    /// Opening → Leased.
    pub(crate) fn opened(&mut self, index: usize, now: Duration, chance: u64) -> Lease {
        let Opening {
            holdings: places,
            purpose,
            started_at,
        } = self.opening.remove(index);
        self.counts.opened += 1;
        self.opening_time.learn(now.saturating_sub(started_at));
        self.warming = Warming::default();
        let record = ConnectionRecord {
            holdings: places,
            opened_at: now,
            expires_at: self.limits.expiry(now, chance),
            used_at: now,
            last_reply_at: now,
        };
        self.lend(record, purpose)
    }

    /// Opening → nothing. The waiters are served.
    pub(crate) fn open_failed(&mut self, index: usize, now: Duration) -> Vec<Wake<C, W>> {
        let Opening {
            holdings: places,
            purpose,
            ..
        } = self.opening.remove(index);
        drop(places);
        self.counts.open_failures += 1;
        if purpose == Purpose::Warmth {
            self.warming.has_failed(now);
        }
        self.serve(now)
    }

    /// Opening → nothing. The opening was not tried.
    pub(crate) fn waive(&mut self, index: usize, now: Duration) -> Vec<Wake<C, W>> {
        drop(self.opening.remove(index));
        self.rate_limit.refund();
        self.serve(now)
    }

    /// Leased → Leased, Idle or Closing.
    pub(crate) fn give_back(&mut self, index: usize, connection: C, now: Duration) -> Next<C, W> {
        let Leased {
            mut record,
            purpose,
        } = self.leased.remove(index);
        record.last_reply_at = now;
        if purpose.is_a_sessions() {
            record.used_at = now;
        }
        if let Some(reason) = self.cannot_stay(&record, now) {
            let closing = self.begin_closing(record, reason);
            return Next::Close(connection, reason, closing);
        }
        if let Some(waiter) = self.waiters.pop() {
            self.counts.reused += 1;
            let lease = self.lend(record, Purpose::Session);
            let grant = Grant::Connection(connection, lease);
            return Next::Wake(Wake { waiter, grant });
        }
        if self.idle.len() >= self.limits.idle_max as usize {
            let closing = self.begin_closing(record, CloseReason::TooMany);
            return Next::Close(connection, CloseReason::TooMany, closing);
        }
        let claim = record.holdings.claim();
        self.rest(connection, record);
        match claim {
            Claim::Nothing => Next::Rest,
            Claim::Idle | Claim::AfterTurn | Claim::AtOnce => Next::Linger,
        }
    }

    /// Returns why a connection that comes back is neither lent again nor kept.
    fn cannot_stay(&self, record: &ConnectionRecord, now: Duration) -> Option<CloseReason> {
        if self.gate != Gate::Open {
            return Some(CloseReason::Shut);
        }
        if record.is_too_old(now) {
            return Some(CloseReason::TooOld);
        }
        if self.kept() >= self.limits.connections_max as usize {
            return Some(CloseReason::TooMany);
        }
        let yields = match record.holdings.claim() {
            Claim::AtOnce => true,
            Claim::AfterTurn => record.opened_at.saturating_add(TURN) <= now,
            Claim::Idle | Claim::Nothing => false,
        };
        // One at a time: the waiter for the place has not seen the last one yet.
        (yields && self.closing.is_empty()).then_some(CloseReason::Yielded)
    }

    /// Puts a connection into the idle list by its last use: a pinged connection goes back to its place.
    fn rest(&mut self, connection: C, record: ConnectionRecord) {
        let place = self
            .idle
            .partition_point(|other| other.record.used_at <= record.used_at);
        self.idle.insert(place, Idle { connection, record });
    }

    /// Leased → nothing. The waiters are served.
    pub(crate) fn forget(
        &mut self,
        index: usize,
        reason: CloseReason,
        now: Duration,
    ) -> Vec<Wake<C, W>> {
        drop(self.leased.remove(index));
        self.counts.closed.count(reason);
        self.serve(now)
    }

    /// Closing → nothing. The waiters are served.
    pub(crate) fn closed(&mut self, index: usize, now: Duration) -> Vec<Wake<C, W>> {
        drop(self.closing.remove(index));
        self.serve(now)
    }

    /// Lets waiters open connections when their time for that has come, until none may be opened now.
    /// Then the key waits in the queue of the limit that denies the next connection.
    pub(crate) fn serve(&mut self, now: Duration) -> Vec<Wake<C, W>> {
        let mut wakes = Vec::new();
        loop {
            if self.grows_at().is_none_or(|at| at > now) {
                self.leave_lines();
                break;
            }
            let Some(places) = self.reserve(Otherwise::StandInLine, now) else {
                break;
            };
            let grant = Grant::Permit(self.begin_opening(places, Purpose::Session, now));
            let waiter = self.waiters.pop().expect("somebody waits, as seen above");
            wakes.push(Wake { waiter, grant });
        }
        wakes
    }

    /// Returns a place for one more connection, if every limit and the rate limit allow it now. A key
    /// waits in one queue only: that of the limit that denies the connection.
    pub(crate) fn reserve(&mut self, otherwise: Otherwise, now: Duration) -> Option<Places> {
        let sub_pool = self.issuer.sub_pool;
        if self.gate != Gate::Open || self.connections() >= self.limits.connections_max as usize {
            self.leave_lines();
            return None;
        }
        if !self.rate_limit.is_ready(sub_pool, now) {
            self.holdings.leave_lines();
            if otherwise == Otherwise::StandInLine {
                self.rate_limit.join_queue(sub_pool);
            }
            return None;
        }
        self.rate_limit.leave_queue(sub_pool);
        let places = self.holdings.take(otherwise)?;
        self.rate_limit.spend();
        Some(places)
    }

    /// Whether the key waits in the queue of a limit.
    pub(crate) fn is_queued(&self) -> bool {
        self.rate_limit.is_queued(self.issuer.sub_pool) || self.holdings.are_queued()
    }

    fn leave_lines(&self) {
        self.rate_limit.leave_queue(self.issuer.sub_pool);
        self.holdings.leave_lines();
    }

    /// After every change: a key without waiters leaves the queues, and the invariants are checked.
    pub(crate) fn settle(&mut self) {
        if self.waiters.is_empty() {
            self.leave_lines();
        }
        #[cfg(debug_assertions)]
        self.check();
    }

    #[cfg(debug_assertions)]
    fn check(&self) {
        assert!(
            self.idle.is_empty() || self.waiters.is_empty(),
            "nobody waits while a connection lies idle"
        );
        assert!(
            self.gate == Gate::Open || (self.idle.is_empty() && self.waiters.is_empty()),
            "a shut key keeps nothing idle and nobody waiting"
        );
        assert!(
            self.idle
                .iter()
                .is_sorted_by_key(|idle| idle.record.used_at),
            "idle connections lie in the order of their use"
        );
        assert!(
            self.holdings
                .held_min()
                .is_none_or(|held| held as usize <= self.connections()),
            "no place is held without a connection"
        );
    }

    // What can be seen.

    /// The number of connections in any state.
    pub(crate) fn connections(&self) -> usize {
        self.kept() + self.closing.len()
    }

    /// Connections that are not being closed.
    pub(crate) fn kept(&self) -> usize {
        self.idle.len() + self.leased.len() + self.opening.len()
    }

    /// Whether nothing is left of a removed key.
    pub(crate) fn is_over(&self) -> bool {
        self.gate == Gate::Removed && self.connections() == 0
    }

    pub(crate) fn figures(&self, now: Duration) -> Figures {
        Figures {
            idle: self.idle.len(),
            leased: self.leased.len(),
            opening: self.opening.len(),
            closing: self.closing.len(),
            waiting: self.waiters.len(),
            oldest_wait: self.waiters.oldest_wait(now),
            counts: self.counts.clone(),
        }
    }
}

impl Purpose {
    /// Whether a session has the connection, or will have it.
    pub(crate) fn is_a_sessions(self) -> bool {
        matches!(self, Self::Session | Self::Hold)
    }
}

impl ConnectionRecord {
    pub(crate) fn is_too_old(&self, now: Duration) -> bool {
        self.expires_at.is_some_and(|expiry| expiry <= now)
    }
}

impl Warming {
    /// 1 s, 2 s, 4 s … 32 s, so that an account whose login is refused is not tried without end.
    fn has_failed(&mut self, now: Duration) {
        let pause = Duration::from_secs(1 << self.failures.min(5));
        self.failures += 1;
        self.not_before = now.saturating_add(pause);
    }
}
