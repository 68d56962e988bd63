//! A limit that spans workers and keys. Connections take places from its counter, and return them.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::share::{ShareId, Shares};

#[cfg(test)]
mod tests;

/// The most connections that may exist, whichever worker opens them: for instance all of a backend,
/// or all of an account.
///
/// A connection takes a place when it is opened and returns it when it is closed; both are rare and
/// take a lock. Lending and giving back take none: they read one word, which is written only when a
/// key begins or ceases to wait for a place that is not free.
///
/// Workers that are denied a connection wait in the queue: fewest connections first, then by arrival. Other workers
/// see that and yield idle connections, and as many of those in use as makes holdings even. No worker yields to an
/// account that has all that it may have ([`bind`](Self::bind)).
pub struct ConnectionLimit {
    /// The fewest places of a holding in the queue; [`NOBODY`] if the queue is empty or a place is free.
    poorest: Line,
    state: Mutex<LimitState>,
    waker: Box<dyn Fn() + Send + Sync>,
}

/// Apart from the counter, so that taking a place does not disturb workers that only read this.
#[repr(align(128))]
struct Line(AtomicU32);

const NOBODY: u32 = u32::MAX;

struct LimitState {
    limit: u32,
    taken: u32,
    /// The holdings that wait for a place, by arrival.
    line: Vec<Wanting>,
    holdings: u64,
    shares: Shares,
}

struct Wanting {
    holding: u64,
    share: Option<ShareId>,
    held: u32,
}

impl ConnectionLimit {
    /// A limit of `limit` connections. `waker` is called from any thread when a holding has begun
    /// to wait for a place, and when a place returns while one waits: every worker should then call
    /// [`tick`](crate::Pool::tick) soon. It must not call a pool itself.
    pub fn new(limit: u32, waker: impl Fn() + Send + Sync + 'static) -> Arc<ConnectionLimit> {
        Arc::new(ConnectionLimit {
            poorest: Line(AtomicU32::new(NOBODY)),
            state: Mutex::new(LimitState {
                limit,
                taken: 0,
                line: Vec::new(),
                holdings: 0,
                shares: Shares::default(),
            }),
            waker: Box::new(waker),
        })
    }

    /// Changes the limit. Above a lowered limit no connection is opened, and connections are closed
    /// when they come back.
    pub fn set_limit(&self, limit: u32) {
        let mut state = self.state();
        state.limit = limit;
        self.publish(&state);
        drop(state);
        (self.waker)();
    }

    /// The limit.
    pub fn limit(&self) -> u32 {
        self.state().limit
    }

    /// Places taken.
    pub fn taken(&self) -> u32 {
        self.state().taken
    }

    /// Returns the number of holdings that wait in the queue.
    pub fn queued(&self) -> usize {
        self.state().line.len()
    }

    /// Bounds these accounts, and no others, to `bound` connections each. In the queue they wait until they have
    /// fewer.
    pub fn bind(&self, bounded: &[ShareId], bound: u32) {
        let mut state = self.state();
        let is_new = state.shares.bind(bounded, bound);
        if !is_new {
            return;
        }
        self.publish(&state);
        let somebody_waits = !state.line.is_empty();
        drop(state);
        if somebody_waits {
            (self.waker)();
        }
    }

    /// Whether a holding of another account waits in the queue, and would take a place.
    pub fn is_waited_for_by_others(&self, than: ShareId) -> bool {
        let state = self.state();
        let mut able = state.able();
        state.taken >= state.limit && able.any(|wanting| wanting.share != Some(than))
    }

    /// The places that an account has, and whether it is bounded.
    pub fn share(&self, share: ShareId) -> (u32, bool) {
        let state = self.state();
        (state.shares.taken(share), state.shares.is_bounded(share))
    }

    fn state(&self) -> MutexGuard<'_, LimitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, state: &LimitState) {
        let poorest = if state.taken > state.limit {
            0
        } else if state.taken < state.limit {
            NOBODY
        } else {
            state.able().map(|w| w.held).min().unwrap_or(NOBODY)
        };
        self.poorest.0.store(poorest, Ordering::Relaxed);
    }
}

impl LimitState {
    /// Whether a place is left for `holding` after those in the queue before it have theirs.
    fn has_place_for(&self, holding: &Holding, otherwise: Otherwise) -> bool {
        if self.shares.is_full(holding.share) {
            return false;
        }
        let held = holding.held.get();
        let own = self.position(holding).unwrap_or(self.line.len());
        let goes_before = |(place, w): &(usize, &Wanting)| {
            let is_able = !self.shares.is_full(w.share);
            is_able && (w.held < held || (w.held == held && *place < own))
        };
        let before = match otherwise {
            Otherwise::StandInLine => self.line.iter().enumerate().filter(goes_before).count(),
            Otherwise::GoWithout => self.able().count(),
        };
        before < self.limit.saturating_sub(self.taken) as usize
    }

    /// The holdings in the queue that may have a place.
    fn able(&self) -> impl Iterator<Item = &Wanting> {
        let line = self.line.iter();
        line.filter(|wanting| !self.shares.is_full(wanting.share))
    }

    fn position(&self, holding: &Holding) -> Option<usize> {
        self.line.iter().position(|w| w.holding == holding.number)
    }
}

impl fmt::Debug for ConnectionLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("ConnectionLimit")
            .field("limit", &state.limit)
            .field("taken", &state.taken)
            .field("in_line", &state.line.len())
            .finish()
    }
}

/// The part of one key, in one worker, of a [`ConnectionLimit`].
#[derive(Debug)]
pub struct Holding {
    connection_limit: Arc<ConnectionLimit>,
    share: Option<ShareId>,
    number: u64,
    held: Cell<u32>,
    stance: Cell<Stance>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stance {
    Aside,
    Queued,
}

/// The choice of a key that gets no connection slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Otherwise {
    /// It waits in the queue, because a session waits for the place.
    StandInLine,
    /// It goes without, and lets all holdings in the queue go first.
    GoWithout,
}

/// The connections that the queue claims from a holding, the weakest claim first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Claim {
    /// Nothing.
    Nothing,
    /// Connections that have been idle for longer than a moment.
    Idle,
    /// Also connections that come back after their time in use: a holding in the queue has none at all.
    AfterTurn,
    /// Also connections that come back from use, and idle ones at once: a holding in the queue has at least two fewer.
    AtOnce,
}

impl Holding {
    /// A part of `connection_limit`; it has no places yet.
    pub fn new(connection_limit: &Arc<ConnectionLimit>) -> Holding {
        Self::of_share(connection_limit, None)
    }

    /// The same for connections of an account, whose share is counted.
    pub fn of_account(connection_limit: &Arc<ConnectionLimit>, share: ShareId) -> Holding {
        Self::of_share(connection_limit, Some(share))
    }

    fn of_share(connection_limit: &Arc<ConnectionLimit>, share: Option<ShareId>) -> Holding {
        let mut state = connection_limit.state();
        state.holdings += 1;
        Holding {
            connection_limit: Arc::clone(connection_limit),
            share,
            number: state.holdings,
            held: Cell::new(0),
            stance: Cell::new(Stance::Aside),
        }
    }

    fn take(&self, otherwise: Otherwise) -> Taken {
        let mut state = self.connection_limit.state();
        if state.has_place_for(self, otherwise) {
            state.taken += 1;
            state.shares.take(self.share);
            self.held.set(self.held.get() + 1);
            self.step_aside(&mut state);
            self.connection_limit.publish(&state);
            return Taken::Place;
        }
        if otherwise == Otherwise::StandInLine && self.stance.get() == Stance::Aside {
            self.stance.set(Stance::Queued);
            state.line.push(Wanting {
                holding: self.number,
                share: self.share,
                held: self.held.get(),
            });
            self.connection_limit.publish(&state);
            drop(state);
            (self.connection_limit.waker)();
        }
        Taken::Nothing
    }

    fn give(&self) {
        let mut state = self.connection_limit.state();
        state.taken -= 1;
        state.shares.give(self.share);
        self.held.set(self.held.get() - 1);
        if let Some(own) = state.position(self) {
            state.line[own].held = self.held.get();
        }
        self.connection_limit.publish(&state);
        let somebody_waits = !state.line.is_empty();
        drop(state);
        if somebody_waits {
            (self.connection_limit.waker)();
        }
    }

    fn leave_queue(&self) {
        if self.stance.get() == Stance::Queued {
            let mut state = self.connection_limit.state();
            self.step_aside(&mut state);
            self.connection_limit.publish(&state);
            let others_wait = !state.line.is_empty();
            drop(state);
            if others_wait {
                (self.connection_limit.waker)();
            }
        }
    }

    fn step_aside(&self, state: &mut LimitState) {
        if let Some(own) = state.position(self) {
            state.line.remove(own);
        }
        self.stance.set(Stance::Aside);
    }

    fn claim(&self) -> Claim {
        match self.connection_limit.poorest.0.load(Ordering::Relaxed) {
            NOBODY => Claim::Nothing,
            poorest if self.held.get() > poorest.saturating_add(1) => Claim::AtOnce,
            0 => Claim::AfterTurn,
            _ => Claim::Idle,
        }
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.leave_queue();
    }
}

enum Taken {
    Place,
    Nothing,
}

/// All holdings of one key in one worker.
#[derive(Debug, Clone)]
pub(crate) struct Holdings(Rc<[Holding]>);

impl Holdings {
    pub(crate) fn new(holdings: Vec<Holding>) -> Holdings {
        Holdings(holdings.into())
    }

    pub(crate) fn are_under_the_limits_of(&self, other: &Holdings) -> bool {
        let pairs = self.0.iter().zip(other.0.iter());
        let mut pairs =
            pairs.map(|(own, other)| Arc::ptr_eq(&own.connection_limit, &other.connection_limit));
        self.0.len() == other.0.len() && pairs.all(|same| same)
    }

    /// A place under every connection limit, or under none. A key that one limit refuses does not wait for a place
    /// under another limit, because that place would be of no use yet.
    pub(crate) fn take(&self, otherwise: Otherwise) -> Option<Places> {
        for (index, holding) in self.0.iter().enumerate() {
            if let Taken::Nothing = holding.take(otherwise) {
                self.0[..index].iter().for_each(Holding::give);
                self.0[index + 1..].iter().for_each(Holding::leave_queue);
                return None;
            }
        }
        Some(Places(self.clone()))
    }

    pub(crate) fn leave_lines(&self) {
        self.0.iter().for_each(Holding::leave_queue);
    }

    pub(crate) fn are_queued(&self) -> bool {
        let mut stances = self.0.iter().map(|holding| holding.stance.get());
        stances.any(|stance| stance == Stance::Queued)
    }

    /// The most that the queue of any connection limit asks.
    pub(crate) fn claim(&self) -> Claim {
        let claims = self.0.iter().map(Holding::claim);
        claims.max().unwrap_or(Claim::Nothing)
    }

    /// The fewest places held under any of the connection limits, for checks.
    #[cfg(debug_assertions)]
    pub(crate) fn held_min(&self) -> Option<u32> {
        self.0.iter().map(|holding| holding.held.get()).min()
    }
}

/// A connection's place under each of its key's connection limits; dropping it gives them back.
#[derive(Debug)]
pub(crate) struct Places(Holdings);

impl Places {
    /// Returns the strongest claim of the queues on the holdings in which this connection counts.
    pub(crate) fn claim(&self) -> Claim {
        self.0.claim()
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        self.0.0.iter().for_each(Holding::give);
    }
}
