//! Which BEGIN is deferred, the reply to its client, and the COMMIT or ROLLBACK directly after it.

use route::{BackendId, Transaction};
use sql::{Access, Facts, Marks, StatementKind};
use wire::StatusFlags;

use crate::routing::routing_state::BeginProgress;
use crate::session::PooledSession;
use command::ending::Ending;
use command::statement::Statement;
use command::target::CommandTarget;

/// Marks of statements of which not all is known.
const UNCLEAR: Marks = Marks::LOST.with(Marks::CROWDED).with(Marks::CONDITIONAL);

/// Global variables that make BEGIN or COMMIT do more than usual, and their values without that effect.
const AT_REST: [(&str, [&[u8]; 2]); 3] = [
    ("transaction_read_only", [b"0", b"OFF"]),
    ("tx_read_only", [b"0", b"OFF"]),
    ("completion_type", [b"0", b"NO_CHAIN"]),
];

impl PooledSession {
    /// Whether the client has had the reply to a BEGIN that no server has got yet.
    #[inline]
    pub fn is_begin_deferred(&self) -> bool {
        self.routing.state().begin() == BeginProgress::Deferred
    }

    /// Answers a BEGIN that can be deferred, the end of a transaction whose BEGIN is deferred, or `SET autocommit = 0`.
    #[inline]
    pub(crate) fn begin_or_end_here(
        &mut self,
        statement: &Statement<'_>,
        command_target: CommandTarget,
    ) -> Option<Ending> {
        let begin = match statement.facts().kind {
            StatementKind::Begin(_) if self.defers_begin(statement, command_target) => {
                BeginProgress::Deferred
            }
            StatementKind::Commit(_) | StatementKind::Rollback(_) if self.ends_here(statement) => {
                BeginProgress::Past
            }
            StatementKind::Set if self.defers_autocommit(statement) => {
                return Some(self.switch_autocommit_off(statement));
            }
            _ => return None,
        };
        self.routing.state_mut().note_begin(begin);
        let is_open = begin == BeginProgress::Deferred;
        if is_open {
            self.routing.state_mut().begins_at_primary();
        }
        self.client
            .set_status(self.client.status().with(StatusFlags::IN_TRANS, is_open));
        self.forget_past();
        self.reply_ok(statement.sequence());
        Some(Ending::more(statement.sequence().wrapping_add(1)))
    }

    /// Whether a server would answer this BEGIN with an OK that says nothing else, and no statement before the first
    /// of the transaction could see that the server has not got it.
    fn defers_begin(&mut self, statement: &Statement<'_>, command_target: CommandTarget) -> bool {
        self.settings.config.pool.defer_begin
            && statement.is_text_alone()
            && route::begins_on_replica(statement.facts())
            // An optimistic transaction begins at once, so that the proxy knows whether it does so on a replica.
            && command_target == CommandTarget::Home
            && self.is_undirected()
            && self.may_begin_later()
            && self.tracking.reports_no_transactions()
            && self.begins_as_usual()
    }

    /// Whether neither rules nor scripts say anything about the statement.
    pub(super) fn is_undirected(&self) -> bool {
        self.command.policy.is_none()
    }

    /// Whether BEGIN would end no open transaction, and remove no answer that can still be asked for.
    pub(super) fn may_begin_later(&self) -> bool {
        let pending_answers = self.sql_state.pending_answers();
        let is_free = match self.transaction() {
            Transaction::None | Transaction::Implicit => !self.held.has_connection(),
            Transaction::Open => self.is_begin_deferred(),
            Transaction::Reading | Transaction::Optimistic => false,
        };
        is_free
            && self.sql_state.session().begins_silently()
            && !pending_answers.is_pending()
            && !pending_answers.is_saving()
    }

    /// Whether the session's backend can be used, and its global variables do not make BEGIN or COMMIT do more than
    /// usual. As long as the variables are not known, the answer is no.
    fn begins_as_usual(&mut self) -> bool {
        let backend = self.backend(CommandTarget::Home, &[]);
        backend.is_ok_and(|backend| self.is_at_rest(backend.id))
    }

    fn is_at_rest(&self, backend: BackendId) -> bool {
        let globals = &self.env.pool_env.shared.globals;
        let is_known = globals.names(backend).is_some();
        is_known
            && AT_REST.iter().all(|(name, resting)| {
                let value = globals.value(backend, name);
                value.is_none_or(|value| resting.contains(&&*value))
            })
    }

    /// Whether the statement ends a transaction that no server has got, and does nothing else.
    fn ends_here(&self, statement: &Statement<'_>) -> bool {
        self.is_begin_deferred()
            && statement.is_text_alone()
            && ends_plainly(statement.facts())
            && self.is_undirected()
    }

    /// Notes that the transaction has run more than its BEGIN.
    pub(crate) fn is_not_alone(&mut self) {
        if self.routing.state().begin() == BeginProgress::Alone {
            self.routing.state_mut().note_begin(BeginProgress::Past);
        }
    }
}

/// Whether a COMMIT or ROLLBACK ends a transaction and does nothing else.
fn ends_plainly(facts: &Facts) -> bool {
    let (StatementKind::Commit(finish) | StatementKind::Rollback(finish)) = facts.kind else {
        return false;
    };
    finish.chain != Some(true)
        && finish.release != Some(true)
        && facts.access == Access::Session
        && !facts.marks.has(UNCLEAR)
}
