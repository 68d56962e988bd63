//! A worker's pool kept: what is due without anybody's asking, and what follows from other backends or settings.

use std::rc::Rc;
use std::sync::Arc;

use auth::{AccountId, Accounts, Source};
use config::PoolConfig;
use pool::{Action, CloseReason, Lease};
use route::KillScope;
use wire::Command;

use super::sub_pool::SubPoolId;
use super::wait_slot::Waiter;
use super::worker_pool::{Connection, Granted, HeldConnection, WorkerPool};
use crate::worker::Worker;
use backend::privilege_changes::{AffectedUsers, have_accounts_changed};
use registry::session_registry::Kill;

/// Ends the sessions of learned accounts that are gone, if that is configured.
fn end_dropped_sessions(worker: &Worker, before: &Accounts, after: &Accounts) {
    let settings = Arc::clone(&worker.surroundings.settings.borrow());
    let (Some(before), Some(after)) = (before.learned(), after.learned()) else {
        return;
    };
    if !settings.config.accounts.end_dropped_sessions || Arc::ptr_eq(before, after) {
        return;
    }
    let is_gone =
        |account: &AccountId| account.source() == Source::Learned && !after.has_name(account);
    let people = &worker.shared.people;
    let ids = people.of_accounts(is_gone);
    for id in &ids {
        people.kill(Kill {
            id: *id,
            scope: KillScope::Connection,
            at: None,
            said: worker.surroundings.now().0,
        });
    }
    if !ids.is_empty() {
        let sessions = ids.len();
        tracing::info!(sessions, "sessions of accounts that were dropped are ended");
    }
}

impl WorkerPool {
    /// Does what is due, as long as the worker lives.
    pub(crate) async fn keep(worker: Rc<Worker>) {
        let desk = &worker.desk;
        let bell = worker.shared.ceilings.subscribe();
        let mut topologies = worker.surroundings.topology.clone();
        let mut settings = worker.surroundings.settings.clone();
        let mut accounts = worker.surroundings.accounts.clone();
        let mut known = Arc::clone(&accounts.borrow_and_update());
        let mut definitions = worker.surroundings.definitions.clone();
        loop {
            let now = desk.now(&worker);
            let due = desk.pool.borrow().next_tick(now);
            desk.planned.set(due);
            let wait = async {
                match due {
                    Some(due) => tokio::time::sleep(due.saturating_sub(now)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = accounts.changed() => match changed {
                    Ok(()) => {
                        let accounts = Arc::clone(&accounts.borrow_and_update());
                        worker.shared.keyring.keep_only(&accounts);
                        // Of all workers one tells the others.
                        if worker.index == 0 && have_accounts_changed(&known, &accounts) {
                            worker.shared.privileges_changed(AffectedUsers::All);
                        }
                        if worker.index == 0 {
                            end_dropped_sessions(&worker, &known, &accounts);
                        }
                        known = accounts;
                    }
                    Err(_) => return,
                },
                () = wait => {}
                () = desk.stir.notified() => {}
                () = bell.notified() => {}
                changed = topologies.changed() => match changed {
                    Ok(()) => {
                        let topology = Arc::clone(&topologies.borrow_and_update());
                        desk.follow(&worker, topology);
                    }
                    Err(_) => return,
                },
                changed = definitions.changed() => match changed {
                    Ok(()) => {
                        let learned = Arc::clone(&definitions.borrow_and_update());
                        *worker.definitions.borrow_mut() = learned;
                    }
                    Err(_) => return,
                },
                changed = settings.changed() => match changed {
                    Ok(()) => {
                        let settings = Arc::clone(&settings.borrow_and_update());
                        desk.resupply(&worker, &settings.config.pool);
                    }
                    Err(_) => return,
                },
            }
            let now = desk.now(&worker);
            let actions = desk.pool.borrow_mut().tick(now);
            desk.act(&worker, actions);
            desk.close_outdated(&worker);
            desk.close_kept_if_asked(&worker);
            desk.sweep();
        }
    }

    /// Closes idle connections whose privileges or global variables have changed.
    fn close_outdated(&self, worker: &Rc<Worker>) {
        let shared = &worker.shared;
        let now = (shared.privileges.now(), shared.globals.now());
        if self.weeded_at.replace(now) == now {
            return;
        }
        let actions = self.pool.borrow_mut().weed(
            |_| true,
            |conn: &Connection| conn.is_outdated(worker),
            CloseReason::TooOld,
        );
        self.act(worker, actions);
    }

    fn act(&self, worker: &Rc<Worker>, actions: Vec<Action<SubPoolId, Connection, Waiter>>) {
        for action in actions {
            match action {
                Action::Wake(wake) => self.wake(worker, wake),
                Action::Refuse(waiter, refusal) => {
                    let _ = waiter.send(Granted::Refused(refusal));
                }
                Action::Open(shelf, permit) => {
                    let worker = Rc::clone(worker);
                    tokio::task::spawn_local(async move {
                        let opened = worker.desk.open(&worker, shelf, permit).await;
                        if let Ok(lent) = opened {
                            worker.desk.give_back(&worker, lent);
                        }
                    });
                }
                Action::Ping(conn, lease) => self.ping(worker, conn, lease),
                Action::Close(conn, _, closing) => self.close(worker, conn, closing),
            }
        }
    }

    fn ping(&self, worker: &Rc<Worker>, mut conn: Connection, lease: Lease) {
        let worker = Rc::clone(worker);
        tokio::task::spawn_local(async move {
            let limit = worker
                .surroundings
                .settings
                .borrow()
                .config
                .health
                .timeout_connect;
            let answered = tokio::time::timeout(limit, async {
                match conn.is_alive() {
                    true => conn.ask(&worker, Command::PING, b"").await.is_ok(),
                    false => false,
                }
            });
            let is_well = answered.await.unwrap_or(false);
            let lent = HeldConnection::new(conn, lease);
            match is_well {
                true => worker.desk.give_back(&worker, lent),
                false => worker.desk.forget(&worker, lent, CloseReason::Broken),
            }
        });
    }

    /// Shuts what leads to backends that are down or gone, and opens it again.
    fn follow(&self, worker: &Rc<Worker>, topology: Arc<route::Topology>) {
        let now = self.now(worker);
        let backend_of = |id: &SubPoolId| {
            let shelves = self.shelves.borrow();
            let id = shelves.get(id).map(|shelf| shelf.backend.id)?;
            topology.backend(id).map(Arc::clone)
        };
        let is_usable = |id: &SubPoolId| backend_of(id).is_some_and(|backend| backend.is_usable());
        let actions = self.pool.borrow_mut().shut(|id| !is_usable(id));
        self.act(worker, actions);
        self.pool.borrow_mut().reopen(is_usable, now);
        *worker.topology.borrow_mut() = topology;
        worker.clear_disabled();
        self.news.notify_waiters();
    }

    /// Applies changed limits.
    fn resupply(&self, worker: &Worker, config: &PoolConfig) {
        self.paces.borrow_mut().clear();
        let shelves: Vec<_> = self
            .shelves
            .borrow()
            .iter()
            .map(|(id, shelf)| (*id, Rc::clone(shelf)))
            .collect();
        for (id, shelf) in shelves {
            let supply = self.supply(worker, config, &shelf.backend, &shelf.kind);
            self.pool.borrow_mut().supply(id, supply);
        }
    }

    /// Says goodbye to a backend, in a task of its own. What a session may still ask is asked before.
    pub(crate) fn close(&self, worker: &Rc<Worker>, mut conn: Connection, closing: pool::Closing) {
        let worker = Rc::clone(worker);
        // At once: its session may go on over another connection before the task begins.
        let questions =
            crate::pooled::diagnostics::pending_answers::claim(&mut conn, &Rc::default());
        tokio::task::spawn_local(async move {
            if conn.is_alive() {
                // It is closed anyway.
                let _ =
                    crate::pooled::diagnostics::pending_answers::ask(&worker, &mut conn, questions)
                        .await;
            } else {
                drop(questions);
            }
            conn.say_goodbye().await;
            drop(conn);
            let now = worker.desk.now(&worker);
            let wakes = worker.desk.pool.borrow_mut().closed(closing, now);
            worker.desk.wake_all(&worker, wakes);
        });
    }

    /// Ends all that lies idle: the worker drains.
    pub(crate) fn shut_idle(&self, worker: &Rc<Worker>) {
        let actions = self
            .pool
            .borrow_mut()
            .weed(|_| true, |_| true, CloseReason::Shut);
        self.act(worker, actions);
    }
}
