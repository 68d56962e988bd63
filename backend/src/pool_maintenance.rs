//! Maintenance of a worker's pool: what is due by time, and what follows from a change of the backends or the settings.

use std::rc::Rc;
use std::sync::Arc;

use pool::{Action, CloseReason, Lease};
use wire::Command;

use crate::connection::Connection;
use crate::sub_pool::SubPoolId;
use crate::wait_slot::Granted;
use crate::wait_slot::Waiter;
use crate::worker_pool::{HeldConnection, WorkerPool};

impl WorkerPool {
    /// Does what is due, as long as the worker lives. Calls `on_backends` when the topology has changed.
    pub async fn keep(self: Rc<Self>, on_backends: impl Fn()) {
        let waker = self.env.shared.connection_limits.subscribe();
        let mut topologies = self.env.topologies.clone();
        let mut settings = self.env.settings.clone();
        loop {
            let now = self.now();
            let due = self.pool.borrow().next_tick(now);
            self.planned.set(due);
            let wait = async {
                match due {
                    Some(due) => tokio::time::sleep(due.saturating_sub(now)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = wait => {}
                () = self.stir.notified() => {}
                () = waker.notified() => {}
                changed = topologies.changed() => match changed {
                    Ok(()) => {
                        let topology = Arc::clone(&topologies.borrow_and_update());
                        self.follow(topology);
                        on_backends();
                        self.news.notify_waiters();
                    }
                    Err(_) => return,
                },
                changed = settings.changed() => match changed {
                    Ok(()) => {
                        settings.borrow_and_update();
                        self.resupply();
                    }
                    Err(_) => return,
                },
            }
            let now = self.now();
            let actions = self.pool.borrow_mut().tick(now);
            self.act(actions);
            self.close_outdated();
            self.close_kept_if_asked();
            self.sweep();
        }
    }

    /// Closes idle connections whose privileges or global variables have changed.
    fn close_outdated(self: &Rc<Self>) {
        let shared = &self.env.shared;
        let now = (shared.privileges.now(), shared.globals.now());
        if self.weeded_at.replace(now) == now {
            return;
        }
        let actions = self.pool.borrow_mut().weed(
            |_| true,
            |conn: &Connection| conn.is_outdated(&self.env),
            CloseReason::TooOld,
        );
        self.act(actions);
    }

    fn act(self: &Rc<Self>, actions: Vec<Action<SubPoolId, Connection, Waiter>>) {
        for action in actions {
            match action {
                Action::Wake(wake) => self.wake(wake),
                Action::Refuse(waiter, refusal) => {
                    let _ = waiter.send(Granted::Refused(refusal));
                }
                Action::Open(sub_pool, permit) => {
                    let pool = Rc::clone(self);
                    tokio::task::spawn_local(async move {
                        let opened = pool.open(sub_pool, permit).await;
                        if let Ok(lease) = opened {
                            pool.give_back(lease);
                        }
                    });
                }
                Action::Ping(conn, lease) => self.ping(conn, lease),
                Action::Close(conn, _, closing) => self.close(conn, closing),
            }
        }
    }

    fn ping(self: &Rc<Self>, mut conn: Connection, lease: Lease) {
        let pool = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let limit = pool.env.settings.borrow().config.health.timeout_connect;
            let answered = tokio::time::timeout(limit, async {
                match conn.is_alive() {
                    true => conn.ask(&pool.env, Command::PING, b"").await.is_ok(),
                    false => false,
                }
            });
            let is_well = answered.await.unwrap_or(false);
            let lease = HeldConnection::new(conn, lease);
            match is_well {
                true => pool.give_back(lease),
                false => pool.forget(lease, CloseReason::Broken),
            }
        });
    }

    /// Shuts the sub-pools of backends that are down or removed, and opens those of backends that are back.
    fn follow(self: &Rc<Self>, topology: Arc<route::Topology>) {
        let now = self.now();
        let backend_of = |id: &SubPoolId| {
            let sub_pools = self.sub_pools.borrow();
            let id = sub_pools.get(id).map(|sub_pool| sub_pool.backend.id)?;
            topology.backend(id).map(Arc::clone)
        };
        let is_usable = |id: &SubPoolId| backend_of(id).is_some_and(|backend| backend.is_usable());
        let actions = self.pool.borrow_mut().shut(|id| !is_usable(id));
        self.act(actions);
        self.pool.borrow_mut().reopen(is_usable, now);
        *self.env.topology.borrow_mut() = topology;
    }

    /// Applies changed limits.
    fn resupply(&self) {
        self.rate_limits.borrow_mut().clear();
        let sub_pools: Vec<_> = self
            .sub_pools
            .borrow()
            .iter()
            .map(|(id, sub_pool)| (*id, Rc::clone(sub_pool)))
            .collect();
        for (id, sub_pool) in sub_pools {
            let supply = self.supply(&sub_pool.backend, &sub_pool.kind);
            self.pool.borrow_mut().supply(id, supply);
        }
    }

    /// Closes a connection in a task of its own. First it asks for the answers that a session may still want.
    pub fn close(self: &Rc<Self>, mut conn: Connection, closing: pool::Closing) {
        let pool = Rc::clone(self);
        // Claim them now: the session may go on over another connection before the task begins.
        let questions = crate::settle_answers::claim(&mut conn, &Rc::default());
        tokio::task::spawn_local(async move {
            if conn.is_alive() {
                // An error changes nothing: the connection is closed anyway.
                let _ = crate::settle_answers::ask(&pool.env, &mut conn, questions).await;
            } else {
                drop(questions);
            }
            conn.send_quit().await;
            drop(conn);
            let now = pool.now();
            let wakes = pool.pool.borrow_mut().closed(closing, now);
            pool.wake_all(wakes);
        });
    }

    /// Closes all idle connections, because the worker drains.
    pub fn shut_idle(self: &Rc<Self>) {
        let actions = self
            .pool
            .borrow_mut()
            .weed(|_| true, |_| true, CloseReason::Shut);
        self.act(actions);
    }
}
