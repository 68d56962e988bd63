//! COM_STMT_EXECUTE: a client's statement, over a shared lane that has it, or prepared on the session's
//! connection first if it is not yet.

use std::rc::Rc;

use pool::{BackendStatementId, Binding, ClientStatementId, LongData, Lookup};
use session::Outcome;
use session::state::Needs;
use sql::{Marks, Uses};
use wire::execute::Execute;
use wire::statement::{LongData as Piece, statement_id};
use wire::{Command, ErrorCode};

use super::prepared_statement::StatementKey;
use crate::pooled::backend::connection::{Broken, OwnReply};
use crate::pooled::diagnostics::previous_statement::AskedPrepared;
use crate::pooled::exchange::observe;
use crate::pooled::exchange::{CutReply, Done, Job, Part, Reached, haste_of};
use crate::pooled::explain::explainable::Said;
use crate::pooled::failure::retry::{Repeat, effect_of};
use crate::pooled::lanes::candidate::{Candidate, Executing};
use crate::pooled::lanes::try_lane::LaneOutcome;
use crate::pooled::routing::target::Aim;
use crate::pooled::session::{After, CutOff, PooledSession};
use link::client_command::Incoming;

/// Appends the COM_STMT_SEND_LONG_DATA that the server has to get before the EXECUTE.
fn put_long_data(statement: BackendStatementId, long_data: &LongData, packets: &mut Vec<u8>) {
    for parameter in long_data.parameters() {
        let data = long_data.of(parameter).unwrap_or_default();
        let mut payload = Vec::new();
        Piece {
            statement_id: statement.0,
            parameter,
            data,
        }
        .encode(&mut payload);
        wire::write::put_packets(packets, 0, &payload);
    }
}

impl PooledSession {
    /// COM_STMT_EXECUTE.
    pub(crate) async fn execute(&mut self, incoming: Incoming) -> Result<After, CutOff> {
        let after = self.execute_whole(&incoming).await;
        self.worker.store.return_bytes(incoming.packets);
        after
    }

    async fn execute_whole(&mut self, incoming: &Incoming) -> Result<After, CutOff> {
        let argument = incoming.argument();
        let Ok(number) = statement_id(&argument) else {
            return self.malformed(incoming.sequence);
        };
        let Some(id) = self.sql_state.statements.resolve(number) else {
            return self
                .unknown_statement(incoming.sequence, Command::STMT_EXECUTE, number)
                .await;
        };
        let Some(statement) = self.sql_state.statements.statement(id) else {
            return Ok(After::Next);
        };
        let count = statement.parameter_count;
        let mut key = statement.statement.clone();
        let Ok(execute) = Execute::decode(&argument, self.client.capabilities, count) else {
            let function = self.server_function("mysqld_stmt_execute", "COM_STMT_EXECUTE");
            let text = format!("Incorrect arguments to {function}");
            Box::pin(self.put_down_error(WRONG_ARGUMENTS, &text)).await;
            self.say_error(incoming.sequence, WRONG_ARGUMENTS, &text);
            return Ok(After::Next);
        };
        if execute.flags & CURSOR_TYPES != 0 {
            key.cursor = Some(id);
        }
        if let Some(statement) = self.sql_state.statements.statement_mut(id) {
            statement.former_types.clone_from(&statement.types);
            if let Some(types) = execute.types
                && statement.types.as_deref() != Some(types)
            {
                let types = Rc::from(types);
                statement.types_seen.see(&types);
                statement.types = Some(types);
            }
        }
        let long_data = match self.sql_state.statements.take_long_data(id) {
            Ok(long_data) => long_data,
            Err(fault) => {
                let (code, text) = self.long_data_fault(&fault);
                Box::pin(self.put_down_error(code, &text)).await;
                self.say_error(incoming.sequence, code, &text);
                return Ok(After::Next);
            }
        };
        self.end_cursor_of(id);
        self.note_execution_of(&key, incoming.packets.len());
        if self.worker.seen.is_wanted() {
            self.note_seen(key.original().0.bytes());
        }
        let types = (self.sql_state.statements.statement(id)).and_then(|it| it.types.clone());
        let attributes = execute.named_attributes(
            count,
            types.as_deref().unwrap_or_default(),
            |parameter| long_data.of(parameter).is_some(),
            self.client.capabilities,
        );
        // What is malformed the server refuses.
        let attributes = attributes.unwrap_or_default();
        self.note_attributes(&attributes);
        let ruled = self.rule_execute(&key, &attributes, incoming.sequence);
        if let Some(after) = ruled.await? {
            return Ok(after);
        }
        if self.command.policy.is_some() {
            self.mirror_execute(&key, &execute, (count, types.as_deref()), &long_data);
        }
        let executing = Executing {
            id,
            key: &key,
            execute: &execute,
            types,
            parameter_count: count,
            is_special: !long_data.is_empty(),
        };
        self.execute_ruled(executing, &long_data, incoming).await
    }

    /// What is decided, seen to and known: where it goes, and that it goes there.
    async fn execute_ruled(
        &mut self,
        executing: Executing<'_>,
        long_data: &LongData,
        incoming: &Incoming,
    ) -> Result<After, CutOff> {
        let sequence = incoming.sequence;
        let mut key = executing.key.clone();
        if key.facts.marks.has(Marks::KILLS) {
            let killed = Box::pin(self.kill_prepared(&executing, long_data, incoming));
            if let Some(after) = killed.await? {
                return Ok(after);
            }
        }
        let mut standing = None;
        if key.facts.uses.has(PAST) {
            match Box::pin(self.ask_past_prepared(&key, sequence)).await {
                Ok(AskedPrepared::Told) => return Ok(After::Next),
                Ok(AskedPrepared::Left) => {}
                Ok(AskedPrepared::Standing(other, stands)) => {
                    key = other;
                    standing = stands;
                }
                Err(failure) => return self.refuse(&failure, sequence),
            }
        }
        self.name_more_prepared(&mut key);
        if self.is_like_refused(&key.facts, || key.digest) {
            key.doubt(Marks::REFUSED);
        }
        if self.must_leave(&key.facts) {
            let gone = Box::pin(self.move_to_primary(sequence)).await?;
            if let Some(after) = gone {
                return Ok(after);
            }
        }
        self.trace(&key.facts);
        let aim = self.aim_of_execution(&key);
        if let Err(failure) = self.leave_replica(aim, &key.facts).await {
            return self.refuse(&failure, sequence);
        }
        let executing = Executing {
            key: &key,
            is_special: executing.is_special || standing.is_some(),
            ..executing
        };
        let over = self.execute_over(&executing, long_data, incoming, aim);
        match over.await? {
            Executed::Done(outcome) => {
                if let Some(standing) = standing {
                    Box::pin(self.stood_in(standing, outcome)).await;
                }
                Ok(After::Next)
            }
            Executed::Told(after) => Ok(after),
        }
    }

    /// A cursor would keep the session from its primary.
    fn aim_of_execution(&self, key: &StatementKey) -> Aim {
        match key.cursor {
            Some(_) => self.ordered_aim(&key.facts).unwrap_or(Aim::Home),
            None => match self.aim(&key.facts) {
                Aim::Optimistic => Aim::Home,
                aim => aim,
            },
        }
    }

    /// Over a lane or a connection, another one if the first breaks and that does no harm.
    async fn execute_over(
        &mut self,
        executing: &Executing<'_>,
        long_data: &LongData,
        incoming: &Incoming,
        aim: Aim,
    ) -> Result<Executed, CutOff> {
        let key = executing.key;
        let candidate = Candidate {
            incoming,
            facts: &key.facts,
            part: Part::Whole,
            digest: Some(key.digest),
            execution: Some(executing),
        };
        let mut repeat = self.repeat_of(effect_of(&key.facts), aim);
        let mut on_lane = self.say_aboard(&candidate, aim).await?;
        loop {
            match on_lane {
                LaneOutcome::Told(told) => return Ok(Executed::Told(told.after)),
                LaneOutcome::NotOnLane { was_sent } => repeat.has_been_sent(was_sent),
                LaneOutcome::Refused => {
                    let aim = self.after_refusal(repeat.aim);
                    return self
                        .execute_refused(executing, long_data, incoming, aim)
                        .await;
                }
            }
            if let Err(failure) = self.hold(repeat.aim).await {
                return self.refuse(&failure, incoming.sequence).map(Executed::Told);
            }
            if self.asks_for_lost(&key.facts) {
                self.say_lost(incoming.sequence);
                return Ok(Executed::Told(After::Next));
            }
            on_lane = self.say_on_new_lane(&candidate, repeat.aim).await?;
            if !on_lane.is_untried() {
                continue;
            }
            let alarm = self.alarm();
            let outcome = self
                .execute_in_schema(executing, long_data, (incoming.sequence, &repeat))
                .await;
            drop(alarm);
            match outcome {
                Ok(Ok(done)) => {
                    self.learn(&done);
                    self.after_execute(executing.id, key, &done).await;
                    if self.routing.optimism.is_some() {
                        self.note_execution(executing.execution(incoming), &done);
                    }
                    if self.injects() {
                        let said = Said::Execution(executing, long_data);
                        Box::pin(self.inject_after(&said, &key.facts, &done)).await?;
                    }
                    return Ok(Executed::Done(done.outcome));
                }
                Ok(Err(own)) => {
                    self.pass_error(incoming.sequence, &own);
                    return Ok(Executed::Told(After::Next));
                }
                Err(cut) => {
                    let said = (Command::STMT_EXECUTE, incoming.sequence);
                    let told = self
                        .retry_or_report(cut, &key.facts, said, &mut repeat)
                        .await?;
                    if let Some(after) = told {
                        return Ok(Executed::Told(after));
                    }
                    if repeat.was_refused {
                        return self
                            .execute_refused(executing, long_data, incoming, repeat.aim)
                            .await;
                    }
                }
            }
        }
    }

    /// A replica has refused it because it writes: it runs where `aim` leads, as a statement that may do
    /// anything.
    async fn execute_refused(
        &mut self,
        executing: &Executing<'_>,
        long_data: &LongData,
        incoming: &Incoming,
        aim: Aim,
    ) -> Result<Executed, CutOff> {
        let mut key = executing.key.clone();
        self.note_refused(Rc::make_mut(&mut key.facts), key.digest);
        let again = Executing {
            key: &key,
            types: executing.types.clone(),
            ..*executing
        };
        Box::pin(self.execute_over(&again, long_data, incoming, aim)).await
    }

    /// One EXECUTE in the schema that the statement was prepared in, observed there.
    async fn execute_in_schema(
        &mut self,
        executing: &Executing<'_>,
        long_data: &LongData,
        (sequence, repeat): (u8, &Repeat),
    ) -> Result<Result<Done, Box<OwnReply>>, CutReply> {
        let key = executing.key;
        let own_schema = self.visit(key).await;
        let outcome = self
            .execute_there(executing, long_data, (sequence, repeat))
            .await;
        if let Ok(Ok(done)) = &outcome {
            let text = key.text.bytes();
            if let Some(due) = self.observe(Command::STMT_EXECUTE, &key.facts, text, done) {
                self.explain_later(&due, &key.facts, &Said::Execution(executing, long_data));
            }
        }
        self.return_to(own_schema);
        outcome
    }

    /// Goes to the schema that a statement was prepared in, and returns the session's own.
    pub(crate) async fn visit(&mut self, key: &StatementKey) -> Option<Rc<[u8]>> {
        if key.values.schema() != self.sql_state.session.values().schema() {
            Box::pin(self.settle_doubts()).await;
        }
        let table = &self.worker.store.values;
        self.sql_state.session.visit(table, key.values.schema())
    }

    /// Back to the session's own schema, where it has left it.
    pub(crate) fn return_to(&mut self, schema: Option<Rc<[u8]>>) {
        if let Some(schema) = schema {
            self.sql_state
                .session
                .return_to(&self.worker.store.values, &schema);
        }
    }

    /// One EXECUTE on the session's connection, which prepares first what it has not.
    async fn execute_there(
        &mut self,
        executing: &Executing<'_>,
        long_data: &LongData,
        (sequence, repeat): (u8, &Repeat),
    ) -> Result<Result<Done, Box<OwnReply>>, CutReply> {
        let (id, key, execute) = (executing.id, executing.key, executing.execute);
        let needs = Needs::of(&key.facts, key.text.bytes());
        // A procedure may run them.
        self.make_texts(&needs).await?;
        if self.is_mysql() {
            self.forget_others_types(id, key, long_data);
        }
        let backend_id = match self.backend_statement(key, &needs).await? {
            Ok(id) => id,
            Err(own) => return Ok(Err(Box::new(own))),
        };
        if self.injects() {
            let said = Said::Execution(executing, long_data);
            let injected = Box::pin(self.inject_before(&said, &key.facts, &needs)).await;
            if injected.is_err() {
                self.stays_unsent(key).await;
            }
            injected?;
        }
        let Some(lent) = &mut self.held.lease else {
            return Err(CutReply::unsent(Broken::Unexpected("no connection").into()));
        };
        let types = self
            .sql_state
            .statements
            .statement(id)
            .and_then(|it| it.types.clone());
        let types = match types {
            Some(types) => match lent.conn.prepared.bind(key, &types) {
                Binding::Seen => execute.types.map(|_| types),
                Binding::Send => Some(types),
            },
            None => None,
        };
        let mut packets = self.worker.store.take_bytes();
        put_long_data(backend_id, long_data, &mut packets);
        let mut payload = self.worker.store.take_bytes();
        Execute {
            statement_id: backend_id.0,
            types: types.as_deref(),
            ..*execute
        }
        .encode(self.client.capabilities, &mut payload);
        let next = wire::write::put_packets(&mut packets, 0, &payload);
        self.worker.store.return_bytes(payload);
        debug_assert!(next >= 1);
        let job = Job {
            command: Command::STMT_EXECUTE,
            packets: &packets,
            sequence: next.max(sequence),
            is_cut: false,
            needs,
            haste: haste_of(&key.facts),
            part: Part::Whole,
            warnings: None,
            changes_server: observe::may_change_server(&key.facts, key.text.bytes()),
            withholds: self.withholds(&key.facts, Part::Whole, repeat),
            files: self.files_named(&key.facts, key.text.bytes()),
        };
        let outcome = self.exchange(&job).await;
        self.worker.store.return_bytes(packets);
        if let Err(cut) = &outcome
            && cut.reached == Reached::Nobody
        {
            self.stays_unsent(key).await;
        }
        outcome.map(Ok)
    }

    /// An EXECUTE was not sent after all: the server has not seen its types, and the statement is at rest.
    pub(crate) async fn stays_unsent(&mut self, key: &StatementKey) {
        if let Some(lent) = &mut self.held.lease {
            lent.conn.prepared.unbind(key);
        }
        self.finish(key).await;
    }

    /// What MySQL makes of parameters, and of long data above all, depends on the types that they had before:
    /// some it converts to those, for others it prepares a statement again by itself. One to which others have
    /// given types that this client has never used is closed, so that it is prepared anew; so is one whose
    /// last types are others', where there is long data.
    fn forget_others_types(
        &mut self,
        id: ClientStatementId,
        key: &StatementKey,
        long_data: &LongData,
    ) {
        let statement = self.sql_state.statements.statement(id);
        let (Some(statement), Some(lent)) = (statement, &mut self.held.lease) else {
            return;
        };
        let prepared = &mut lent.conn.prepared;
        let will_do = prepared.has_seen_only(key, &statement.types_seen)
            && (long_data.is_empty() || prepared.has_types(key, statement.former_types.as_ref()));
        if !will_do && let Some(id) = prepared.remove(key) {
            lent.conn.close_statement(id);
        }
    }

    /// The statement's id on the session's connection; prepared there if need be.
    pub(crate) async fn backend_statement(
        &mut self,
        key: &StatementKey,
        needs: &Needs,
    ) -> Result<Result<BackendStatementId, OwnReply>, CutReply> {
        self.reset_if_unlike(needs).await?;
        let Some(lent) = &mut self.held.lease else {
            return Err(CutReply::unsent(Broken::Unexpected("no connection").into()));
        };
        match lent.conn.prepared.begin(key) {
            Lookup::Prepared(id) => Ok(Ok(id)),
            Lookup::Missing { close } => {
                if let Some(id) = close {
                    lent.conn.close_statement(id);
                }
                let prepared = Box::pin(self.prepare_there(key, needs)).await?;
                Ok(prepared.map(|(id, _)| id))
            }
        }
    }

    pub(crate) async fn after_execute(
        &mut self,
        id: ClientStatementId,
        key: &StatementKey,
        done: &Done,
    ) {
        let flags = done.tally.status.unwrap_or_default();
        let Some(lent) = &mut self.held.lease else {
            return;
        };
        match done.outcome {
            // It stays in use as long as its cursor is open.
            Outcome::Ok if flags.contains(wire::StatusFlags::CURSOR_EXISTS) => {
                self.sql_state.cursors.push((id, key.clone()));
                self.sql_state
                    .session
                    .cursors_open(self.sql_state.cursors.len());
                return;
            }
            Outcome::Ok if flags.contains(wire::StatusFlags::METADATA_CHANGED) => {
                self.worker.shared.definitions_changed();
            }
            Outcome::Ok => {}
            Outcome::Err(NEED_REPREPARE | UNKNOWN_HANDLER) => {
                self.worker.shared.definitions_changed();
                if let Some(id) = lent.conn.prepared.remove(key) {
                    lent.conn.close_statement(id);
                }
            }
            Outcome::Err(_) => lent.conn.prepared.unbind(key),
        }
        if key.cursor.is_some()
            && let Some(id) = lent.conn.prepared.remove(key)
        {
            // It wanted a cursor and got none; it is of no use to others.
            lent.conn.close_statement(id);
            return;
        }
        self.finish(key).await;
    }
}

/// How an execution has ended.
enum Executed {
    /// So, on the session's connection.
    Done(Outcome),
    /// Otherwise, and its client knows.
    Told(After),
}

/// What the last statement left cannot be put into a text that is prepared already: another one is
/// executed in its place.
const PAST: Uses = Uses::ROW_COUNT
    .with(Uses::FOUND_ROWS)
    .with(Uses::DIAGNOSTICS);

/// The flags of an EXECUTE that ask for a cursor of whatever kind.
const CURSOR_TYPES: u8 = 0b111;

/// ER_NEED_REPREPARE.
pub(crate) const NEED_REPREPARE: u16 = 1615;

/// ER_UNKNOWN_STMT_HANDLER.
pub(crate) const UNKNOWN_HANDLER: u16 = 1243;

/// ER_WRONG_ARGUMENTS.
pub(crate) const WRONG_ARGUMENTS: ErrorCode = ErrorCode {
    number: 1210,
    sqlstate: *b"HY000",
};
