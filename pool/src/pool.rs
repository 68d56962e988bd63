//! The pool of one worker: finds the key's shelf, or the token's, and goes through its doors.

use std::hash::Hash;
use std::rc::Rc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use slab::Slab;

use crate::places::Shelf;
use crate::tokens::{Address, Desk, Kind, Lost};
use crate::{
    CloseReason, Closing, Counts, Figures, Holding, Lease, Limits, OpeningPermit, Pace, Ticket,
    Waiting,
};

/// All backend connections of one worker, by key.
///
/// A key `K` is what makes connections interchangeable: cluster, backend and account; cheap to hash
/// and to clone, and chosen by nobody else. `C` is a connection, which the pool owns while it lies idle. `W` wakes somebody
/// who waits; it is made when needed, and comes back exactly once, in a [`Wake`] or a
/// [`Refuse`](crate::Action::Refuse), unless its ticket was cancelled first.
///
/// `now` is always the time since the process started, and never runs backwards.
///
/// ```
/// use std::{rc::Rc, time::Duration};
/// use pilotfish_pool::*;
///
/// let now = Duration::from_secs(1);
/// let all_workers = Ceiling::new(20, || { /* wake every worker, to tick */ });
/// let mut pool: Pool<(u32, u32), &str, char> = Pool::new(1);
/// let (backend, account) = (1, 1);
/// pool.supply((backend, account), Supply {
///     limits: Limits::default(),
///     pace: Rc::new(Pace::new(50, 10, Duration::from_secs(10))),
///     holdings: vec![Holding::new(&all_workers)],
/// });
///
/// let mut check_out = |pool: &mut Pool<_, _, _>| {
///     let wish = Wish { distance: |_: &&str| 0, waiter: || 'w', patience: Duration::from_secs(5) };
///     pool.check_out(&(backend, account), wish, now)
/// };
/// let Verdict::Open(permit) = check_out(&mut pool) else { panic!("none is idle") };
/// let lease = pool.opened(permit, now); // having connected and logged in
/// let Next::Rest = pool.give_back(lease, "the connection", now) else { panic!("nobody waits") };
/// let Verdict::Take("the connection", lease) = check_out(&mut pool) else { panic!("it is idle") };
/// # drop(lease);
/// ```
#[derive(Debug)]
pub struct Pool<K, C, W> {
    pub(crate) shelves: Slab<Shelf<K, C, W>>,
    pub(crate) by_key: FxHashMap<K, usize>,
    pub(crate) lost: Rc<Lost>,
    pub(crate) ticked_at: Option<Duration>,
    waiters_ever: u64,
    chance: u64,
}

/// What a key's connections are under.
#[derive(Debug)]
pub struct Supply {
    /// The limits in this worker.
    pub limits: Limits,
    /// The backend's pace in this worker, shared by the keys of one backend.
    pub pace: Rc<Pace>,
    /// Parts of limits that span keys or workers; each made for this key.
    pub holdings: Vec<Holding>,
}

/// What a session wants of a check-out.
#[derive(Debug)]
pub struct Wish<D, F> {
    /// `FnMut(&C) -> u32`: how far a connection's state is from the session's; 0 if nothing must
    /// be restored.
    pub distance: D,
    /// `FnOnce() -> W`: makes the waiter; called only if it has to wait.
    pub waiter: F,
    /// How long it would wait; with zero it is refused instead.
    pub patience: Duration,
}

/// What a session is to do.
#[derive(Debug)]
#[must_use]
pub enum Verdict<C> {
    /// Use this idle connection. Should it turn out dead before anything was sent, forget the
    /// lease and check out again.
    Take(C, Lease),
    /// Open a connection; say how that went.
    Open(OpeningPermit),
    /// Wait until the waiter is woken or refused.
    Wait(Ticket),
    /// Give up.
    Refuse(Refusal),
}

/// Why a session gets no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// The key was never added, or removed.
    #[error("the backend or the account is not known here")]
    Unknown,
    /// The backend is down or drained; another may serve.
    #[error("the backend takes no new work")]
    Shut,
    /// As many wait as may.
    #[error("too many sessions wait for a connection")]
    Crowded,
    /// No connection became free in time.
    #[error("no connection became free in time")]
    TimedOut,
}

/// What becomes of a connection that was given back.
#[derive(Debug)]
#[must_use]
pub enum Next<C, W> {
    /// It goes straight on: hand it over.
    Wake(Wake<C, W>),
    /// It lies idle in the pool.
    Rest,
    /// It lies idle for a moment, and then goes to make room for somebody who waits elsewhere:
    /// [`next_tick`](Pool::next_tick) is to be asked again.
    Linger,
    /// Close it, then say so.
    Close(C, CloseReason, Closing),
}

/// A waiter's turn. If it is gone meanwhile, give back or [`waive`](Pool::waive) what it was granted.
#[derive(Debug)]
#[must_use = "somebody waits for this"]
pub struct Wake<C, W> {
    /// Whom to wake.
    pub waiter: W,
    /// With what.
    pub grant: Grant<C>,
}

/// What a waiter is woken with.
#[derive(Debug)]
#[must_use]
pub enum Grant<C> {
    /// A connection, lent to it.
    Connection(C, Lease),
    /// The right to open one.
    Permit(OpeningPermit),
}

impl<K: Clone + Eq + Hash, C, W> Pool<K, C, W> {
    /// An empty pool. `seed` spreads the connections' ages; give each worker another.
    pub fn new(seed: u64) -> Self {
        Pool {
            shelves: Slab::new(),
            by_key: FxHashMap::default(),
            lost: Rc::default(),
            ticked_at: None,
            waiters_ever: 0,
            chance: seed,
        }
    }

    /// Adds a key, or changes what its connections are under: those there keep the places that they
    /// have. Changes take effect with the next [`tick`](Self::tick).
    pub fn supply(&mut self, key: K, supply: Supply) {
        if let Some(index) = self.by_key.get(&key) {
            self.shelves[*index].resupply(supply);
            return;
        }
        let entry = self.shelves.vacant_entry();
        let desk = Desk {
            shelf: entry.key(),
            lost: Rc::clone(&self.lost),
        };
        self.by_key.insert(key.clone(), entry.key());
        entry.insert(Shelf::new(key, supply, desk));
    }

    /// A connection for a session: the idle one whose state is nearest, or the right to open one,
    /// or a place in the queue.
    pub fn check_out<D, F>(&mut self, key: &K, wish: Wish<D, F>, now: Duration) -> Verdict<C>
    where
        D: FnMut(&C) -> u32,
        F: FnOnce() -> W,
    {
        self.collect_lost();
        let Some(index) = self.by_key.get(key).copied() else {
            return Verdict::Refuse(Refusal::Unknown);
        };
        self.waiters_ever += 1;
        let sequence = self.waiters_ever;
        self.at(index, |shelf| shelf.check_out(wish, sequence, now))
    }

    /// The idle connection whose state is nearest, if there is one; whoever finds none may come again
    /// and [`check_out`](Self::check_out). Nothing is counted as a refusal.
    pub fn take_idle(&mut self, key: &K, distance: impl FnMut(&C) -> u32) -> Option<(C, Lease)> {
        self.collect_lost();
        let index = self.by_key.get(key).copied()?;
        self.at(index, |shelf| shelf.take_idle(distance))
    }

    /// The idle connection that is this one, however many lie idle.
    pub fn take_idle_that(&mut self, key: &K, is_it: impl FnMut(&C) -> bool) -> Option<(C, Lease)> {
        self.collect_lost();
        let index = self.by_key.get(key).copied()?;
        self.at(index, |shelf| shelf.take_idle_that(is_it))
    }

    /// An idle connection for a question of the pool's owner, to be given back or forgotten. That is no use of it:
    /// it goes back to its place among the idle ones.
    pub fn take_to_ask(&mut self, key: &K, may: impl FnMut(&C) -> bool) -> Option<(C, Lease)> {
        self.collect_lost();
        let index = self.by_key.get(key).copied()?;
        self.at(index, |shelf| shelf.take_to_ask(may))
    }

    /// The connection is open and lent to whoever opened it. One that was opened ahead of need is
    /// then given back.
    pub fn opened(&mut self, permit: OpeningPermit, now: Duration) -> Lease {
        self.collect_lost();
        let chance = self.throw();
        self.at_token(permit.redeem(&self.lost), |shelf, index| {
            shelf.opened(index, now, chance)
        })
    }

    /// It could not be opened. Waiters may try, as the pace allows.
    #[must_use = "those woken wait for what they are granted"]
    pub fn open_failed(&mut self, permit: OpeningPermit, now: Duration) -> Vec<Wake<C, W>> {
        self.collect_lost();
        self.at_token(permit.redeem(&self.lost), |shelf, index| {
            shelf.open_failed(index, now)
        })
    }

    /// It was not even tried: the session has gone. Waiters are served with its place.
    #[must_use = "those woken wait for what they are granted"]
    pub fn waive(&mut self, permit: OpeningPermit, now: Duration) -> Vec<Wake<C, W>> {
        self.collect_lost();
        self.at_token(permit.redeem(&self.lost), |shelf, index| {
            shelf.waive(index, now)
        })
    }

    /// The session keeps the connection between its commands, in a transaction for one: nobody who
    /// waits can hope for it. [`next_tick`](Self::next_tick) is to be asked again.
    pub fn hold(&mut self, lease: &Lease) {
        let Address { shelf, entry } = lease.address();
        self.shelves[shelf].hold(entry as usize);
    }

    /// The session has done with the connection, which is alive and fit for others.
    pub fn give_back(&mut self, lease: Lease, connection: C, now: Duration) -> Next<C, W> {
        self.collect_lost();
        self.at_token(lease.redeem(&self.lost), |shelf, index| {
            shelf.give_back(index, connection, now)
        })
    }

    /// The connection broke, or its session took it to its end. Waiters are served with its place.
    #[must_use = "those woken wait for what they are granted"]
    pub fn forget(&mut self, lease: Lease, reason: CloseReason, now: Duration) -> Vec<Wake<C, W>> {
        self.collect_lost();
        self.at_token(lease.redeem(&self.lost), |shelf, index| {
            shelf.forget(index, reason, now)
        })
    }

    /// The connection is closed. Waiters are served with its place.
    #[must_use = "those woken wait for what they are granted"]
    pub fn closed(&mut self, closing: Closing, now: Duration) -> Vec<Wake<C, W>> {
        self.collect_lost();
        self.at_token(closing.redeem(&self.lost), |shelf, index| {
            shelf.closed(index, now)
        })
    }

    /// Leaves the queue. Returns the waiter, unless its turn had come.
    pub fn cancel(&mut self, ticket: Ticket) -> Option<W> {
        self.collect_lost();
        let address = ticket.redeem(&self.lost);
        self.shelves.contains(address.shelf).then_some(())?;
        self.at(address.shelf, |shelf| shelf.cancel(address.entry))
    }

    /// Where a waiter stands; none if its turn has come.
    pub fn waiting(&self, ticket: &Ticket) -> Option<Waiting> {
        let Address { shelf, entry } = ticket.address();
        self.shelves.get(shelf)?.waiters.waiting(entry)
    }

    /// Who waits for connections of a key, the first to be served first.
    pub fn waiters(&self, key: &K) -> impl Iterator<Item = (Waiting, &W)> {
        let shelf = self.by_key.get(key).map(|index| &self.shelves[*index]);
        shelf.into_iter().flat_map(|shelf| shelf.waiters.iter())
    }

    /// How many of a key are where, and what has happened.
    pub fn figures(&self, key: &K, now: Duration) -> Option<Figures> {
        let index = self.by_key.get(key)?;
        Some(self.shelves[*index].figures(now))
    }

    /// The same of every key; a removed key is among them until its last connection has gone.
    pub fn all_figures(&self, now: Duration) -> impl Iterator<Item = (&K, Figures)> {
        let shelves = self.shelves.iter();
        shelves.map(move |(_, shelf)| (&shelf.key, shelf.figures(now)))
    }

    /// What has happened is counted from nothing, of every key.
    pub fn reset_counts(&mut self) {
        for (_, shelf) in &mut self.shelves {
            shelf.counts = Counts {
                lent_max: shelf.lent.len(),
                ..Counts::default()
            };
        }
    }

    /// Ends the state of what was held by tokens that were dropped. Who waits for their places is
    /// served by the next tick.
    pub(crate) fn collect_lost(&mut self) {
        for (kind, address) in self.lost.collect() {
            let Some(shelf) = self.shelves.get_mut(address.shelf) else {
                continue; // only a ticket outlives its shelf
            };
            match kind {
                Kind::Lease => shelf.lose_lent(address.index()),
                Kind::Opening => drop(shelf.opening.remove(address.index())),
                Kind::Closing => drop(shelf.closing.remove(address.index())),
                Kind::Ticket => drop(shelf.cancel(address.entry)),
            }
            self.after(address.shelf);
        }
    }

    /// Does something with a shelf and leaves it in order.
    pub(crate) fn at<R>(&mut self, index: usize, act: impl FnOnce(&mut Shelf<K, C, W>) -> R) -> R {
        let result = act(&mut self.shelves[index]);
        self.after(index);
        result
    }

    /// A token's shelf is there as long as the token: what the token stands for is in it.
    fn at_token<R>(
        &mut self,
        address: Address,
        act: impl FnOnce(&mut Shelf<K, C, W>, usize) -> R,
    ) -> R {
        self.at(address.shelf, |shelf| act(shelf, address.index()))
    }

    fn after(&mut self, index: usize) {
        let shelf = &mut self.shelves[index];
        shelf.settle();
        if shelf.is_over() {
            self.shelves.remove(index);
        }
    }

    /// SplitMix64 (Steele, Lea, Flood 2014).
    fn throw(&mut self) -> u64 {
        self.chance = self.chance.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.chance;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
