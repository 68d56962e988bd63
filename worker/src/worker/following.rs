//! A worker's reaction to changed accounts, and to changed definitions of views and routines.

use std::rc::Rc;
use std::sync::Arc;

use auth::{AccountId, Accounts, Source};
use backend::privilege_changes::{AffectedUsers, have_accounts_changed};
use registry::session_registry::Kill;
use route::KillScope;

use super::Worker;

impl Worker {
    /// Follows the accounts, as long as the worker lives.
    pub(super) async fn follow_accounts(self: Rc<Self>) {
        let mut accounts = self.plane_context.accounts.clone();
        let mut known = Arc::clone(&accounts.borrow_and_update());
        while accounts.changed().await.is_ok() {
            let accounts = Arc::clone(&accounts.borrow_and_update());
            let pools = &self.shared.pools;
            pools.keyring.keep_only(&accounts);
            // One worker does this for all workers.
            if self.index == 0 {
                if have_accounts_changed(&known, &accounts) {
                    pools.privileges_changed(AffectedUsers::All);
                }
                end_dropped_sessions(&self, &known, &accounts);
            }
            known = accounts;
        }
    }

    /// Follows the definitions, as long as the worker lives.
    pub(super) async fn follow_definitions(self: Rc<Self>) {
        let mut definitions = self.plane_context.definitions.clone();
        while definitions.changed().await.is_ok() {
            let learned = Arc::clone(&definitions.borrow_and_update());
            *self.engine.definitions.borrow_mut() = learned;
        }
    }
}

/// Ends the sessions of learned accounts that are gone, if that is configured.
fn end_dropped_sessions(worker: &Worker, before: &Accounts, after: &Accounts) {
    let settings = Arc::clone(&worker.plane_context.settings.borrow());
    let (Some(before), Some(after)) = (before.learned(), after.learned()) else {
        return;
    };
    if !settings.config.accounts.end_dropped_sessions || Arc::ptr_eq(before, after) {
        return;
    }
    let is_gone =
        |account: &AccountId| account.source() == Source::Learned && !after.has_name(account);
    let session_registry = &worker.shared.session_registry;
    let ids = session_registry.of_accounts(is_gone);
    for id in &ids {
        session_registry.kill(Kill {
            id: *id,
            scope: KillScope::Connection,
            at: None,
            requested_at: worker.plane_context.now().0,
        });
    }
    if !ids.is_empty() {
        let sessions = ids.len();
        tracing::info!(sessions, "sessions of accounts that were dropped are ended");
    }
}
