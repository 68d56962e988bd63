//! A transaction that may write, but has only read so far. It runs on a replica. Its reads are recorded, so that they
//! can be repeated on the primary before the first write goes there.
//!
//! ```text
//!   BEGIN ──► on a replica ──┬─ COMMIT, ROLLBACK ──► over: there was nothing to commit
//!               │      ▲     └─ anything else, too much, a break ──► replay ──► on the primary
//!               └──────┘
//!           a repeatable read
//! ```

use backend::recorded_reads::{Execution, RecordedRead};

use route::{Role, Transaction, Wanted};
use session::Outcome;
use sql::{Facts, StatementKind};
use wire::statement::statement_id;
use wire::{Command, StatusFlags};

use crate::command::execute::CURSOR_TYPES;
use crate::optimistic::replay::ReplayFailure;
use crate::session::PooledSession;
use backend::exchange_outcome::Cut;
use backend::exchange_outcome::{Done, ExchangeError, Reached};
use command::statement::Statement;
use command::target::CommandTarget;
use link::query_command::{Arrived, QueryCommand};
use link::text_reader::READ_HERE_BYTES_MAX;
use registry::session_control::Ask;
use relay::outcome::{After, SessionError};
use sql::proxy_explain;

/// The effect of a command on an optimistic transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptimisticTransactionEffect {
    /// None: no backend is asked.
    Apart,
    /// The command may run on the replica.
    Stays,
    /// The transaction ends, on the replica.
    Ends,
    /// The session is reset, and the transaction ends with it.
    Resets,
    /// The command has to run on the primary.
    Leaves,
}

impl PooledSession {
    /// Whether a statement begins a transaction that may stay on a replica until it writes. A serializable transaction
    /// may not: it would block the replica's own replication from rows that it reads.
    pub(crate) fn begins_optimistic(&self, facts: &Facts) -> bool {
        self.routing.state().is_optimistic()
            && self.transaction() == Transaction::None
            && !self.held.has_connection()
            && self.sql_state.session().is_free()
            && route::begins_on_replica(facts)
            && !self.is_serializable()
    }

    fn is_serializable(&self) -> bool {
        let is_so = |name: &[u8]| {
            let value = self
                .sql_state
                .session()
                .values()
                .variable(name)
                .unwrap_or_default();
            value.to_ascii_uppercase().ends_with(b"SERIALIZABLE")
                || value.to_ascii_uppercase().ends_with(b"SERIALIZABLE'")
        };
        is_so(b"transaction_isolation") || is_so(b"tx_isolation")
    }

    /// Runs a command of an optimistic transaction.
    pub(crate) async fn optimistic(&mut self, arrived: Arrived) -> Result<After, SessionError> {
        self.settle_optimistic();
        let is_held = self.held.has_connection();
        match self.optimistic_effect(&arrived) {
            OptimisticTransactionEffect::Apart => {}
            OptimisticTransactionEffect::Stays | OptimisticTransactionEffect::Ends if is_held => {}
            OptimisticTransactionEffect::Resets => {
                self.routing.end_optimistic();
                if !is_held {
                    self.transaction_lost();
                }
            }
            meaning => {
                if meaning == OptimisticTransactionEffect::Ends {
                    self.forget_reads();
                }
                if let Err(failed) = Box::pin(self.try_primary()).await {
                    return Box::pin(self.refuse_behind_replay(failed, arrived)).await;
                }
            }
        }
        let after = self.perform(arrived).await?;
        self.settle_optimistic();
        Ok(after)
    }

    /// Tells the client, in place of the command's reply, that the transaction was rolled back before the command.
    async fn refuse_behind_replay(
        &mut self,
        failed: ReplayFailure,
        mut arrived: Arrived,
    ) -> Result<After, SessionError> {
        self.count_refused(&mut arrived);
        let incoming = arrived.incoming();
        // If more packets of the command follow, the next one has this id.
        let sequence = incoming.sequence.wrapping_add(u8::from(incoming.is_cut));
        let after = self.replay_failed(failed, sequence).await?;
        match incoming.is_cut {
            // The rest of the command is not read.
            true => Err(self.cut_within_command()),
            false => Ok(after),
        }
    }

    /// Ends the optimistic transaction if the session has no open transaction any more.
    fn settle_optimistic(&mut self) {
        // If a replica breaks between two commands, the client's flag stays set.
        if !self.client.status().contains(StatusFlags::IN_TRANS) {
            self.routing.end_optimistic();
        }
    }

    /// Discards the recorded reads, because they do not matter any more.
    fn forget_reads(&mut self) {
        if let Some(optimistic_state) = self.routing.optimistic_mut() {
            optimistic_state.begin_anew();
        }
    }

    fn optimistic_effect(&self, arrived: &Arrived) -> OptimisticTransactionEffect {
        let incoming = match arrived {
            Arrived::Query(query) => return self.meaning_of_text(query),
            Arrived::Other(incoming) => incoming,
        };
        let argument = incoming.argument();
        if incoming.is_cut {
            return OptimisticTransactionEffect::Leaves;
        }
        match incoming.command {
            // A COM_QUERY here is malformed.
            Command::QUIT
            | Command::PING
            | Command::QUERY
            | Command::STMT_CLOSE
            | Command::STMT_SEND_LONG_DATA => OptimisticTransactionEffect::Apart,
            Command::RESET_CONNECTION | Command::CHANGE_USER => OptimisticTransactionEffect::Resets,
            Command::STMT_PREPARE if argument.len() > READ_HERE_BYTES_MAX => {
                OptimisticTransactionEffect::Leaves
            }
            Command::STMT_PREPARE => {
                match self.meaning_of(&sql::facts(&argument, self.sql_state.session().flags()), 0) {
                    OptimisticTransactionEffect::Ends => OptimisticTransactionEffect::Leaves,
                    meaning => meaning,
                }
            }
            Command::STMT_EXECUTE => self.meaning_of_execute(&argument),
            Command::STMT_RESET => {
                let id = statement_id(&argument).ok();
                match id.and_then(|number| self.sql_state.statements().resolve(number)) {
                    Some(_) => OptimisticTransactionEffect::Apart,
                    None => OptimisticTransactionEffect::Leaves,
                }
            }
            _ => OptimisticTransactionEffect::Leaves,
        }
    }

    fn meaning_of_text(&self, query: &QueryCommand) -> OptimisticTransactionEffect {
        let (text, flags) = (query.text(), self.sql_state.session().flags());
        let bytes = query.incoming().packets.len();
        match query.facts_ahead() {
            _ if self.may_ask() && proxy_explain(text, flags).is_some() => {
                OptimisticTransactionEffect::Apart
            }
            Some(facts) => self.meaning_of(facts, bytes),
            None => self.meaning_of(&sql::facts(text, flags), bytes),
        }
    }

    fn meaning_of_execute(&self, argument: &[u8]) -> OptimisticTransactionEffect {
        let id = statement_id(argument).ok();
        let id = id.and_then(|number| self.sql_state.statements().resolve(number));
        let Some(statement) = id.and_then(|id| self.sql_state.statements().statement(id)) else {
            return OptimisticTransactionEffect::Leaves;
        };
        let key = &statement.statement;
        let has_long_data = self.sql_state.statements().long_data_bytes() > 0;
        let has_cursor = argument
            .get(4)
            .is_none_or(|flags| flags & CURSOR_TYPES != 0);
        let types = statement.types.as_ref().map_or(0, |types| types.len());
        match has_long_data || has_cursor {
            true => OptimisticTransactionEffect::Leaves,
            false => {
                let bytes = key.text.bytes().len() + argument.len() + types;
                self.meaning_of(&key.facts, bytes)
            }
        }
    }

    fn meaning_of(&self, facts: &Facts, bytes: usize) -> OptimisticTransactionEffect {
        let has_room = (self.routing.optimistic())
            .is_some_and(|optimistic_state| optimistic_state.has_room(bytes));
        match route::wanted(facts, Transaction::Optimistic) {
            Wanted::Same(_) if !route::is_repeatable(facts) => OptimisticTransactionEffect::Ends,
            Wanted::Same(_) if has_room => OptimisticTransactionEffect::Stays,
            _ => OptimisticTransactionEffect::Leaves,
        }
    }

    /// Whether a statement has to go to the primary. Rules may have rewritten it or may direct it elsewhere.
    pub(crate) fn must_leave(&self, facts: &Facts) -> bool {
        if self.routing.optimistic().is_none() {
            return false;
        }
        let is_directed = self
            .command
            .policy
            .as_ref()
            .is_some_and(|order| order.directs());
        let wanted = route::wanted(facts, Transaction::Optimistic);
        is_directed || !matches!(wanted, Wanted::Same(_))
    }

    /// Notes a statement that has ended: it may have begun an optimistic transaction, or may be one of its reads.
    #[inline]
    pub(crate) fn note_optimistic(
        &mut self,
        statement: &Statement<'_>,
        command_target: CommandTarget,
        done: &Done,
    ) {
        let is_open = self.routing.optimistic().is_some();
        match statement {
            Statement::Text(query)
                if is_open || matches!(query.facts.kind, StatementKind::Begin(_)) =>
            {
                self.note_text(query, command_target, done);
            }
            Statement::Execution(executing) if is_open => {
                self.note_execution(executing.execution(), done);
            }
            _ => {}
        }
    }

    fn note_text(&mut self, query: &QueryCommand, command_target: CommandTarget, done: &Done) {
        let (facts, incoming) = (&query.facts, query.incoming());
        let is_open = self.client.status().contains(StatusFlags::IN_TRANS);
        if let Some(optimistic_state) = self.routing.optimistic_mut() {
            match done.fingerprint {
                Some(fingerprint) if route::is_repeatable(facts) => {
                    optimistic_state.add(RecordedRead::Text(incoming.clone()), fingerprint);
                }
                // The transaction has ended, and another one has begun, because of `completion_type`.
                _ if is_open && done.outcome == Outcome::Ok => optimistic_state.begin_anew(),
                _ => {}
            }
            return;
        }
        if !matches!(facts.kind, StatementKind::Begin(_)) || done.outcome != Outcome::Ok {
            return;
        }
        let role = self.held.backend().and_then(|backend| backend.role);
        match role {
            Some(Role::Replica) if command_target == CommandTarget::Optimistic => {
                self.routing.begin_optimistic(incoming.clone());
            }
            Some(Role::Replica) => {}
            Some(Role::Primary) | None => self.routing.state_mut().begins_at_primary(),
        }
    }

    fn note_execution(&mut self, execution: Execution, done: &Done) {
        if let (Some(optimistic_state), Some(fingerprint)) =
            (self.routing.optimistic_mut(), done.fingerprint)
            && route::is_repeatable(&execution.key.facts)
        {
            optimistic_state.add(RecordedRead::Prepared(execution), fingerprint);
        }
    }

    /// Whether a command can run again on the primary: its replica has broken, and no part of the reply was forwarded.
    /// Nothing was written, so the whole transaction can be repeated.
    pub(crate) fn may_go_on(&self, cut: &ExchangeError, facts: &Facts) -> bool {
        let is_broken = matches!(cut.cut, Cut::Backend(_) | Cut::Asked(Ask::BackendDown));
        let is_movable = self.routing.optimistic().is_some() || self.may_begin_again(cut, facts);
        is_movable && is_broken && cut.reached != Reached::Client
    }

    /// Continues the transaction on the primary. `Some`: that failed, and the client knows why.
    pub(crate) async fn go_on(
        &mut self,
        cut: &ExchangeError,
        facts: &Facts,
        sequence: u8,
    ) -> Result<Option<After>, SessionError> {
        self.report(cut);
        self.control.withdraw(Ask::BackendDown);
        self.lose_optimistic_backend();
        if !route::is_repeatable(facts) {
            self.forget_reads();
        }
        self.move_to_primary(sequence).await
    }

    /// Gives up a lost backend. Returns whether the client's transaction goes on at the primary.
    pub(crate) fn lose_optimistic_backend(&mut self) -> bool {
        if self.has_only_begin() {
            self.begins_again();
        }
        if self.routing.optimistic().is_none() {
            return false;
        }
        let name = self.backend_name();
        tracing::info!(kind = "transaction_moves", backend = name, user = %self.identity.account().id(), "a transaction that has written nothing has lost its backend; it goes on at the primary");
        self.drop_lease(pool::CloseReason::Broken);
        self.sql_state.session_mut().connection_lost();
        self.sql_state.session_mut().transaction_lost();
        true
    }
}
