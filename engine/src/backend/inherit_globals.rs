//! Changed global variables: a session keeps the values that it began with.

use std::rc::Rc;

use backend::ask_globals::refresh;
use pool::CloseReason;
use session::state::{Former, Pin};
use wire::Capabilities;

use crate::session::PooledSession;

impl PooledSession {
    /// Reads the global variables, which the session may have changed, before the client gets the reply to its
    /// statement.
    pub(crate) async fn read_globals(&mut self) {
        self.sql_state.globals_read();
        let pins = self.sql_state.session().pins();
        let is_awkward = pins.has(Pin::NextTransaction)
            || pins.has(Pin::Xa)
            || self.sql_state.session().is_traced();
        if let Some(conn) = self.held.connection().filter(|_| is_awkward) {
            // A query now would take the settings for the next transaction, or replace the trace.
            self.env.pool_env.shared.globals.doubt(conn.backend.id);
            return;
        }
        if !self.keep_past().await {
            return;
        }
        let Some(conn) = self.held.connection_mut() else {
            return;
        };
        if refresh(&self.env.pool_env, conn).await.is_err() {
            self.drop_lease(CloseReason::Broken);
        }
        self.keep_inherited();
    }

    /// If global variables have changed, gives the session the values that it began with.
    #[inline]
    pub(crate) fn keep_inherited(&mut self) {
        if self.sql_state.inherits_at() != self.env.pool_env.shared.globals.now() {
            self.keep_inherited_now();
        }
    }

    #[cold]
    fn keep_inherited_now(&mut self) {
        let env = Rc::clone(&self.env);
        env.pool.note_globals();
        let globals = &env.pool_env.shared.globals;
        let held = || self.held.backend().map(|backend| backend.id);
        let home = self.routing.home().map(|home| home.id);
        let Some(backend) = home.or_else(held) else {
            return;
        };
        let now = globals.now();
        let then = self.sql_state.inherit_at(now);
        let conn = self.held.connection_mut();
        let conn = conn.filter(|conn| conn.backend.id == backend);
        let inherits_at = conn.as_ref().map(|conn| conn.epochs.inherits_at.get());
        let changed = globals.changed_since(backend, then);
        let former: Vec<Former<'_>> = changed
            .iter()
            .map(|changed| Former {
                name: changed.name.as_bytes(),
                before: &changed.before,
                now: &changed.now,
                is_on_connection: inherits_at.is_some_and(|at| at < changed.number),
            })
            .collect();
        let is_interactive = self
            .client
            .capabilities()
            .contains(Capabilities::INTERACTIVE);
        let table = &env.pool_env.store.values;
        let connection = conn.map(|conn| &mut conn.state);
        self.sql_state
            .keep_inherited(table, connection, &former, is_interactive);
        self.note_wait_timeout();
    }

    /// Lets a session that begins anew inherit the present values of the global variables.
    pub(crate) fn inherit(&mut self) {
        let now = self.env.pool_env.shared.globals.now();
        if self.sql_state.inherit_at(now) != now {
            let server = self.sql_state.session().flags().server;
            self.sql_state.session_mut().begins_as(
                self.env
                    .pool
                    .fresh_flags(self.identity.key().collation, server),
            );
        }
    }
}
