//! A PREPARE for which the server has no room: prepared statements that connections keep are closed, and the PREPARE is
//! sent again.

use backend::kept_statements::{PAUSE, TRIES_MAX};
use sql::{Facts, Role, StatementKind};

use crate::command::sql_prepared::drop_texts;
use crate::session::PooledSession;
use command::delivery::Delivery;
use command::repeat::Repeat;
use link::query_command::CommandPart;

impl PooledSession {
    /// Whether the client does not learn that the server has no room for this PREPARE. The text has to be in the
    /// statement, because computing it must not call anything.
    pub(crate) fn makes_room(&self, facts: &Facts, part: CommandPart, repeat: &Repeat) -> bool {
        facts.kind == StatementKind::Prepare
            && facts.mentions_of(Role::PreparedText).next().is_some()
            && part == CommandPart::Whole
            && !self.injects()
            && self.command.delivery != Delivery::Nobody
            && repeat.refused_for_room < TRIES_MAX
    }

    /// Closes kept statements, before a PREPARE that was refused for want of room is sent again.
    pub(crate) async fn make_room(&mut self, repeat: &mut Repeat) {
        repeat.refused_for_room += 1;
        if repeat.refused_for_room > 1 {
            return tokio::time::sleep(PAUSE).await;
        }
        if self.is_pinned() {
            self.close_kept().await;
            return self.drop_texts_of_others().await;
        }
        // The session's own connection may keep statements of others.
        self.env.pool_env.shared.close_kept();
        self.give_back();
        self.env.pool.close_kept_if_asked();
    }

    /// Drops what other sessions have prepared as text on the session's connection.
    async fn drop_texts_of_others(&mut self) {
        if let Some(mut lease) = self.held.take() {
            let others = self.sql_state.session().texts_of_others(&lease.conn.state);
            // A connection that breaks here is found broken by the next command.
            let _ = drop_texts(&self.env, &mut lease.conn, others).await;
            self.held.put(lease);
        }
    }

    /// Closes the prepared statements that are kept on connections to the backend of the session's connection.
    pub(crate) async fn close_kept(&mut self) {
        if let Some(mut lease) = self.held.take() {
            let worker_pool = &self.env.pool;
            worker_pool.close_kept(&mut lease.conn).await;
            self.held.put(lease);
        }
    }
}
