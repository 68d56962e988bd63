//! Once a second: what the worker's sessions do with pooled connections, and which of them have to give theirs up because
//! their account keeps most of them and others wait.

use backend::kept_connections::Uses;
use registry::kept_connections::{release_idle, use_of};

use super::Worker;

impl Worker {
    /// Tells what its sessions do, and has those give their connections up that have to.
    pub(super) fn share_connections(&self) {
        let config = &self.plane_context.settings.borrow().config.clone();
        let (pools, now) = (&self.shared.pools, self.engine.pool.now());
        let limits = &pools.connection_limits;
        let given_up = limits.take_uses(self.index, self.uses(), &config.pool, now);
        for ((account, backend), count) in given_up {
            let watches = self.relay.sessions.borrow();
            let sessions = watches.iter().map(|(_, control)| control);
            let given_up =
                release_idle(sessions, (&account, backend), count, self.relay.clock.now());
            pools.forced_ends.count_kept_for_others(given_up);
        }
    }

    /// What its sessions do, by account and backend.
    pub(super) fn uses(&self) -> Uses {
        let second = self.relay.clock.now();
        let mut uses = Uses::new();
        for (_, control) in self.relay.sessions.borrow().iter() {
            if let Some(account) = control.account() {
                *uses.entry((account, control.backend())).or_default() += use_of(control, second);
            }
        }
        uses
    }
}
