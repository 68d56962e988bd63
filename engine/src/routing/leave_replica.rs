//! A session that is held at a replica and has something to write. The state that holds it there ends, or the client
//! gets an error. Replicas refuse writes. From accounts that may write all the same, they take writes that no other
//! backend ever sees.

use route::{Role, Transaction, Wanted, Why};
use session::Outcome;
use session::state::{Pin, Ran, Seen};
use sql::{Effects, Facts, Marks, Object, StatementKind, Uses};
use wire::errors;

use crate::session::PooledSession;
use backend::own_reply::OwnReply;
use command::target::CommandTarget;
use link::failure::{Failure, FailureKind};

/// The effects that release named locks.
const RELEASED: Effects = Effects::NAMED_LOCK_RELEASED.with(Effects::NAMED_LOCKS_RELEASED);

/// This ends a transaction in the same way with each value of `completion_type`.
const COMMIT: &[u8] = b"COMMIT AND NO CHAIN NO RELEASE";

/// This does, too.
pub(crate) const ROLLBACK: &[u8] = b"ROLLBACK AND NO CHAIN NO RELEASE";

impl PooledSession {
    /// Leaves the replica before a statement for a primary. A transaction that only reads is committed there; the
    /// statement would do that as well.
    ///
    /// # Errors
    /// The session holds more there than such a transaction.
    pub(crate) async fn leave_replica(
        &mut self,
        command_target: CommandTarget,
        facts: &Facts,
    ) -> Result<(), Failure> {
        let role = self.held.backend().map(|backend| backend.role);
        if role != Some(Some(Role::Replica))
            || command_target != CommandTarget::Home
            || !self.is_split()
        {
            return Ok(());
        }
        match self.wanted(facts) {
            Some(Wanted::Primary(why)) if writes(facts, why) => {}
            _ => return Ok(()),
        }
        let mut pins = self.pins();
        pins.remove(Pin::Transaction);
        let is_only_reading = self.transaction() == Transaction::Reading;
        if is_only_reading && pins.is_empty() && !self.sql_state.has_cursors() {
            Box::pin(self.end_at_replica(COMMIT)).await;
        }
        match self.held.connection() {
            None => Ok(()),
            Some(conn) => {
                let (name, pins) = (&conn.backend.name, self.pins());
                let error = errors::held_at_replica(name, pins);
                Err(Failure::saying(FailureKind::HeldAtReplica, error))
            }
        }
    }

    /// Ends a transaction that has changed nothing. If its backend breaks now, nothing is lost.
    pub(crate) async fn end_at_replica(&mut self, end: &[u8]) {
        let facts = sql::facts(end, self.sql_state.session().flags());
        if !self.held.has_connection() {
            return;
        }
        match self.held.ask(&self.env.pool_env, end).await {
            Ok(own) if own.outcome == Outcome::Ok => self.has_ended(&facts, end, &own),
            _ => {
                self.drop_lease(pool::CloseReason::Broken);
                self.sql_state.session_mut().connection_lost();
                self.transaction_lost();
            }
        }
    }

    fn has_ended(&mut self, facts: &Facts, text: &[u8], own: &OwnReply) {
        let Some(conn) = self.held.connection_mut() else {
            return;
        };
        let seen = Seen {
            ran: Ran::Statement,
            facts,
            text,
            changes: &own.changes,
            tally: &own.tally,
            error: None,
        };
        let values = &self.env.pool_env.store.values;
        self.sql_state
            .session_mut()
            .observe(&mut conn.state, values, &seen);
        if let Some(status) = own.tally.status {
            self.client.note_status(status);
        }
        if !self.is_pinned() {
            self.give_back();
        }
    }
}

/// Whether a statement writes data that other sessions see. The session's own temporary tables and locks may be used
/// where they are.
fn writes(facts: &Facts, why: Why) -> bool {
    let is_own = matches!(
        facts.kind,
        StatementKind::Create(Object::TemporaryTable) | StatementKind::Drop(Object::TemporaryTable)
    );
    let may_write = matches!(
        why,
        Why::Writes
            | Why::MayWrite
            | Why::NamesWriter
            | Why::Refused
            | Why::NotUnderstood
            | Why::Several
            | Why::BeginsWriting
            | Why::EndsReading
    );
    let is_about_locks = matches!(facts.kind, StatementKind::Select | StatementKind::Do)
        && !facts.marks.has(Marks::UNKNOWN_FUNCTION)
        && (facts.uses.has(Uses::NAMED_LOCKS) || facts.effects.has(RELEASED));
    may_write && !is_own && !is_about_locks
}
