//! The steps of every statement: whether the proxy answers it, what rules say, where it goes, over a shared lane or a
//! connection of the session's own. If the connection breaks, the statement is sent again elsewhere, if that does no
//! harm.
//!
//! ```text
//!   understood ─► answered here? ─► rules ─► target ─► lane? ─► acquire ─► restore ─► run ─► observe ─► ended
//!                                                        ▲                                      │
//!                                                        └────── sent again elsewhere ◄─────────┘
//! ```
//!
//! Each feature is a folder, whose `mod.rs` says what the feature does. It is called here:
//!
//! | feature | step | entry |
//! |---|---|---|
//! | `rules` | rules | `apply_rules` |
//! | `limits` | rules; lane, run | `pass_limit`, which `rules` calls; `alarm` |
//! | `profiling` | rules | `choose_profile`, which `rules` calls |
//! | `mirror` | behind rules | `mirror` |
//! | `optimistic` | target; ended | `move_to_primary`; `note_optimistic` |
//! | `lanes` | lane; behind acquire | `try_lane`; `try_new_lane` |
//! | `injection` | run; ended | `inject_before`; `inject_after` |
//! | scripts (crate `scripted`) | before the first step | `CommandScript::act`, which `PooledSession::run` calls |

use std::borrow::Cow;

use session::Outcome;
use sql::{Effects, Marks, StatementKind};

use crate::command::encode::{Encoded, Refused};
use crate::lanes::try_lane::LaneOutcome;
use crate::session::PooledSession;
use backend::exchange_outcome::{Done, ExchangeError, Reached};
use command::ending::Ending;
use command::job::{Job, haste_of};
use command::lane_use::LaneFollowUp;
use command::repeat::Repeat;
use command::statement::{BackendCommand, CommandTask, Statement};
use command::target::CommandTarget;
use relay::outcome::{After, SessionError};
use session::effect::{Effect, effect_of};

impl PooledSession {
    /// Runs a statement whose facts are known, up to the end of its reply.
    pub(crate) async fn run_statement(
        &mut self,
        statement: &mut Statement<'_>,
    ) -> Result<Ending, SessionError> {
        if let Some(ending) = self.explain_here(statement) {
            return Ok(ending);
        }
        self.note_seen(statement);
        if let Some(ending) = self.apply_rules(statement).await? {
            return Ok(ending);
        }
        self.mirror(statement);
        if let Some(ending) = self.kill_here(statement).await? {
            return Ok(ending);
        }
        let standing = match self.answer_about_past(statement).await? {
            Ok(ending) => return Ok(ending),
            Err(standing) => standing,
        };
        let ending = self.send_to_backend(statement).await?;
        if let Some(standing) = standing {
            Box::pin(self.stood_in(standing, ending.outcome)).await;
        }
        Ok(ending)
    }

    /// Sends a statement that only a backend can answer.
    pub(crate) async fn send_to_backend(
        &mut self,
        statement: &mut Statement<'_>,
    ) -> Result<Ending, SessionError> {
        self.doubt(statement);
        if self.must_leave(statement.facts()) {
            let gone = Box::pin(self.move_to_primary(statement.sequence())).await?;
            if let Some(after) = gone {
                return Ok(Ending::last(after));
            }
        }
        let command_target = self.target(statement);
        if let Some(ending) = self.begin_or_end_here(statement, command_target) {
            return Ok(ending);
        }
        self.trace(statement.facts());
        if let Err(failure) = self.leave_replica(command_target, statement.facts()).await {
            let refused = self.refuse(&failure, statement.sequence());
            return refused.map(Ending::last);
        }
        // The first statement of a transaction waits in the queue where its BEGIN would have waited.
        let command_target = self.target_of_transaction(command_target);
        let repeat = self.repeat_of(effect_of(statement.facts()), command_target);
        let (on_lane, follow_up) = self.try_lane(statement, command_target).await?;
        self.deliver(statement, repeat, on_lane, follow_up).await
    }

    /// Sends a command that runs no statement to a backend.
    pub(crate) async fn send_command(
        &mut self,
        command: BackendCommand<'_>,
        (effect, command_target): (Effect, CommandTarget),
    ) -> Result<After, SessionError> {
        let mut statement = Statement::Command(command);
        let repeat = Repeat::of(effect, command_target);
        let on_lane = LaneOutcome::NotOnLane { was_sent: false };
        let ending = self.deliver(&mut statement, repeat, on_lane, LaneFollowUp::Nothing);
        Ok(ending.await?.after)
    }

    /// Runs a statement on a connection of the session's own. If that breaks, sends it again elsewhere, if that does no
    /// harm.
    async fn deliver(
        &mut self,
        statement: &mut Statement<'_>,
        mut repeat: Repeat,
        mut on_lane: LaneOutcome,
        mut follow_up: LaneFollowUp,
    ) -> Result<Ending, SessionError> {
        let command_target = repeat.command_target;
        loop {
            match on_lane {
                LaneOutcome::Told(ending) => return Ok(ending),
                LaneOutcome::NotOnLane { was_sent } => repeat.has_been_sent(was_sent),
                LaneOutcome::Refused => {
                    self.note_refused(statement);
                    repeat.note_refusal();
                    repeat.command_target = self.after_refusal(repeat.command_target);
                }
            }
            if let Err(failure) = self.hold(repeat.command_target).await {
                let refused = self.refuse(&failure, statement.sequence());
                return refused.map(Ending::last);
            }
            if let Some(error) = self.asks_for_lost(statement) {
                self.reply_error(statement.sequence(), &error);
                return Ok(Ending::last(After::Next));
            }
            on_lane = self
                .try_new_lane(statement, repeat.command_target, &mut follow_up)
                .await?;
            if !on_lane.is_untried() {
                continue;
            }
            self.note_origin(statement);
            match self.run_here(statement, &repeat).await {
                Ok(Ok(done)) => {
                    self.learn(follow_up, &done);
                    return self.statement_ended(statement, command_target, &done).await;
                }
                Ok(Err(own)) => {
                    self.pass_error(statement.sequence(), &own);
                    return Ok(Ending::last(After::Next));
                }
                Err(cut) => {
                    if let Some(ending) = self.was_cut(statement, cut, &mut repeat).await? {
                        return Ok(ending);
                    }
                }
            }
        }
    }

    /// Runs a statement on the session's connection. The inner error is the server's reply to what the statement needs
    /// first.
    pub(crate) async fn run_here(
        &mut self,
        statement: &mut Statement<'_>,
        repeat: &Repeat,
    ) -> Result<Result<Done, Refused>, ExchangeError> {
        if let Statement::Command(command) = statement {
            return Box::pin(self.run_command(command)).await;
        }
        if let Statement::Text(query) = statement {
            if let Some(state_query) = self.sql_state.session().state_query_before(&query.facts) {
                Box::pin(self.query_state_before(&state_query)).await;
            }
            self.apply_set(query);
        }
        let own_schema = match statement.prepared() {
            Some((_, key)) => self.visit(key).await,
            None if statement.facts().kind != StatementKind::Execute => None,
            None => self.visit_text(statement.facts(), statement.text()).await,
        };
        let alarm = self.alarm();
        let outcome = self.run_in_schema(statement, repeat).await;
        drop(alarm);
        self.return_to(own_schema);
        outcome
    }

    /// Runs the statement when the session is in the schema that the statement was prepared in.
    async fn run_in_schema(
        &mut self,
        statement: &Statement<'_>,
        repeat: &Repeat,
    ) -> Result<Result<Done, Refused>, ExchangeError> {
        let needs = statement.needs();
        let encoded = match statement {
            Statement::Text(query) if !self.may_make_texts(&needs) => Encoded::of_text(query),
            _ => match self.encode(statement, &needs).await? {
                Ok(encoded) => encoded,
                Err(refused) => return Ok(Err(refused)),
            },
        };
        let Encoded { packets, sequence } = encoded;
        let (facts, text, part) = (
            statement.facts(),
            statement.text(),
            statement.command_part(),
        );
        if self.injects()
            && !part.follows()
            && let Err(cut) = Box::pin(self.inject_before(statement, &needs)).await
        {
            self.was_not_sent(statement);
            return Err(cut);
        }
        if facts.kind == StatementKind::Install {
            // A prepared statement that a connection keeps may hold the plugin.
            Box::pin(self.close_kept()).await;
        }
        let begins = self.begins_movable(facts);
        let job = Job {
            command: statement.command(),
            packets: &packets,
            sequence,
            is_cut: false,
            needs,
            haste: haste_of(facts),
            command_part: part,
            warnings: None,
            changes_server: self.may_change_server(facts, text),
            withholds: self.withholds(facts, part, repeat),
            files: self.files_named(facts, text),
        };
        let outcome = self.exchange(&job).await;
        drop(job);
        if let Cow::Owned(packets) = packets {
            self.env.pool_env.store.return_bytes(packets);
        }
        match &outcome {
            Ok(done) => {
                if let Some(due) = self.observe(statement.command(), facts, text, done) {
                    self.explainer.plan_later(self, &due, statement);
                }
                if begins {
                    self.note_movable_begin(done);
                }
            }
            Err(cut) if cut.reached == Reached::Nobody => self.was_not_sent(statement),
            Err(_) => {}
        }
        outcome.map(Ok)
    }

    /// Notes which session runs a statement on this connection, for the schema history.
    #[inline]
    fn note_origin(&self, statement: &Statement<'_>) {
        let origins = &self.env.relay.origins;
        if origins.is_wanted()
            && let Some(conn) = self.held.connection()
        {
            let thread = (conn.backend.id, conn.thread_id);
            let said = (statement.facts(), statement.text());
            let now = self.env.now().0;
            let session = || self.control.info();
            origins.note_statement(said, thread, now, session);
        }
    }

    /// Adds to the statement's facts what is known about it beyond its text.
    fn doubt(&self, statement: &mut Statement<'_>) {
        self.name_hidden_objects(statement);
        if self.is_like_refused(statement.facts(), || self.digest_of(statement)) {
            statement.doubt(Marks::REFUSED);
        }
    }

    /// The target of a statement.
    fn target(&mut self, statement: &Statement<'_>) -> CommandTarget {
        let facts = statement.facts();
        match statement {
            // A cursor would keep the session at a replica.
            Statement::Execution(executing) if executing.key.cursor.is_some() => {
                self.home_target(facts)
            }
            Statement::Bulk(_) => self.home_target(facts),
            // In a command of several statements another part may write, and a prepared statement may not be a BEGIN.
            _ => match self.command_target(facts) {
                CommandTarget::Optimistic if !statement.is_text_alone() => CommandTarget::Home,
                command_target => command_target,
            },
        }
    }

    /// Ends a statement that has had its reply on the session's connection.
    async fn statement_ended(
        &mut self,
        statement: &mut Statement<'_>,
        command_target: CommandTarget,
        done: &Done,
    ) -> Result<Ending, SessionError> {
        match statement {
            Statement::Text(query) => {
                if let Outcome::Err(_) = done.outcome {
                    self.undo_settings(query);
                }
            }
            Statement::Execution(executing) => {
                self.after_execute(executing.id, &executing.key, done);
            }
            Statement::Bulk(bulk) => {
                self.held.unbind(&bulk.key);
                self.after_execute(bulk.id, &bulk.key, done);
            }
            Statement::Command(command) => {
                self.command_ended(command, done);
                return Ok(Ending::of(done));
            }
        }
        self.note_optimistic(statement, command_target, done);
        if self.injects() && (!statement.command_part().has_more() || done.outcome != Outcome::Ok) {
            Box::pin(self.inject_after(statement, done)).await?;
        }
        let ends = statement.facts().effects.has(Effects::DISCONNECTED);
        if ends && done.outcome == Outcome::Ok {
            return self.released().await.map(Ending::last);
        }
        Ok(Ending::of(done))
    }

    /// Handles a cut of the exchange. `None`: the statement is sent again. `Some`: the client has its reply.
    async fn was_cut(
        &mut self,
        statement: &mut Statement<'_>,
        cut: ExchangeError,
        repeat: &mut Repeat,
    ) -> Result<Option<Ending>, SessionError> {
        let said = (statement.command(), statement.sequence());
        let told = match statement {
            Statement::Command(command) if !command.prepares() => {
                let may_repeat = matches!(command.task, CommandTask::Reply(_));
                match may_repeat && self.again(&cut, repeat) {
                    true => None,
                    false => Some(self.cut_short(cut, said.1, said.0, *repeat)?),
                }
            }
            _ => {
                let told = self.retry_or_report(cut, statement.facts(), said, repeat);
                told.await?
            }
        };
        if let Some(after) = told {
            if let Statement::Text(query) = statement {
                self.undo_settings(query);
            }
            return Ok(Some(Ending::last(after)));
        }
        if repeat.was_refused && !statement.facts().is_doubted() {
            self.note_refused(statement);
        }
        Ok(None)
    }
}
