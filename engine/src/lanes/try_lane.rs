//! Statements that may use a shared lane: which may, on which lane, and what happens if the lane cannot run them.

use std::rc::Rc;
use std::sync::Arc;

use config::LaneUse;
use pool::TypesSeen;
use route::lane_check::{NotLaneable, Observed, may_use_lane};
use route::{Backend, BackendId};
use session::Outcome;
use sql::Facts;
use wire::Capabilities;

use crate::session::PooledSession;
use backend::connection::BackendConn;
use backend::exchange_outcome::Done;
use backend::prepared_statement::StatementKey;
use backend::times::{StatementPath, Traffic};
use command::ending::Ending;
use command::lane_use::{LaneChoice, LaneFollowUp, LaneRefusal, Past};
use command::statement::{Executing, Statement};
use command::target::CommandTarget;
use lanes::lane::{SharedLane, is_like};
use lanes::lane_request::{LanePlan, LaneReply};
use link::query_command::CommandPart;
use relay::outcome::{After, SessionError};
use session::effect::effect_of;

/// A statement with more bytes does not use a lane.
const STATEMENT_BYTES_MAX: usize = 16 << 10;

/// The result of a statement that may use a shared lane.
pub(crate) enum LaneOutcome {
    /// The client has its reply.
    Told(Ending),
    /// The statement needs a connection of the session's own. `was_sent`: it was sent on a lane, and has had no answer.
    NotOnLane { was_sent: bool },
    /// A replica has refused the statement because it writes. The client has not heard that.
    Refused,
}

impl LaneOutcome {
    /// Whether the statement was not sent on any lane.
    pub(crate) fn is_untried(&self) -> bool {
        matches!(self, Self::NotOnLane { was_sent: false })
    }
}

impl PooledSession {
    /// Runs a statement over a shared lane, if it may use one. If it does not, the second value says what is done on
    /// the session's own connection.
    pub(crate) async fn try_lane(
        &mut self,
        statement: &Statement<'_>,
        command_target: CommandTarget,
    ) -> Result<(LaneOutcome, LaneFollowUp), SessionError> {
        self.take_up_saved();
        match self.lane_for(statement, command_target) {
            Ok(choice) => {
                let on_lane = self.travel(statement, command_target, choice).await?;
                Ok((on_lane, LaneFollowUp::Nothing))
            }
            Err(LaneRefusal { why, follow_up }) => {
                self.env.lanes.counts.note_unused(why);
                Ok((LaneOutcome::NotOnLane { was_sent: false }, follow_up))
            }
        }
    }

    /// Runs a statement over a new lane, if no idle connection was there for the lane that it could have used. The
    /// connection that the session has waited for becomes the lane. That is tried once.
    pub(crate) async fn try_new_lane(
        &mut self,
        statement: &Statement<'_>,
        command_target: CommandTarget,
        follow_up: &mut LaneFollowUp,
    ) -> Result<LaneOutcome, SessionError> {
        match self.new_lane(statement, follow_up) {
            Some(choice) => self.travel(statement, command_target, choice).await,
            None => Ok(LaneOutcome::NotOnLane { was_sent: false }),
        }
    }

    fn new_lane(
        &mut self,
        statement: &Statement<'_>,
        follow_up: &mut LaneFollowUp,
    ) -> Option<LaneChoice> {
        let LaneFollowUp::OpenLane { digest, stats } = *follow_up else {
            return None;
        };
        *follow_up = LaneFollowUp::Nothing;
        let lease = self.held.take()?;
        let backend = Arc::clone(&lease.conn.backend);
        let sub_pool = self.sub_pool(&backend);
        let lanes = &self.env.lanes;
        let waits = self.routing.waits();
        let fits = !lease.conn.is_outdated(&self.env.pool_env)
            && is_like(&lease.conn, self.sql_state.session())
            && lease.conn.pending_answers_count() == 0
            && !waits;
        let is_prepared = self.is_prepared(statement, |key, types| lease.conn.has(key, types));
        if !fits || !is_prepared || !lanes.has_room(sub_pool) {
            self.held.put(lease);
            return None;
        }
        let lane = lanes.open(sub_pool, lease);
        Some(LaneChoice {
            backend,
            digest,
            lane,
            stats,
        })
    }

    async fn travel(
        &mut self,
        statement: &Statement<'_>,
        command_target: CommandTarget,
        choice: LaneChoice,
    ) -> Result<LaneOutcome, SessionError> {
        let env = Rc::clone(&self.env);
        let sequence = statement.sequence();
        let counts = &env.lanes.counts;
        let flight = env.loads.begin(choice.backend.id);
        self.routing.state_mut().runs_at(choice.backend.id);
        self.control.settle_at(choice.backend.id, 0);
        let alarm = self.alarm();
        let usual_time = choice.stats.usual_time();
        let on_lane = self.run_on_lane(&choice.lane, statement, usual_time).await;
        drop((flight, alarm));
        match on_lane {
            Ok(None) => {
                counts.note_unused(NotLaneable::NoLane);
                Ok(LaneOutcome::NotOnLane { was_sent: false })
            }
            Ok(Some(LaneReply::Elsewhere)) => {
                counts.note_moved();
                Ok(LaneOutcome::NotOnLane { was_sent: true })
            }
            Ok(Some(LaneReply::Refused)) => {
                counts.note_moved();
                Ok(LaneOutcome::Refused)
            }
            Ok(Some(LaneReply::Killed)) => {
                self.interrupted(sequence);
                Ok(LaneOutcome::Told(Ending::last(After::Next)))
            }
            Ok(Some(LaneReply::Done(done, lane_plan))) => {
                counts.note_used();
                self.was_sent(statement, &choice, &done, lane_plan);
                Ok(LaneOutcome::Told(Ending::of(&done)))
            }
            Err(cut) => {
                let repeat = self.repeat_of(effect_of(statement.facts()), command_target);
                let ended = self.cut_short(cut, sequence, statement.command(), repeat);
                ended.map(Ending::last).map(LaneOutcome::Told)
            }
        }
    }

    /// Which of the session's statements may use lanes: as a rule says, or else the account, the listener, or the pool.
    fn lanes(&self) -> LaneUse {
        let ordered = self.command.policy.as_ref().and_then(|order| order.lanes);
        ordered.unwrap_or(self.routing.settings().lanes)
    }

    /// Chooses the lane of a statement.
    fn lane_for(
        &mut self,
        statement: &Statement<'_>,
        command_target: CommandTarget,
    ) -> Result<LaneChoice, LaneRefusal> {
        let bytes = statement.incoming().packets.len();
        self.check(bytes, statement.facts(), statement.command_part())?;
        match statement {
            Statement::Text(_) => {}
            Statement::Execution(executing) => self.check_execution(executing)?,
            Statement::Bulk(_) | Statement::Command(_) => return Err(NotLaneable::Execution.into()),
        }
        self.is_left_one().map_err(|_| NotLaneable::NoLane)?;
        let backend = self
            .backend(command_target, &[])
            .map_err(|_| NotLaneable::NoLane)?;
        if self.routing.waits() {
            return Err(NotLaneable::Waits.into());
        }
        let env = Rc::clone(&self.env);
        let digest = self.digest_of(statement);
        let stats = env.lanes.stats(backend.id, digest);
        if let Err(why) = stats.is_short() {
            let backend = backend.id;
            let follow_up = LaneFollowUp::Measure { backend, digest };
            return Err(LaneRefusal { why, follow_up });
        }
        if env.loads.in_flight(backend.id) == 0 {
            return Err(NotLaneable::Alone.into());
        }
        let lane = self.lane_to(&backend).map_err(|why| {
            let follow_up = LaneFollowUp::OpenLane { digest, stats };
            LaneRefusal { why, follow_up }
        })?;
        if !self.is_prepared(statement, |key, types| lane.has(key, types)) {
            self.prepare_on_lane(&lane, statement);
            return Err(NotLaneable::Unprepared.into());
        }
        Ok(LaneChoice {
            backend,
            digest,
            lane,
            stats,
        })
    }

    /// Returns a lane to a backend: an existing lane, or a new one over an idle connection.
    fn lane_to(&mut self, backend: &Arc<Backend>) -> Result<Rc<SharedLane>, NotLaneable> {
        let sub_pool = self.sub_pool(backend);
        let env = &self.env;
        let state = self.sql_state.session();
        env.lanes.lane(sub_pool, state, || {
            let nearness = |conn: &BackendConn| match is_like(conn, state) {
                true => conn.pending_answers_count(),
                false => u32::MAX,
            };
            let lease = env.pool.take_idle(sub_pool, nearness)?;
            if is_like(&lease.conn, state) && lease.conn.pending_answers_count() == 0 {
                return Some(lease);
            }
            env.pool.give_back(lease);
            None
        })
    }

    /// Whether an execution may use a lane at all.
    fn check_execution(&self, execution: &Executing<'_>) -> Result<(), NotLaneable> {
        let key = &execution.key;
        let wants_types = execution.parameter_count > 0 && execution.types.is_none();
        let is_special = execution.is_replaced || !execution.long_data.is_empty();
        let is_apart = !Rc::ptr_eq(&key.values, self.sql_state.session().values());
        match is_special || key.cursor.is_some() || wants_types || is_apart {
            true => Err(NotLaneable::Execution),
            false => Ok(()),
        }
    }

    /// Whether a statement is ready: `has` finds it prepared, or it is a text and needs no preparing.
    fn is_prepared(
        &self,
        statement: &Statement<'_>,
        has: impl FnOnce(&StatementKey, &TypesSeen) -> bool,
    ) -> bool {
        let Some((id, key)) = statement.prepared() else {
            return true;
        };
        let known = self.sql_state.statements().statement(id);
        known.is_some_and(|known| has(key, &known.types_seen))
    }

    /// Has a statement prepared on a lane, unless it is wanted on a lane for the first time.
    fn prepare_on_lane(&self, lane: &SharedLane, statement: &Statement<'_>) {
        if let Some((_, key)) = statement.prepared()
            && self.env.lanes.wanted.again(key)
        {
            lane.prepare(key);
        }
    }

    /// Whether a statement would use a lane if other statements were in flight to the same backend.
    pub fn would_use_lane(
        &self,
        text: &[u8],
        facts: &Facts,
        backend: Option<BackendId>,
    ) -> Result<(), NotLaneable> {
        self.check(text.len(), facts, CommandPart::Whole)?;
        let backend = backend.ok_or(NotLaneable::NoLane)?;
        let lanes = &self.env.lanes;
        let digest = lanes.digest(text, self.sql_state.session().flags());
        lanes.stats(backend, digest).is_short()
    }

    /// Whether a statement may use a lane, as far as the statement and its session decide that.
    fn check(&self, bytes: usize, facts: &Facts, part: CommandPart) -> Result<(), NotLaneable> {
        if self.lanes() == LaneUse::Off {
            return Err(NotLaneable::Off);
        }
        may_use_lane(
            facts,
            self.sql_state.session().flags().server,
            self.transaction(),
        )?;
        let is_held = self.held.has_connection()
            || self.sql_state.has_cursors()
            || !self.sql_state.session().is_plain();
        let is_owed =
            self.sql_state.pending_answers().is_pending() && !self.routing.lane_use().has_past();
        let tells = self.tracking.needs_own_connection();
        let key = self.identity.key();
        let is_compressed =
            self.client.is_compressed() || key.capabilities.contains(Capabilities::COMPRESS);
        let is_once = self.command.policy.as_ref().and_then(|it| it.retries) == Some(0);
        match () {
            () if self.injects() => Err(NotLaneable::Injected),
            () if is_once => Err(NotLaneable::Once),
            () if is_held || is_owed || self.sql_state.pending_answers().is_saving() || tells => {
                Err(NotLaneable::Session)
            }
            () if part != CommandPart::Whole => Err(NotLaneable::NoSelect),
            () if is_compressed => Err(NotLaneable::Compressed),
            () if bytes > STATEMENT_BYTES_MAX => Err(NotLaneable::TooLong),
            () => Ok(()),
        }
    }

    /// Ends a statement whose reply has gone to the client over a lane.
    fn was_sent(
        &mut self,
        statement: &Statement<'_>,
        choice: &LaneChoice,
        done: &Done,
        lane_plan: LanePlan,
    ) {
        self.command.timing.was(lane_plan.left, lane_plan.ended);
        let traffic = Traffic {
            sent: statement.incoming().packets.len() as u64,
            received: done.tally.bytes,
        };
        self.note_times(choice.backend.id, StatementPath::Lane, traffic);
        self.note_written_on_lane(&choice.backend);
        if let Some(order) = &mut self.command.policy {
            order.ended(&choice.backend, done.outcome);
        }
        let (facts, text) = (statement.facts(), statement.text());
        if let Some(due) = self.observe(statement.command(), facts, text, done) {
            self.explainer.plan_later(self, &due, statement);
        }
        let is_owed = self.sql_state.pending_answers().is_pending();
        let past = is_owed.then(|| Past::of(statement)).flatten();
        self.routing.lane_use_mut().note_past(past);
        let seen = Observed {
            took: lane_plan.took,
            bytes: lane_plan.bytes,
            has_warned: is_owed,
        };
        let lanes = &self.env.lanes;
        lanes.learn(choice.backend.id, choice.digest, &seen);
    }

    /// A statement has ended on the session's connection: notes its times if it is measured.
    pub(crate) fn learn(&self, follow_up: LaneFollowUp, done: &Done) {
        let LaneFollowUp::Measure { backend, digest } = follow_up else {
            return;
        };
        let seen = Observed {
            took: self.command.timing.taken(),
            bytes: done.tally.bytes,
            has_warned: done.outcome != Outcome::Ok
                || self.sql_state.pending_answers().is_pending(),
        };
        self.env.lanes.learn(backend, digest, &seen);
    }
}
