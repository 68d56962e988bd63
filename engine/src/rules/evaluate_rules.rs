//! Evaluates rules and hints for a client's command, and does all that they want before anything is sent: log, answer,
//! refuse, delay, rewrite. Later steps read the rest from the command's
//! [`CommandPolicy`](command::command_policy::CommandPolicy).

use std::time::SystemTime;

use config::{HintStyle, PinRule, SessionMode};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use route::Explanation;
use route::rules::{
    Attribute, By, Chance, Client, Counters, Hints, Judgement, LocalTime, Occasion, Record, Reply,
    RuleRecorder,
};
use sql::Facts;
use wire::ErrorCode;
use wire::attribute::QueryAttribute;
use wire::errors::{self, ProxyError};

use crate::session::PooledSession;
use crate::session::session_start::{hold_of, pin_of};
use backend::rule_set::RuleSet;
use command::command_policy::CommandPolicy;
use command::ending::Ending;
use command::statement::Statement;
use command::text_table::text_column;
use link::query_command::{Carries, QueryCommand};
use relay::outcome::{After, SessionError};
use script_host::shadow_queue::Reflection;

/// A command, as rules and hints see it.
pub(crate) struct RuleInput<'a> {
    /// The statement.
    pub text: &'a [u8],
    /// The facts of its text.
    pub facts: &'a Facts,
    /// The hash of its digest, if that is known.
    pub digest: Option<u64>,
    /// The query's attributes.
    pub attributes: &'a [QueryAttribute<'a>],
    /// The sequence id that its reply begins with.
    pub sequence: u8,
    /// The form of its reply.
    pub form: Form,
}

/// The form of a command's reply, and with it which parts of a judgement apply now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// COM_QUERY.
    Text,
    /// COM_STMT_PREPARE: rules may refuse or rewrite it now; everything else waits for the execution.
    Prepare,
    /// COM_STMT_EXECUTE: it has been rewritten already.
    Binary,
}

impl<'a> RuleInput<'a> {
    /// The input for a text without attributes.
    pub(super) fn of_text(text: &'a [u8], facts: &'a Facts, sequence: u8) -> Self {
        Self {
            text,
            facts,
            digest: None,
            attributes: &[],
            sequence,
            form: Form::Text,
        }
    }
}

/// The decision of rules and hints about a command.
pub(super) enum Ruled {
    /// The client has its reply.
    Answered(After),
    /// The command goes on, with this text in place of its own if there is one.
    Goes(Option<Vec<u8>>),
    /// A rule answers the statement when it is executed: with these columns, or with OK if there are none.
    Promised(Vec<String>),
}

impl PooledSession {
    /// Whether any rule, hint, script or sample may concern a statement at all.
    pub(crate) fn is_ruled(&mut self, facts: &Facts, carries: Carries) -> bool {
        if self.script_route().is_some() {
            return true;
        }
        if matches!(self.routing.reflection(), Reflection::Itself) {
            return false;
        }
        let rule_set = self.env.rule_set.borrow();
        self.command.is_sampled = self.is_picked(&rule_set);
        self.command.is_sampled
            || !rule_set.compiled.rules.is_empty()
            || ((carries == Carries::Attributes || !facts.comments.is_empty())
                && !rule_set.hints_of(self.identity.account()).is_empty())
    }

    /// The route that the command's script has given it, in the form of a hint.
    fn script_route(&self) -> Option<&[u8]> {
        self.command.policy.as_ref()?.script.as_deref()
    }

    /// Evaluates the rules and hints for a statement, and does what they want before it is sent. `Some`: the client has
    /// its reply.
    pub(crate) async fn apply_rules(
        &mut self,
        statement: &mut Statement<'_>,
    ) -> Result<Option<Ending>, SessionError> {
        let after = match statement {
            // If a command holds several statements, its rules were evaluated once for the whole command.
            Statement::Text(query) if query.command_part.is_of_several() => None,
            Statement::Command(_) => None,
            Statement::Text(query) => match self.is_ruled(&query.facts, query.carries()) {
                true => Box::pin(self.rule_query(query)).await?,
                false => None,
            },
            Statement::Execution(executing) => {
                let (attributes, sequence) = (&executing.attributes, executing.incoming.sequence);
                let told = self.rule_execute(&executing.key, attributes, sequence);
                told.await?
            }
            Statement::Bulk(bulk) => {
                let told = self.rule_execute(&bulk.key, &[], bulk.incoming.sequence);
                told.await?
            }
        };
        Ok(after.map(Ending::last))
    }

    /// Evaluates the rules and hints for a COM_QUERY, and does what they want before it is sent.
    async fn rule_query(
        &mut self,
        query: &mut QueryCommand,
    ) -> Result<Option<After>, SessionError> {
        let ruled = {
            let decoded = query.query();
            let attributes = decoded.named_attributes(self.client.capabilities());
            let input = RuleInput {
                text: decoded.text,
                facts: &query.facts,
                digest: query.digest,
                attributes: &attributes.unwrap_or_default(),
                sequence: query.incoming().sequence,
                form: Form::Text,
            };
            self.rule(&input).await?
        };
        match ruled {
            Ruled::Answered(after) => return Ok(Some(after)),
            Ruled::Goes(None) | Ruled::Promised(_) => {}
            Ruled::Goes(Some(text)) => {
                self.replace_text(query, &text).await;
                self.trust(&mut query.facts, &text);
            }
        }
        Ok(None)
    }

    /// Evaluates the rules and hints for a command, and does what they want before it is sent.
    pub(super) async fn rule(&mut self, input: &RuleInput<'_>) -> Result<Ruled, SessionError> {
        let rule_set = self.env.rule_set();
        let nothing = Counters::default();
        let counters = match input.form {
            Form::Prepare => &nothing,
            Form::Text | Form::Binary => &rule_set.counters,
        };
        let judgement = self.judge(&rule_set, input, counters, &mut ());
        self.log_not_understood(&rule_set, &judgement);
        let hints = self.hints(&rule_set, input);
        let mut order = self.policy_of(&rule_set, &judgement, &hints);
        self.choose_profile(&rule_set, input, (&judgement, &hints), &mut order);
        if let Some(note) = &mut order.note {
            let digest = sql::digest(input.text, self.sql_state.session().flags());
            note.digest = String::from_utf8_lossy(digest.text()).into_owned();
        }
        if let Some(unknown) = order.unknown.take() {
            self.reply_error(input.sequence, &errors::no_such_place(unknown));
            return Ok(Ruled::Answered(After::Next));
        }
        let text = judgement.rewritten.map(|by| by.value.text);
        if input.form == Form::Prepare {
            let reply = judgement.reply.as_ref().map(|by| &by.value);
            return Ok(self.rule_of_prepare(input.sequence, &order, reply, text));
        }
        self.command.policy = (!order.is_idle()).then(|| Box::new(order));
        if let Some(By { value, .. }) = &judgement.reply {
            self.reply_of_rule(input, value);
            return Ok(Ruled::Answered(After::Next));
        }
        if let Some(limited) = &judgement.limit
            && let Some(after) = self.pass_limit(&rule_set, input.sequence, limited).await?
        {
            return Ok(Ruled::Answered(after));
        }
        if let Some(delay) = judgement.delay
            && let Err(failure) = self
                .wait_unless_killed(tokio::time::sleep(delay.value))
                .await
        {
            let refused = self.refuse(&failure, input.sequence);
            return refused.map(Ruled::Answered);
        }
        if judgement.session.mode.is_some() || judgement.session.pin.is_some() {
            let mode = judgement.session.mode.map(|it| it.value);
            self.keep_longer(mode, judgement.session.pin.map_or(&[], |it| it.value));
        }
        Ok(Ruled::Goes(text))
    }

    /// Does what rules want when a statement is prepared. Everything else is done when it is executed.
    fn rule_of_prepare(
        &mut self,
        sequence: u8,
        order: &CommandPolicy,
        reply: Option<&Reply>,
        text: Option<Vec<u8>>,
    ) -> Ruled {
        self.command.policy = Some(Box::new(CommandPolicy {
            cluster: order.cluster,
            backend: order.backend,
            ..CommandPolicy::default()
        }));
        match reply {
            None => Ruled::Goes(text),
            Some(reply) if self.refuses(sequence, reply) => Ruled::Answered(After::Next),
            Some(Reply::Rows { columns, .. }) => Ruled::Promised(columns.to_vec()),
            Some(Reply::Ok | Reply::Error { .. }) => Ruled::Promised(Vec::new()),
        }
    }

    /// Returns the judgement of the rules about a command.
    pub(super) fn judge<'r>(
        &self,
        rule_set: &'r RuleSet,
        input: &RuleInput<'_>,
        counters: &Counters,
        recorder: &mut impl RuleRecorder,
    ) -> Judgement<'r> {
        if matches!(self.routing.reflection(), Reflection::Itself) {
            return Judgement::default();
        }
        let rules = &rule_set.compiled.rules;
        let tag = self.script_route().and_then(Hints::tag_of);
        let tag = tag.map(|value| Attribute {
            name: b"tag",
            value,
        });
        let attributes: Vec<Attribute<'_>> = match rules.needs().attributes {
            true => attributes(input.attributes).chain(tag).collect(),
            false => tag.into_iter().collect(),
        };
        let occasion = Occasion {
            text: input.text,
            flags: self.sql_state.session().flags(),
            facts: input.facts,
            digest: None,
            digest_hash: input.digest,
            client: Client {
                user: self.user(),
                schema: self
                    .sql_state
                    .session()
                    .values()
                    .schema()
                    .unwrap_or_default(),
                address: self.client.origin().address(),
                listener: Some(&self.identity.listener().address),
            },
            attributes: &attributes,
            prepared: self.sql_state.session().held(),
            time: match rules.needs().time {
                true => local_time(self.env.pool_env.system.clock.wall()),
                false => LocalTime::of_unix(0, 0),
            },
            chance: Chance::Thrown {
                session: self.routing.settings().random,
                statement: self.env.relay.login.dice.borrow_mut().throw(),
            },
        };
        rules.judge(&occasion, counters, recorder)
    }

    /// Logs a refusal because the proxy does not understand a statement: it may be right, and the rule too wide.
    pub(super) fn log_not_understood(&self, rule_set: &RuleSet, judgement: &Judgement<'_>) {
        let Some(By { value, rule }) = judgement.not_understood else {
            return;
        };
        tracing::warn!(
            kind = "not_understood",
            rule = rule_set.compiled.rules.name(rule),
            user = %self.identity.account().id(),
            reason = value.reason(),
            "the proxy has refused a statement, because a rule may concern it and the proxy does not understand it"
        );
    }

    /// The hints that the statement's script and the statement itself give.
    fn hints<'a>(&'a self, rule_set: &'a RuleSet, input: &RuleInput<'a>) -> Hints<'a> {
        let accepted: &[HintStyle] = rule_set.hints_of(self.identity.account());
        let rules = &rule_set.compiled.hints;
        let mut hints = Hints::default();
        if let Some(route) = self.script_route() {
            hints.attribute(route);
        }
        let mut hints = hints.or(rules.read(input.text, input.facts, accepted));
        if accepted.contains(&HintStyle::Pilotfish) {
            let own = attributes(input.attributes).filter(|it| it.name == b"pilotfish");
            own.for_each(|it| hints.attribute(it.value));
        }
        hints
    }

    /// Explains the result of each rule and hint for a statement. Returns the policy that they give it.
    pub fn explain_rules(
        &self,
        explanation: &mut Explanation,
        facts: &Facts,
        text: &[u8],
    ) -> CommandPolicy {
        let rule_set = self.env.rule_set();
        let input = RuleInput::of_text(text, facts, 0);
        let hints = self.hints(&rule_set, &input);
        explanation.hints(&hints);
        let mut record = Record::default();
        let judgement = self.judge(&rule_set, &input, &Counters::default(), &mut record);
        explanation.rules(&rule_set.compiled.rules, &record, &judgement);
        self.policy_of(&rule_set, &judgement, &hints)
    }

    /// Sends the error that a rule has for the command. False: the rule's reply is not an error.
    pub(super) fn refuses(&mut self, sequence: u8, reply: &Reply<'_>) -> bool {
        let Reply::Error {
            code,
            sqlstate,
            message,
        } = reply
        else {
            return false;
        };
        let code = ErrorCode {
            number: *code,
            sqlstate: *sqlstate,
        };
        let text = message.to_string().into();
        self.reply_error(sequence, &ProxyError { code, text });
        true
    }

    /// Sends the reply that a rule has for the command.
    fn reply_of_rule(&mut self, input: &RuleInput<'_>, reply: &Reply<'_>) {
        match reply {
            Reply::Ok => self.reply_ok(input.sequence),
            Reply::Error { .. } => {
                self.refuses(input.sequence, reply);
            }
            Reply::Rows { columns, rows } => self.reply_rows(input, columns, rows),
        }
    }

    fn reply_rows(
        &mut self,
        input: &RuleInput<'_>,
        columns: &[String],
        rows: &[Vec<config::Cell>],
    ) {
        let width = rows
            .iter()
            .flatten()
            .map(|cell| cell.bytes().map_or(0, <[u8]>::len));
        let width = u32::try_from(width.max().unwrap_or_default()).unwrap_or(u32::MAX);
        let definitions: Vec<_> = (columns.iter())
            .map(|name| text_column(name, width.max(1)))
            .collect();
        if let Some(subject) = &mut self.command.subject {
            subject.answer.rows += rows.len() as u64;
        }
        let rows = rows.iter().map(|row| row.iter().map(config::Cell::bytes));
        let form = match input.form {
            Form::Binary => wire::result::put_binary_result,
            Form::Text | Form::Prepare => wire::result::put_text_result,
        };
        let sequence = self.client.leg().transport.frame_sequence();
        let mut packets = Vec::new();
        form(
            &mut packets,
            sequence.unwrap_or(input.sequence),
            self.client.capabilities(),
            &definitions,
            rows,
            self.client.status(),
            0,
        );
        self.reply_packets(&packets);
    }

    /// From now on the session keeps its connection for longer.
    fn keep_longer(&mut self, mode: Option<SessionMode>, pins: &[PinRule]) {
        let keeps = |mode: SessionMode| match mode {
            SessionMode::Statement => 0,
            SessionMode::Transaction => 1,
            SessionMode::Transparent | SessionMode::Kernel => 2,
        };
        if let Some(mode) = mode.filter(|mode| keeps(*mode) > keeps(self.mode)) {
            self.mode = mode;
        }
        let mut rules = self.sql_state.session().rules();
        rules.hold = hold_of(self.mode);
        for pin in pins {
            rules.lasting.add(pin_of(*pin));
        }
        self.sql_state.session_mut().ruled_by(rules);
    }
}

fn attributes<'a>(attributes: &'a [QueryAttribute<'a>]) -> impl Iterator<Item = Attribute<'a>> {
    attributes.iter().map(|it| Attribute {
        name: it.name,
        value: &it.value,
    })
}

/// The local time of this machine. A time that no calendar has becomes the beginning of 1970.
fn local_time(now: SystemTime) -> LocalTime {
    let now = Timestamp::try_from(now).unwrap_or_default();
    let offset = TimeZone::system().to_offset(now);
    LocalTime::of_unix(now.as_second(), offset.seconds())
}
