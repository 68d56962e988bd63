//! A backend goes down, is drained or removed, and comes back.

use std::hash::Hash;
use std::rc::Rc;
use std::time::Duration;

use crate::Supply;
use crate::connection_limit::Holdings;
use crate::places::{Gate, SubPool};
use crate::{Action, CloseReason, Pool, Refusal};

#[cfg(test)]
mod tests;

impl<K: Clone + Eq + Hash, C, W> Pool<K, C, W> {
    /// Shuts the keys that `which` picks: idle connections are closed, waiters refused (another
    /// backend may serve them), lent connections closed when they come back.
    #[must_use = "what is in the actions is lost if they are not done"]
    pub fn shut(&mut self, which: impl FnMut(&K) -> bool) -> Vec<Action<K, C, W>> {
        self.shut_to(Gate::Shut, which)
    }

    /// Opens shut keys again; their backends' rate limit begins its ramp.
    pub fn reopen(&mut self, mut which: impl FnMut(&K) -> bool, now: Duration) {
        for (_, sub_pool) in &mut self.sub_pools {
            if sub_pool.gate == Gate::Shut && which(&sub_pool.key) {
                sub_pool.gate = Gate::Open;
                sub_pool.rate_limit.begin_ramp(now);
            }
        }
    }

    /// Removes keys: as [`shut`](Self::shut), and permanently. A key may be supplied anew at once.
    #[must_use = "what is in the actions is lost if they are not done"]
    pub fn remove(&mut self, which: impl FnMut(&K) -> bool) -> Vec<Action<K, C, W>> {
        self.shut_to(Gate::Removed, which)
    }

    /// Closes idle connections that `is_unfit` picks, of the keys that `which` picks. The caller
    /// saw that the server has closed them, or knows that they are all older than a change.
    #[must_use = "what is in the actions is lost if they are not done"]
    pub fn weed(
        &mut self,
        mut which: impl FnMut(&K) -> bool,
        mut is_unfit: impl FnMut(&C) -> bool,
        reason: CloseReason,
    ) -> Vec<Action<K, C, W>> {
        self.collect_lost();
        let mut actions = Vec::new();
        for index in self.indices() {
            if which(&self.sub_pools[index].key) {
                self.at(index, |sub_pool| {
                    sub_pool.close_idle(&mut actions, |sub_pool, place| {
                        is_unfit(&sub_pool.idle[place].connection).then_some(reason)
                    });
                });
            }
        }
        actions
    }

    fn shut_to(&mut self, gate: Gate, mut which: impl FnMut(&K) -> bool) -> Vec<Action<K, C, W>> {
        self.collect_lost();
        let mut actions = Vec::new();
        for index in self.indices() {
            let sub_pool = &self.sub_pools[index];
            if sub_pool.gate == Gate::Removed || !which(&sub_pool.key) {
                continue;
            }
            if gate == Gate::Removed {
                self.by_key.remove(&sub_pool.key);
            }
            self.at(index, |sub_pool| sub_pool.shut(gate, &mut actions));
        }
        actions
    }
}

impl<K: Clone, C, W> SubPool<K, C, W> {
    fn shut(&mut self, gate: Gate, actions: &mut Vec<Action<K, C, W>>) {
        self.gate = gate;
        self.close_idle(actions, |_, _| Some(CloseReason::Shut));
        let refused = self.waiters.drain();
        let refusals = refused.map(|waiter| Action::Refuse(waiter, Refusal::Shut));
        let before = actions.len();
        actions.extend(refusals);
        self.counts.refused += (actions.len() - before) as u64;
    }
}

impl<K, C, W> SubPool<K, C, W> {
    /// Limits that are the same stay: places count where they were taken, and queues are kept.
    pub(crate) fn resupply(&mut self, supply: Supply) {
        self.limits = supply.limits;
        if !Rc::ptr_eq(&self.rate_limit, &supply.rate_limit) {
            self.rate_limit.leave_queue(self.issuer.sub_pool);
            self.rate_limit = supply.rate_limit;
        }
        let holdings = Holdings::new(supply.holdings);
        if !holdings.are_under_the_limits_of(&self.holdings) {
            self.holdings.leave_lines();
            self.holdings = holdings;
        }
    }

    /// Leased → nothing: the connection ends with the session that had it.
    pub(crate) fn lose_leased(&mut self, index: usize) {
        drop(self.leased.remove(index));
        self.counts.closed.count(CloseReason::Dropped);
    }

    pub(crate) fn cancel(&mut self, sequence: u64) -> Option<W> {
        let waiter = self.waiters.remove(sequence)?;
        self.counts.cancelled += 1;
        Some(waiter)
    }
}
