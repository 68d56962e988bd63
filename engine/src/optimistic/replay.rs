//! Moves an optimistic transaction to the primary: begins it there, and repeats the reads that it has done on its
//! replica. It goes on if the results are the same. Nothing has been written by then, on either backend.

use pool::TypesSeen;
use session::state::Needs;
use session::{Files, Outcome, Withholds};
use sql::Facts;
use wire::execute::Execute;
use wire::query::Query;
use wire::{Command, StatusFlags, errors};

use crate::routing::leave_replica::ROLLBACK;
use crate::session::PooledSession;
use backend::connection::BackendConn;
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::{Done, ExchangeError, Reached};
use backend::recorded_reads::{Execution, Read, RecordedRead};
use command::job::{Haste, Job};
use command::repeat::Repeat;
use command::target::CommandTarget;
use link::client_command::Incoming;
use link::failure::{Failure, FailureKind};
use link::query_command::CommandPart;
use relay::outcome::{After, SessionError};
use session::effect::Effect;
use session_parts::cut_transaction::CutTransaction;

/// Why a transaction could not go to the primary.
pub(crate) enum ReplayFailure {
    /// No connection was available.
    Unreachable(Failure),
    /// The connection broke, or the client disconnected.
    Cut(ExchangeError),
    /// A read has another result on the primary, or the transaction does not begin there.
    Changed(String),
}

impl PooledSession {
    /// Moves an optimistic transaction to the primary. `Some`: it is rolled back, and its client knows.
    pub(crate) async fn move_to_primary(
        &mut self,
        sequence: u8,
    ) -> Result<Option<After>, SessionError> {
        match self.try_primary().await {
            Ok(()) => Ok(None),
            Err(failed) => self.replay_failed(failed, sequence).await.map(Some),
        }
    }

    /// Moves an optimistic transaction to the primary, if the session has one. After an error it is rolled back, and
    /// [`replay_failed`](Self::replay_failed) tells the client.
    pub(super) async fn try_primary(&mut self) -> Result<(), ReplayFailure> {
        let Some(optimistic_state) = self.routing.optimistic_mut() else {
            return Ok(());
        };
        let begin = optimistic_state.begin.clone();
        let reads = std::mem::take(&mut optimistic_state.reads);
        let waiting = self.command.begin_unheard();
        let outcome = self.replay(&begin, &reads).await;
        self.command.end_unheard(waiting);
        self.routing.end_optimistic();
        outcome
    }

    async fn replay(&mut self, begin: &Incoming, reads: &[Read]) -> Result<(), ReplayFailure> {
        // Sessions that hold two connections each could wait for one another.
        if self.held.has_connection() {
            self.end_at_replica(ROLLBACK).await;
        }
        self.transaction_lost();
        if let Some(conn) = self.held.connection() {
            let (name, pins) = (&conn.backend.name, self.pins());
            let error = errors::held_at_replica(name, pins);
            return Err(ReplayFailure::Unreachable(Failure::saying(
                FailureKind::HeldAtReplica,
                error,
            )));
        }
        self.begin_again(begin).await?;
        for (read, number) in reads.iter().zip(1..) {
            let done = match &read.recorded {
                RecordedRead::Text(incoming) => {
                    let read_again = self.read_again(incoming).await;
                    read_again.map_err(ReplayFailure::Cut)?
                }
                RecordedRead::Prepared(execution) => self.execute_again(execution).await?,
            };
            let is_over = done.outcome == Outcome::Ok && !self.is_in_transaction();
            if is_over || done.fingerprint != Some(read.fingerprint) {
                let text = format!("read {number} of {} has another result there", reads.len());
                return Err(ReplayFailure::Changed(text));
            }
        }
        tracing::debug!(user = %self.identity.account().id(), id = self.identity.id(), reads = reads.len(), "an optimistic transaction has gone to the primary");
        Ok(())
    }

    fn is_in_transaction(&self) -> bool {
        self.client.status().contains(StatusFlags::IN_TRANS)
    }

    /// Begins the transaction at the primary, over another connection if the first one breaks.
    async fn begin_again(&mut self, begin: &Incoming) -> Result<(), ReplayFailure> {
        let mut repeat = Repeat::of(Effect::Begin, CommandTarget::Home);
        loop {
            self.hold(repeat.command_target)
                .await
                .map_err(ReplayFailure::Unreachable)?;
            match self.read_again(begin).await {
                Ok(done) if done.outcome == Outcome::Ok && self.is_in_transaction() => {
                    return Ok(());
                }
                Ok(_) => {
                    return Err(ReplayFailure::Changed(
                        "the transaction does not begin there".to_owned(),
                    ));
                }
                Err(cut) if self.again(&cut, &mut repeat) => {}
                Err(cut) => return Err(ReplayFailure::Cut(cut)),
            }
        }
    }

    async fn read_again(&mut self, incoming: &Incoming) -> Result<Done, ExchangeError> {
        let argument = incoming.argument();
        let text = match Query::decode(&argument, self.client.capabilities()) {
            Ok(query) => query.text,
            Err(malformed) => {
                return Err(ExchangeError::unsent(
                    ConnectionError::from(malformed).into(),
                ));
            }
        };
        let facts: Facts = sql::facts(text, self.sql_state.session().flags());
        let haste = command::job::haste_of(&facts);
        let job = Job::of(incoming, Needs::of(&facts, text), haste);
        let done = self.exchange(&job).await?;
        self.observe(Command::QUERY, &facts, text, &done);
        Ok(done)
    }

    pub(crate) async fn execute_again(
        &mut self,
        execution: &Execution,
    ) -> Result<Done, ReplayFailure> {
        let key = &execution.key;
        let own_schema = self.visit(key).await;
        let outcome = self.execute_again_there(execution).await;
        if let Ok(done) = &outcome {
            self.observe(Command::STMT_EXECUTE, &key.facts, key.text.bytes(), done);
        }
        self.return_to(own_schema);
        let done = outcome?;
        if let Outcome::Err(_) = done.outcome {
            self.held.unbind(key);
        }
        self.held.finish_prepared(key);
        Ok(done)
    }

    async fn execute_again_there(&mut self, execution: &Execution) -> Result<Done, ReplayFailure> {
        let key = &execution.key;
        let needs = Needs::of(&key.facts, key.text.bytes());
        // If the statement was executed with other types before, MySQL treats these types differently.
        let mut own_types = TypesSeen::default();
        execution.types.iter().for_each(|it| own_types.see(it));
        let has_seen_others = |conn: &BackendConn| !conn.prepared.has_seen_only(key, &own_types);
        if self.held.connection().is_some_and(has_seen_others) {
            self.held.close_prepared(key);
        }
        let prepared = self.backend_statement(key, &needs).await;
        let Ok(backend_id) = prepared.map_err(ReplayFailure::Cut)? else {
            return Err(ReplayFailure::Changed(
                "a statement cannot be prepared".to_owned(),
            ));
        };
        if let (Some(conn), Some(types)) = (self.held.connection_mut(), &execution.types) {
            // The types are sent along whether the server has seen them or not.
            let _ = conn.prepared.bind(key, types);
        }
        let count = execution.parameter_count;
        let execute = Execute::decode(&execution.argument, self.client.capabilities(), count);
        let execute = execute.map_err(|malformed| {
            ReplayFailure::Cut(ExchangeError::unsent(
                ConnectionError::from(malformed).into(),
            ))
        })?;
        let mut payload = Vec::new();
        Execute {
            statement_id: backend_id.0,
            types: execution.types.as_deref(),
            ..execute
        }
        .encode(self.client.capabilities(), &mut payload);
        let mut packets = Vec::new();
        let next = wire::write::put_packets(&mut packets, 0, &payload);
        let job = Job {
            command: Command::STMT_EXECUTE,
            packets: &packets,
            sequence: next.max(execution.sequence),
            is_cut: false,
            needs,
            haste: Haste::Read,
            command_part: CommandPart::Whole,
            warnings: None,
            changes_server: false,
            withholds: Withholds::Nothing,
            files: Files::NONE,
        };
        self.exchange(&job).await.map_err(ReplayFailure::Cut)
    }

    /// Tells the client that the transaction has failed. Its statements are not executed until it ends the transaction.
    pub(super) async fn replay_failed(
        &mut self,
        failed: ReplayFailure,
        sequence: u8,
    ) -> Result<After, SessionError> {
        let failure = match failed {
            ReplayFailure::Cut(cut) => {
                let cut = ExchangeError {
                    // No part of this reply has gone to the client.
                    reached: cut.reached.min(Reached::Backend),
                    ..cut
                };
                let repeat = Repeat::of(Effect::Data, CommandTarget::Home);
                let after = self.cut_short(cut, sequence, Command::QUERY, repeat)?;
                let why = "the transaction was lost on its way to the primary";
                if self.routing.cut_transaction().is_none() {
                    self.routing.note_cut(CutTransaction::new(why));
                }
                return Ok(after);
            }
            ReplayFailure::Unreachable(failure) => failure,
            ReplayFailure::Changed(how) => {
                self.end_at_replica(ROLLBACK).await;
                self.routing.state_mut().next_begins_at_primary();
                Failure::saying(FailureKind::ReadsChanged, errors::reads_changed(how))
            }
        };
        let after = self.refuse(&failure, sequence)?;
        self.routing.note_cut(CutTransaction::by(&failure));
        Ok(after)
    }

    /// The end of a session whose transaction has failed while the client is still sending a command.
    pub(super) fn cut_within_command(&self) -> SessionError {
        let text = "the transaction was rolled back while the client was sending a long statement";
        SessionError::new(Failure::new(FailureKind::BackendLost, text), None)
    }
}
