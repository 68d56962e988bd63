//! The pool of one worker: finds the sub-pool of a key or a token, and changes it.

use std::hash::Hash;
use std::rc::Rc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use slab::Slab;

use crate::places::SubPool;
use crate::requests::{Next, Refusal, Supply, Verdict, Wake, Wish};
use crate::tokens::{Address, Lost, TokenIssuer, TokenKind};
use crate::{CloseReason, Closing, Counts, Figures, Lease, OpeningPermit, Ticket, Waiting};

/// All backend connections of one worker, by key.
///
/// A key `K` is what makes connections interchangeable: cluster, backend and account; cheap to hash and to clone, and
/// not chosen by clients. `C` is a connection, which the pool owns while it is idle. `W` wakes a waiter. It is made
/// when needed, and comes back exactly once, in a [`Wake`] or a [`Refuse`](crate::Action::Refuse), unless its ticket
/// was cancelled first.
///
/// `now` is always the time since the process started, and never runs backwards.
///
/// ```
/// use std::{rc::Rc, time::Duration};
/// use pilotfish_pool::*;
///
/// let now = Duration::from_secs(1);
/// let all_workers = ConnectionLimit::new(20, || { /* wake every worker, to tick */ });
/// let mut pool: Pool<(u32, u32), &str, char> = Pool::new(1);
/// let (backend, account) = (1, 1);
/// pool.supply((backend, account), Supply {
///     limits: Limits::default(),
///     rate_limit: Rc::new(RateLimit::new(50, 10, Duration::from_secs(10))),
///     holdings: vec![Holding::new(&all_workers)],
/// });
///
/// let mut check_out = |pool: &mut Pool<_, _, _>| {
///     let wish = Wish { distance: |_: &&str| 0, waiter: || 'w', patience: Duration::from_secs(5), waiting_elsewhere: 0 };
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
    pub(crate) sub_pools: Slab<SubPool<K, C, W>>,
    pub(crate) by_key: FxHashMap<K, usize>,
    pub(crate) lost: Rc<Lost>,
    pub(crate) ticked_at: Option<Duration>,
    waiters_ever: u64,
    chance: u64,
}

impl<K: Clone + Eq + Hash, C, W> Pool<K, C, W> {
    /// An empty pool. `seed` spreads the connections' ages; give each worker another.
    pub fn new(seed: u64) -> Self {
        Pool {
            sub_pools: Slab::new(),
            by_key: FxHashMap::default(),
            lost: Rc::default(),
            ticked_at: None,
            waiters_ever: 0,
            chance: seed,
        }
    }

    /// Adds a key, or changes the limits of its connections: existing connections keep their
    /// places. Changes take effect with the next [`tick`](Self::tick).
    pub fn supply(&mut self, key: K, supply: Supply) {
        if let Some(index) = self.by_key.get(&key) {
            self.sub_pools[*index].resupply(supply);
            return;
        }
        let entry = self.sub_pools.vacant_entry();
        let issuer = TokenIssuer {
            sub_pool: entry.key(),
            lost: Rc::clone(&self.lost),
        };
        self.by_key.insert(key.clone(), entry.key());
        entry.insert(SubPool::new(key, supply, issuer));
    }

    /// Returns a connection for a session: the idle one whose state is nearest, or the right to
    /// open one, or a place in the queue.
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
        self.at(index, |sub_pool| sub_pool.check_out(wish, sequence, now))
    }

    /// Returns the number of waiters of a key.
    pub fn waiting_for(&self, key: &K) -> usize {
        let index = self.by_key.get(key).copied();
        let sub_pool = index.and_then(|index| self.sub_pools.get(index));
        sub_pool.map_or(0, |sub_pool| sub_pool.waiters.len())
    }

    /// Takes the idle connection whose state is nearest, if there is one. Otherwise the caller may
    /// [`check_out`](Self::check_out) later. No refusal is counted.
    pub fn take_idle(&mut self, key: &K, distance: impl FnMut(&C) -> u32) -> Option<(C, Lease)> {
        self.collect_lost();
        let index = self.by_key.get(key).copied()?;
        self.at(index, |sub_pool| sub_pool.take_idle(distance))
    }

    /// Takes the idle connection that `is_it` picks, however many are idle.
    pub fn take_idle_that(&mut self, key: &K, is_it: impl FnMut(&C) -> bool) -> Option<(C, Lease)> {
        self.collect_lost();
        let index = self.by_key.get(key).copied()?;
        self.at(index, |sub_pool| sub_pool.take_idle_that(is_it))
    }

    /// Takes an idle connection for a query of the pool's owner, to be given back or forgotten. That does not
    /// count as use: the connection goes back to its place among the idle ones.
    pub fn take_to_ask(&mut self, key: &K, may: impl FnMut(&C) -> bool) -> Option<(C, Lease)> {
        self.collect_lost();
        let index = self.by_key.get(key).copied()?;
        self.at(index, |sub_pool| sub_pool.take_to_ask(may))
    }

    /// The connection is open, and lent to the caller. One that was opened ahead of need is then
    /// given back.
    pub fn opened(&mut self, permit: OpeningPermit, now: Duration) -> Lease {
        self.collect_lost();
        let chance = self.throw();
        self.at_token(permit.redeem(&self.lost), |sub_pool, index| {
            sub_pool.opened(index, now, chance)
        })
    }

    /// The connection could not be opened. Waiters may try, as the rate limit allows.
    #[must_use = "those woken wait for what they are granted"]
    pub fn open_failed(&mut self, permit: OpeningPermit, now: Duration) -> Vec<Wake<C, W>> {
        self.collect_lost();
        self.at_token(permit.redeem(&self.lost), |sub_pool, index| {
            sub_pool.open_failed(index, now)
        })
    }

    /// The opening was not tried, because the session has gone. Waiters are served with its place.
    #[must_use = "those woken wait for what they are granted"]
    pub fn waive(&mut self, permit: OpeningPermit, now: Duration) -> Vec<Wake<C, W>> {
        self.collect_lost();
        self.at_token(permit.redeem(&self.lost), |sub_pool, index| {
            sub_pool.waive(index, now)
        })
    }

    /// The session keeps the connection between its commands, for instance in a transaction:
    /// waiters cannot count on it. [`next_tick`](Self::next_tick) has to be asked again.
    pub fn hold(&mut self, lease: &Lease) {
        let Address { sub_pool, entry } = lease.address();
        self.sub_pools[sub_pool].hold(entry as usize);
    }

    /// The session no longer needs the connection, which is alive and fit for other sessions.
    pub fn give_back(&mut self, lease: Lease, connection: C, now: Duration) -> Next<C, W> {
        self.collect_lost();
        self.at_token(lease.redeem(&self.lost), |sub_pool, index| {
            sub_pool.give_back(index, connection, now)
        })
    }

    /// The connection broke, or its session used it to its end. Waiters are served with its place.
    #[must_use = "those woken wait for what they are granted"]
    pub fn forget(&mut self, lease: Lease, reason: CloseReason, now: Duration) -> Vec<Wake<C, W>> {
        self.collect_lost();
        self.at_token(lease.redeem(&self.lost), |sub_pool, index| {
            sub_pool.forget(index, reason, now)
        })
    }

    /// The connection is closed. Waiters are served with its place.
    #[must_use = "those woken wait for what they are granted"]
    pub fn closed(&mut self, closing: Closing, now: Duration) -> Vec<Wake<C, W>> {
        self.collect_lost();
        self.at_token(closing.redeem(&self.lost), |sub_pool, index| {
            sub_pool.closed(index, now)
        })
    }

    /// Leaves the queue. Returns the waiter, unless it was woken or refused already.
    pub fn cancel(&mut self, ticket: Ticket) -> Option<W> {
        self.collect_lost();
        let address = ticket.redeem(&self.lost);
        self.sub_pools.contains(address.sub_pool).then_some(())?;
        self.at(address.sub_pool, |sub_pool| sub_pool.cancel(address.entry))
    }

    /// A waiter's place in the queue; none if it was woken or refused.
    pub fn waiting(&self, ticket: &Ticket) -> Option<Waiting> {
        let Address { sub_pool, entry } = ticket.address();
        self.sub_pools.get(sub_pool)?.waiters.waiting(entry)
    }

    /// The waiters for connections of a key, in the order in which they are served.
    pub fn waiters(&self, key: &K) -> impl Iterator<Item = (Waiting, &W)> {
        let sub_pool = self.by_key.get(key).map(|index| &self.sub_pools[*index]);
        sub_pool
            .into_iter()
            .flat_map(|sub_pool| sub_pool.waiters.iter())
    }

    /// A key's connections by state, and its counts.
    pub fn figures(&self, key: &K, now: Duration) -> Option<Figures> {
        let index = self.by_key.get(key)?;
        Some(self.sub_pools[*index].figures(now))
    }

    /// The figures of every key; a removed key is among them until its last connection has gone.
    pub fn all_figures(&self, now: Duration) -> impl Iterator<Item = (&K, Figures)> {
        let sub_pools = self.sub_pools.iter();
        sub_pools.map(move |(_, sub_pool)| (&sub_pool.key, sub_pool.figures(now)))
    }

    /// Resets the counts of every key.
    pub fn reset_counts(&mut self) {
        for (_, sub_pool) in &mut self.sub_pools {
            sub_pool.counts = Counts {
                leased_max: sub_pool.leased.len(),
                ..Counts::default()
            };
        }
    }

    /// Ends the state of what dropped tokens stood for. The next tick serves waiters with their
    /// places.
    pub(crate) fn collect_lost(&mut self) {
        for (kind, address) in self.lost.collect() {
            let Some(sub_pool) = self.sub_pools.get_mut(address.sub_pool) else {
                continue; // only a ticket outlives its sub-pool
            };
            match kind {
                TokenKind::Lease => sub_pool.lose_leased(address.index()),
                TokenKind::Opening => drop(sub_pool.opening.remove(address.index())),
                TokenKind::Closing => drop(sub_pool.closing.remove(address.index())),
                TokenKind::Ticket => drop(sub_pool.cancel(address.entry)),
            }
            self.after(address.sub_pool);
        }
    }

    /// Changes a sub-pool with `act`, and leaves it in order.
    pub(crate) fn at<R>(
        &mut self,
        index: usize,
        act: impl FnOnce(&mut SubPool<K, C, W>) -> R,
    ) -> R {
        let result = act(&mut self.sub_pools[index]);
        self.after(index);
        result
    }

    /// A token's sub-pool exists as long as the token, because it holds what the token stands for.
    fn at_token<R>(
        &mut self,
        address: Address,
        act: impl FnOnce(&mut SubPool<K, C, W>, usize) -> R,
    ) -> R {
        self.at(address.sub_pool, |sub_pool| act(sub_pool, address.index()))
    }

    fn after(&mut self, index: usize) {
        let sub_pool = &mut self.sub_pools[index];
        sub_pool.settle();
        if sub_pool.is_over() {
            self.sub_pools.remove(index);
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
