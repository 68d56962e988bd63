//! Once a second: counts how the worker's sessions use pooled connections. If an account keeps most
//! connections and other accounts wait, some of its sessions have to give theirs up.

use backend::kept_connections::Uses;
use registry::kept_connections::{release_idle, use_of};

use super::Worker;

impl Worker {
    /// Reports how the sessions use connections, and asks sessions to give theirs up if they have to.
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

    /// Returns how the sessions use connections, by account and backend.
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
