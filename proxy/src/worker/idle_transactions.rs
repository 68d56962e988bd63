//! What is told and counted of transactions that end between two commands.

use link::failure::FailureKind;
use registry::idle_transactions as told;
use registry::session_control::SessionControl;
use wire::errors::ProxyError;

use super::Worker;

impl Worker {
    /// What the client of a session is told whose transaction was idle for too long.
    pub(crate) fn idle_transaction(&self, watch: &SessionControl) -> ProxyError {
        let limits = &self.plane_context.settings.borrow().config.limits;
        told::idle_transaction(watch, limits.timeout_idle_transaction)
    }

    /// A session has lost what it had on its connection between two commands.
    pub(crate) fn note_cut(&self, watch: &SessionControl, kind: FailureKind, cause: &str) {
        if kind == FailureKind::IdleTransaction {
            self.shared.pools.forced_ends.count_idle_transaction();
        }
        let topology = self.env.topology.borrow();
        let backend = watch.backend().and_then(|id| topology.backend(id));
        told::log_cut(watch, backend.map_or("", |it| &it.name), kind, cause);
    }
}
