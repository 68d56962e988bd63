//! Reads the global variables of backends: from time to time, and when a connection is opened.

use std::rc::Rc;
use std::time::Duration;

use pool::CloseReason;
use route::BackendId;
use sql::{Charset, Flags, Server};

use crate::ask_globals::refresh;

use crate::connection_error::ConnectionError;
use crate::sub_pool::SubPoolId;
use crate::worker_pool::{HeldConnection, WorkerPool};

/// How often a worker checks whether a read is due.
const PAUSE: Duration = Duration::from_secs(1);

impl WorkerPool {
    /// Reads the variables of each backend that the worker has an idle connection to, as long as
    /// the worker lives. This finds changes that were made without the proxy.
    pub async fn read_globals(self: Rc<Self>) {
        loop {
            tokio::time::sleep(PAUSE).await;
            let interval = self.env.settings.borrow().config.pool.globals_interval;
            if interval.is_zero() {
                continue;
            }
            let now = self.env.now().0;
            for (sub_pool, backend) in self.sub_pools_due(now, interval) {
                let taken = self.pool.borrow_mut().take_to_ask(&sub_pool, |_| true);
                let Some((conn, lease)) = taken else {
                    continue;
                };
                let lease = HeldConnection::new(conn, lease);
                match self.env.shared.globals.claim(backend, now, interval) {
                    true => self.read_globals_over(lease),
                    false => self.give_back(lease),
                }
            }
        }
    }

    /// Forgets statement definitions if global variables have changed, because statements may then be interpreted in
    /// another way.
    pub fn note_globals(&self) {
        let now = self.env.shared.globals.now();
        if self.globals_at.replace(now) != now {
            self.env.store.forget_definitions();
        }
    }

    /// The flags by which the statements of a new session are read, until the session has a connection.
    pub fn fresh_flags(&self, collation: u16, server: Server) -> Flags {
        self.note_globals();
        let flags = Flags {
            charset: Charset::of_collation(collation),
            server,
            ..Flags::default()
        };
        let mode = self.env.shared.globals.sql_mode();
        flags.in_mode(mode.as_deref().unwrap_or_default())
    }

    fn sub_pools_due(&self, now: Duration, interval: Duration) -> Vec<(SubPoolId, BackendId)> {
        let sub_pools = self.sub_pools.borrow();
        let all = sub_pools
            .iter()
            .map(|(id, sub_pool)| (*id, sub_pool.backend.id));
        let globals = &self.env.shared.globals;
        all.filter(|(_, backend)| globals.is_due(*backend, now, interval))
            .collect()
    }

    /// Reads the global variables over an idle connection.
    fn read_globals_over(self: &Rc<Self>, mut lease: HeldConnection) {
        let pool = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let looked = async {
                if !lease.conn.is_alive() {
                    return Err(ConnectionError::Closed);
                }
                crate::settle_answers::settle(&pool.env, &mut lease.conn, &Rc::default()).await?;
                refresh(&pool.env, &mut lease.conn).await
            };
            match looked.await {
                Ok(()) => pool.give_back(lease),
                Err(_) => pool.forget(lease, CloseReason::Broken),
            }
        });
    }
}
