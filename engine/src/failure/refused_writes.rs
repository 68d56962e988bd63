//! Writes that a primary refuses because it is read-only: while a switchover is under way, the old primary is, and
//! the new one is not the primary yet.
//!
//! The client of a write does not learn of the refusal, if the write stands outside a transaction, or is the first
//! statement of one. The write waits as long as a statement waits for a backend (`balance.timeout_backend_wait`), and
//! is sent again, in a transaction that begins again: a server that is read-only refuses these statements before it
//! executes anything of them. After that time the client gets the server's error.

use std::time::Duration;

use net::clock;
use route::{Report, Role, Transaction};
use session::Outcome;
use sql::{Facts, Object, StatementKind as Statement};
use tokio::time::timeout_at;

use super::retry::Outwaited;
use crate::routing::routing_state::BeginProgress;
use crate::session::PooledSession;
use command::repeat::Repeat;
use relay::outcome::SessionError;

/// A write is sent again after this time, or earlier if there is news of the backends.
const PAUSE: Duration = Duration::from_millis(250);

/// ER_OPTION_PREVENTS_STATEMENT, ER_READ_ONLY_MODE, ER_INNODB_READ_ONLY
const TAKES_NO_WRITES: [u16; 3] = [1290, 1836, 1874];

impl PooledSession {
    /// Whether the client does not learn of a refusal of this write, and the write is sent again later. This excludes
    /// procedures and several statements, because a part of them may have been executed.
    pub(crate) fn may_wait_for_writable(&self, facts: &Facts, role: Option<Role>) -> bool {
        let may_move = || match self.transaction() {
            Transaction::None | Transaction::Implicit => !self.is_pinned(),
            Transaction::Open => {
                is_data(facts.kind) && (self.has_only_begin() || self.is_begin_deferred())
            }
            Transaction::Reading | Transaction::Optimistic => false,
        };
        role == Some(Role::Primary)
            && is_refused_whole(facts.kind)
            && may_move()
            && !self.settings.config.balance.timeout_backend_wait.is_zero()
    }

    /// Waits after a primary has refused a write. Afterwards the write can be sent again, unless there is no time left
    /// (`Outwaited::InVain`).
    pub(crate) async fn wait_for_writable(
        &mut self,
        sequence: u8,
        repeat: &mut Repeat,
    ) -> Result<Outwaited, SessionError> {
        let patience = self.settings.config.balance.timeout_backend_wait;
        let now = clock::now();
        let deadline = *repeat.refused_until.get_or_insert(now + patience);
        if now >= deadline {
            return Ok(Outwaited::InVain);
        }
        self.report_refused_write();
        let has_started = self.has_only_begin();
        self.reset_lease().await;
        if has_started {
            self.begins_again();
            self.sql_state.session_mut().connection_lost();
            self.sql_state.session_mut().transaction_lost();
        }
        self.command.timing.queues();
        self.control.unsettle();
        self.control.note(self.env.relay.clock.now(), false);
        let env = std::rc::Rc::clone(&self.env);
        let until = deadline.min(now + PAUSE);
        // The write is sent again, whether there was news or not.
        match self
            .wait_unless_killed(timeout_at(until, env.pool.news()))
            .await
        {
            Ok(_) if has_started => self.begin_where_writes_go(sequence).await,
            Ok(_) => Ok(Outwaited::Again),
            // A transaction that has begun begins again before the client's next statement.
            Err(failure) => self.refuse(&failure, sequence).map(Outwaited::Told),
        }
    }

    /// Begins a transaction again of which only the BEGIN had run.
    async fn begin_where_writes_go(&mut self, sequence: u8) -> Result<Outwaited, SessionError> {
        let told = self.move_to_primary(sequence).await?;
        if told.is_none() {
            self.routing.state_mut().note_begin(BeginProgress::Alone);
        }
        Ok(told.map_or(Outwaited::Again, Outwaited::Told))
    }

    fn report_refused_write(&self) {
        if let Some(conn) = self.held.connection()
            && conn.backend.role == Some(Role::Primary)
        {
            let backend = conn.backend.id;
            self.env.pool_env.report(Report::WritesRefused { backend });
        }
    }

    /// Reports that a read-only server has refused a write within a transaction, so that the next transactions wait.
    pub(crate) fn note_refused_write(&self, facts: &Facts, outcome: Outcome) {
        let is_refusal =
            matches!(outcome, Outcome::Err(number) if TAKES_NO_WRITES.contains(&number));
        if is_data(facts.kind) && is_refusal {
            self.report_refused_write();
        }
    }
}

fn is_data(kind: Statement) -> bool {
    matches!(
        kind,
        Statement::Insert | Statement::Replace | Statement::Update | Statement::Delete
    )
}

/// Whether a read-only server refuses a statement of this kind before it executes anything.
fn is_refused_whole(kind: Statement) -> bool {
    match kind {
        _ if is_data(kind) => true,
        Statement::Create(object) | Statement::Drop(object) => object != Object::TemporaryTable,
        Statement::Begin(_)
        | Statement::Alter(_)
        | Statement::Truncate
        | Statement::Rename(_)
        | Statement::Grant
        | Statement::Revoke => true,
        _ => false,
    }
}
