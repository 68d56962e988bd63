//! COM_QUERY: read once, rewritten where it asks about another connection's past, sent, observed.

use std::rc::Rc;

use sql::{Effects, Facts, Kind, Mention, Role, Show, Uses};
use wire::Command;
use wire::query::Query;

use crate::pooled::backend::connection::OwnReply;
use crate::pooled::diagnostics::previous_statement::Asked;
use crate::pooled::exchange::{CutReply, Done, Job, Part, haste_of};
use crate::pooled::explain::explainable::Said;
use crate::pooled::failure::retry::{Repeat, effect_of};
use crate::pooled::kill::{KillingText, may_kill};
use crate::pooled::lanes::candidate::Candidate;
use crate::pooled::lanes::try_lane::LaneOutcome;
use crate::pooled::routing::target::Aim;
use crate::pooled::rules::evaluate_rules::Carries;
use crate::pooled::session::{After, CutOff, PooledSession};
use link::client_command::Incoming;
use session::Outcome;
use session::state::Needs;
use session::track_settings::SessionTrackSettings;
use sql::proxy_explain;
use stats::statement_stats::Subject;

impl PooledSession {
    pub(crate) async fn query(&mut self, mut incoming: Incoming) -> Result<After, CutOff> {
        let mut facts = self.worker.store.take_facts();
        let told = self.run_query(&mut incoming, &mut facts, Part::Whole).await;
        self.worker.store.return_facts(facts);
        self.worker.store.return_bytes(incoming.packets);
        Ok(told?.after)
    }

    /// A command, or one of its statements.
    async fn run_query(
        &mut self,
        incoming: &mut Incoming,
        facts: &mut Box<Facts>,
        part: Part,
    ) -> Result<Ending, CutOff> {
        let flags = self.sql_state.session.flags();
        let carries;
        let mut digest;
        {
            let argument = incoming.argument();
            let Ok(query) = Query::decode(&argument, self.client.capabilities) else {
                return self.malformed(incoming.sequence).map(Ending::last);
            };
            carries = match query.has_attributes() {
                true => Carries::Attributes,
                false => Carries::Nothing,
            };
            digest = self.read_facts(facts, query.text, incoming.packets.len());
            if carries == Carries::Attributes && self.worker.insight.wants().tracing.is_some() {
                let attributes = query.named_attributes(self.client.capabilities);
                self.note_attributes(&attributes.unwrap_or_default());
            }
            self.trust(facts, query.text);
            if self.may_ask()
                && let Some(inquiry) = proxy_explain(query.text, flags)
            {
                let answer = self.explain(inquiry, query.text);
                self.say_answer(incoming.sequence, &answer);
                return Ok(Ending::last(After::Next));
            }
        }
        if part == Part::Whole && self.worker.seen.is_wanted() {
            let argument = incoming.argument();
            if let Ok(query) = Query::decode(&argument, self.client.capabilities) {
                self.note_seen(query.text);
            }
        }
        if part == Part::Whole && self.is_ruled(facts, carries) {
            match Box::pin(self.rule_query(incoming.take(), facts, digest)).await? {
                Answered::Whole(after) => return Ok(Ending::last(after)),
                Answered::Left(left) => *incoming = left,
            }
            // It may have another text now.
            digest = None;
        }
        if may_kill(facts) {
            match Box::pin(self.kill_by_text(incoming.take(), facts, part)).await? {
                KillingText::Told(told) => return Ok(told),
                KillingText::Left(left) => *incoming = left,
                KillingText::InParts(first, texts) => {
                    return Box::pin(self.say_in_parts(first, facts, texts)).await;
                }
            }
            // It may have another text now.
            digest = None;
        }
        let mut standing = None;
        if asks(facts) {
            digest = None;
            match Box::pin(self.ask_past(incoming.take(), facts, part)).await? {
                Asked::Told(told) => return Ok(told),
                Asked::Left(left) => *incoming = left,
                Asked::Standing(left, stands) => {
                    *incoming = left;
                    standing = Some(stands);
                }
                Asked::InParts(first, texts) => {
                    return Box::pin(self.say_in_parts(first, facts, texts)).await;
                }
            }
        }
        // What MariaDB's routines leave of the list that somebody else has left.
        self.command.wants_clear = facts.effects.has(Effects::ANYTHING) && !self.is_mysql();
        let told = self.run_with_retry(incoming, facts, part, digest).await?;
        if let Some(standing) = standing {
            Box::pin(self.stood_in(standing, told.outcome)).await;
        }
        Ok(told)
    }

    /// Takes a statement for a read whose functions are declared to read only.
    #[inline]
    pub(crate) fn trust(&self, facts: &mut Facts, text: &[u8]) {
        if facts.marks.has(sql::Marks::UNKNOWN_FUNCTION) {
            facts.trust(text, &self.worker.book.borrow().compiled.functions);
        }
    }

    /// Several statements of which one asks about what was before: one after the other, as the servers
    /// run them, up to the last or to an error.
    async fn say_in_parts(
        &mut self,
        first: Incoming,
        facts: &mut Box<Facts>,
        texts: Vec<Vec<u8>>,
    ) -> Result<Ending, CutOff> {
        let argument = first.argument().into_owned();
        let Ok(query) = Query::decode(&argument, self.client.capabilities) else {
            return self.malformed(first.sequence).map(Ending::last);
        };
        let mut told = Ending::more(first.sequence);
        let last = texts.len().saturating_sub(1);
        for (at, text) in texts.iter().enumerate() {
            let Some(sequence) = told.next_sequence else {
                return Ok(told);
            };
            let part = match at {
                0 => Part::First,
                _ if at == last => Part::Last,
                _ => Part::Middle,
            };
            let mut payload = Vec::new();
            Query { text, ..query }.encode(self.client.capabilities, &mut payload);
            let mut packets = Vec::new();
            wire::write::put_packets(&mut packets, 0, &payload);
            let mut incoming = Incoming {
                command: Command::QUERY,
                packets,
                sequence,
                is_cut: false,
            };
            if at > 0 {
                self.command.timing.goes_on();
            }
            told = self.run_query(&mut incoming, facts, part).await?;
        }
        Ok(told)
    }

    /// Over a connection, another one if the first breaks and that does no harm.
    pub(crate) async fn run_with_retry(
        &mut self,
        incoming: &Incoming,
        facts: &mut Box<Facts>,
        part: Part,
        digest: Option<u64>,
    ) -> Result<Ending, CutOff> {
        let mut sight = None;
        self.doubt(incoming, facts, digest);
        if self.must_leave(facts) {
            let gone = Box::pin(self.move_to_primary(incoming.sequence)).await?;
            if let Some(after) = gone {
                return Ok(Ending::last(after));
            }
        }
        self.trace(facts);
        let aim = match (self.aim(facts), part) {
            // Another part may write.
            (Aim::Optimistic, Part::First | Part::Middle | Part::Last) => Aim::Home,
            (aim, _) => aim,
        };
        if let Err(failure) = self.leave_replica(aim, facts).await {
            return self.refuse(&failure, incoming.sequence).map(Ending::last);
        }
        let mut repeat = self.repeat_of(effect_of(facts), aim);
        let candidate = Candidate::of_text(incoming, facts, part, digest);
        let mut on_lane = self.say_aboard(&candidate, aim).await?;
        loop {
            match on_lane {
                LaneOutcome::Told(told) => return Ok(told),
                LaneOutcome::NotOnLane { was_sent } => repeat.has_been_sent(was_sent),
                LaneOutcome::Refused => {
                    self.note_refused(facts, self.digest_of(incoming, digest));
                    repeat.note_refusal();
                    repeat.aim = self.after_refusal(repeat.aim);
                }
            }
            if let Err(failure) = self.hold(repeat.aim).await {
                return self.refuse(&failure, incoming.sequence).map(Ending::last);
            }
            if self.asks_for_lost(facts) {
                self.say_lost(incoming.sequence);
                return Ok(Ending::last(After::Next));
            }
            let candidate = Candidate::of_text(incoming, facts, part, digest);
            on_lane = self.say_on_new_lane(&candidate, repeat.aim).await?;
            if !on_lane.is_untried() {
                continue;
            }
            match self
                .run_once(incoming, facts, (part, &repeat), &mut sight)
                .await
            {
                Ok(Ok(done)) => {
                    self.has_said(&done, facts, aim, incoming, sight);
                    if self.injects() && (!part.has_more() || done.outcome != Outcome::Ok) {
                        Box::pin(self.inject_after_query(incoming, facts, &done)).await?;
                    }
                    let ends = facts.effects.has(Effects::DISCONNECTED);
                    if ends && done.outcome == Outcome::Ok {
                        return self.released().await.map(Ending::last);
                    }
                    return Ok(Ending::of(&done));
                }
                Ok(Err(own)) => {
                    self.pass_error(incoming.sequence, &own);
                    return Ok(Ending::last(After::Next));
                }
                Err(cut) => {
                    let said = (Command::QUERY, incoming.sequence);
                    if let Some(after) = self.retry_or_report(cut, facts, said, &mut repeat).await?
                    {
                        if let Some(former) = sight.take() {
                            self.tracking.settings = Some(former);
                        }
                        return Ok(Ending::last(after));
                    }
                    if repeat.was_refused && !facts.is_doubted() {
                        let digest = self.digest_of(incoming, digest);
                        self.note_refused(facts, digest);
                    }
                }
            }
        }
    }

    /// Takes into account what the statement does beyond what its text says, as far as that is known.
    fn doubt(&self, incoming: &Incoming, facts: &mut Facts, digest: Option<u64>) {
        {
            let argument = incoming.argument();
            let query = Query::decode(&argument, self.client.capabilities);
            self.name_more(facts, query.map(|query| query.text).unwrap_or_default());
        }
        self.doubt_refused(facts, || self.digest_of(incoming, digest));
    }

    /// The hash of a text's digest.
    fn digest_of(&self, incoming: &Incoming, known: Option<u64>) -> u64 {
        known.unwrap_or_else(|| {
            let argument = incoming.argument();
            let query = Query::decode(&argument, self.client.capabilities);
            let text = query.map(|query| query.text).unwrap_or_default();
            self.worker
                .lanes
                .digest(text, self.sql_state.session.flags())
        })
    }

    /// On the session's connection. The inner error is the server's own, about what the statement needs.
    async fn run_once(
        &mut self,
        incoming: &Incoming,
        facts: &Facts,
        (part, repeat): (Part, &Repeat),
        sight: &mut Option<Rc<SessionTrackSettings>>,
    ) -> Result<Result<Done, Box<OwnReply>>, CutReply> {
        if let Some(inquiry) = self.sql_state.session.inquiry_before(facts) {
            Box::pin(self.inquire_before(&inquiry)).await;
        }
        if sight.is_none() {
            *sight = self.apply_set(facts, incoming);
        }
        let argument = incoming.argument();
        // It has been read before.
        let query = Query::decode(&argument, self.client.capabilities);
        let text = query.map(|query| query.text).unwrap_or_default();
        let job = Job {
            part,
            changes_server: self.may_change_server(facts, text),
            withholds: self.withholds(facts, part, repeat),
            files: self.files_named(facts, text),
            ..Job::of(incoming, Needs::of(facts, text), haste_of(facts))
        };
        let own_schema = self.visit_text(facts, text).await;
        if let Some(refused) = self.make_texts_for(facts, &job.needs).await.transpose() {
            self.return_to(own_schema);
            return refused.map(|own| Err(Box::new(own)));
        }
        if self.injects() && !part.follows() {
            let said = Said::Text(text);
            let injected = Box::pin(self.inject_before(&said, facts, &job.needs)).await;
            if let Err(cut) = injected {
                self.return_to(own_schema);
                return Err(cut);
            }
        }
        if facts.kind == Kind::Install {
            // A statement that is kept prepared may hold the plugin.
            Box::pin(self.close_kept()).await;
        }
        let begins = self.begins_movable(facts);
        let alarm = self.alarm();
        let outcome = self.exchange(&job).await.map(Ok);
        drop(alarm);
        if let Ok(Ok(done)) = &outcome {
            if let Some(due) = self.observe(Command::QUERY, facts, text, done) {
                self.explain_later(&due, facts, &Said::Text(text));
            }
            if begins {
                self.note_begun(done);
            }
        }
        self.return_to(own_schema);
        outcome
    }

    /// What a rule has sent behind it.
    async fn inject_after_query(
        &mut self,
        incoming: &Incoming,
        facts: &Facts,
        done: &Done,
    ) -> Result<(), CutOff> {
        let argument = incoming.argument();
        let query = Query::decode(&argument, self.client.capabilities);
        let said = Said::Text(query.map(|it| it.text).unwrap_or_default());
        self.inject_after(&said, facts, done).await
    }

    /// It has had its reply, on the session's connection.
    fn has_said(
        &mut self,
        done: &Done,
        facts: &Facts,
        aim: Aim,
        incoming: &Incoming,
        sight: Option<Rc<SessionTrackSettings>>,
    ) {
        self.learn(done);
        if let (Outcome::Err(_), Some(sight)) = (done.outcome, sight) {
            self.tracking.settings = Some(sight);
        }
        if self.routing.optimism.is_some() || matches!(facts.kind, Kind::Begin(_)) {
            self.note_optimism(facts, aim, incoming, done);
        }
    }

    /// COMMIT RELEASE: the server has closed the connection behind its OK, and so it is with the
    /// client's.
    async fn released(&mut self) -> Result<After, CutOff> {
        self.drop_lent(pool::CloseReason::Ended);
        // A client that has gone is no longer interested.
        let _ = self.client.leg.drained().await;
        Ok(After::Ended(crate::relay::End::BackendClosed))
    }

    /// A SET of what the client is told of holds for its own reply; what it was is returned.
    fn apply_set(
        &mut self,
        facts: &Facts,
        incoming: &Incoming,
    ) -> Option<Rc<SessionTrackSettings>> {
        let conn = &self.held.lease.as_ref()?.conn;
        let sight = self
            .tracking
            .settings
            .get_or_insert_with(|| Rc::clone(&conn.sight));
        if facts.assignments.is_empty() && !facts.uses.has(Uses::VARIABLES) {
            return None;
        }
        let argument = incoming.argument();
        let query = Query::decode(&argument, self.client.capabilities).ok()?;
        if shows_settings(facts, query.text) {
            self.tracking.shows = Some(Rc::clone(sight));
        }
        let before = Rc::clone(sight);
        let mut foreseen = SessionTrackSettings::clone(sight);
        foreseen.apply_set(facts, query.text);
        if foreseen != *before {
            *sight = Rc::new(foreseen);
        }
        Some(before)
    }

    /// After a statement: what it changed, by the server's word and its text.
    /// It is returned where it is due to be explained.
    pub(crate) fn observe(
        &mut self,
        command: Command,
        facts: &Facts,
        text: &[u8],
        done: &Done,
    ) -> Option<Subject> {
        if let (Some(order), Some(lent)) = (&mut self.command.policy, &self.held.lease) {
            order.ended(&lent.conn.backend, done.outcome);
        }
        let due = self.note_statement(done);
        if let Some(trace) = self.command.trace.take() {
            self.record(&trace, facts, text, done);
        }
        crate::pooled::exchange::observe::observe(self, command, facts, text, done);
        due
    }

    /// A command whose payload does not hold what it must: the servers' own answer.
    pub(crate) fn malformed(&mut self, sequence: u8) -> Result<After, CutOff> {
        let code = wire::ErrorCode::MALFORMED_PACKET;
        self.say_error(sequence, code, "Malformed communication packet.");
        Ok(After::Next)
    }
}

/// How a command has ended, or a part of it.
pub(crate) struct Ending {
    pub after: After,
    pub outcome: Outcome,
    /// The id of the next part's first packet; none where none may follow.
    pub next_sequence: Option<u8>,
}

impl Ending {
    /// Nothing follows.
    pub(crate) fn last(after: After) -> Self {
        Self {
            after,
            outcome: Outcome::Err(0),
            next_sequence: None,
        }
    }

    /// Another part may follow.
    pub(crate) fn more(next_sequence: u8) -> Self {
        Self {
            after: After::Next,
            outcome: Outcome::Ok,
            next_sequence: Some(next_sequence),
        }
    }

    pub(crate) fn of(done: &Done) -> Self {
        Self {
            after: After::Next,
            outcome: done.outcome,
            next_sequence: (done.outcome == Outcome::Ok).then_some(done.next_sequence),
        }
    }
}

/// Whether a statement may show what the server tells of changes: then it shows what the client has
/// set, and not what the proxy has.
fn shows_settings(facts: &Facts, text: &[u8]) -> bool {
    let is_setting = |mention: &Mention| {
        let name = mention.name.name(text).to_ascii_lowercase();
        name.starts_with(b"session_track_")
    };
    facts.uses.has(Uses::VARIABLES)
        && (facts.kind == Kind::Show(Show::Variables)
            || facts.tables().next().is_some()
            || facts.mentions_of(Role::VariableRead).any(is_setting))
}

/// What became of a statement that asks.
pub(crate) enum Answered {
    /// Its client has its reply.
    Whole(After),
    /// A backend is asked, by this.
    Left(Incoming),
}

/// Whether a statement asks about the connection's past, or its id.
fn asks(facts: &Facts) -> bool {
    let about = Uses::CONNECTION_ID
        | Uses::ROW_COUNT
        | Uses::FOUND_ROWS
        | Uses::LAST_INSERT_ID
        | Uses::DIAGNOSTICS;
    facts.uses.has(about)
}
