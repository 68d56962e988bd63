//! KILL in SQL text: as a statement, as one of several, prepared from text, and in a block. What cannot be
//! translated is refused: the server would take an id of the proxy's for one of its own threads.

use pool::LongData;
use sql::{Effects, Facts, Kill as How, Killed, Kind, Marks, Role, Show};
use wire::query::Query;
use wire::{Capabilities, Command, ErrorCode};

use super::source::Prepares;
use super::value::{Said, Value, Values};
use super::{Killing, NOT_SUPPORTED, Target, scope_of, thread_id};
use crate::pooled::backend::connection::own_command;
use crate::pooled::command::query::Ending;
use crate::pooled::exchange::Part;
use crate::pooled::lanes::candidate::Executing;
use crate::pooled::session::{After, CutOff, PooledSession};
use link::client_command::Incoming;
use sql::parts_that_kill;

const IN_BLOCK: &str = "The proxy does not support KILL inside a compound statement: the ids that clients see are \
                        the proxy's own, and the server does not know them. Send KILL as a statement of its own";

const CROWDED: &str = "The proxy cannot take this command apart, and one of its statements is KILL, or may be. Send \
                       that as a command of its own";

const LONG_DATA: &str = "The proxy does not support KILL with a value that was sent by COM_STMT_SEND_LONG_DATA. Send \
                         the value with the command";

/// ER_WRONG_ARGUMENTS.
const WRONG_ARGUMENTS: ErrorCode = ErrorCode {
    number: 1210,
    sqlstate: *b"HY000",
};

/// What became of a statement that kills, or may.
pub(crate) enum KillingText {
    Told(Ending),
    /// It goes to a server.
    Left(Incoming),
    /// These, one after the other.
    InParts(Incoming, Vec<Vec<u8>>),
}

impl From<Killing> for KillingText {
    fn from(killing: Killing) -> Self {
        match killing {
            Killing::Told(told) => Self::Told(told),
            Killing::Left(incoming) => Self::Left(incoming),
        }
    }
}

/// Whether a command kills, or may by a text that it prepares or runs.
pub(crate) fn may_kill(facts: &Facts) -> bool {
    let runs = |kind| matches!(kind, Kind::Execute | Kind::ExecuteImmediate);
    facts.marks.has(Marks::KILLS)
        || facts.effects.has(Effects::PREPARED)
        || runs(facts.kind)
        || facts.kind == Kind::Multi && facts.parts.iter().any(|part| runs(part.kind))
}

impl PooledSession {
    /// A command that kills, or may.
    pub(crate) async fn kill_by_text(
        &mut self,
        incoming: Incoming,
        facts: &mut Facts,
        part: Part,
    ) -> Result<KillingText, CutOff> {
        let flags = self.sql_state.session.flags();
        let text = self.text_of(&incoming);
        let killing = match facts.kind {
            Kind::Multi => return self.kill_among(incoming, facts, &text).await,
            Kind::Kill(_) => {
                let is_refused = facts.marks.has(Marks::PLACEHOLDERS);
                let Some(kill) = facts.kill_text(&text, flags).filter(|_| !is_refused) else {
                    return Ok(KillingText::Left(incoming));
                };
                let said = Said {
                    kill,
                    unread: Some(text),
                    values: None,
                };
                self.kill_said(incoming, facts, &said, part).await?
            }
            // MySQL does not know it.
            Kind::ExecuteImmediate if self.is_mysql() => Killing::Left(incoming),
            Kind::Prepare | Kind::Execute | Kind::ExecuteImmediate => {
                self.kill_by_dynamic_text(incoming, facts, &text, part)
                    .await?
            }
            Kind::Compound if facts.marks.has(Marks::KILLS) => {
                Killing::Told(self.refuse_text(incoming.sequence, IN_BLOCK).await)
            }
            _ => Killing::Left(incoming),
        };
        Ok(killing.into())
    }

    /// An EXECUTE of a prepared statement that kills. None: it goes to a server as it is.
    pub(crate) async fn kill_prepared(
        &mut self,
        executing: &Executing<'_>,
        long_data: &LongData,
        incoming: &Incoming,
    ) -> Result<Option<After>, CutOff> {
        let (flags, sequence) = (self.sql_state.session.flags(), incoming.sequence);
        let key = executing.key;
        let Some(kill) = key.facts.kill_text(key.text.bytes(), flags) else {
            let told = self.refuse_text(sequence, IN_BLOCK).await;
            return Ok(Some(told.after));
        };
        if kill.kill == How::QueryId {
            return Ok(None);
        }
        if !long_data.is_empty() {
            let told = self.refuse_text(sequence, LONG_DATA).await;
            return Ok(Some(told.after));
        }
        let has_values = key.facts.marks.has(Marks::PLACEHOLDERS);
        let said = Said {
            kill,
            unread: None,
            values: has_values.then(|| Values {
                execute: executing.execute,
                types: executing.types.clone(),
            }),
        };
        let mut payload = Vec::new();
        let query = Query {
            attributes: b"",
            text: b"",
        };
        query.encode(self.client.capabilities, &mut payload);
        let query = Incoming {
            command: Command::QUERY,
            packets: own_command(Command::QUERY, payload.get(1..).unwrap_or_default()),
            sequence,
            is_cut: false,
        };
        let mut facts = self.worker.store.take_facts();
        let killing = self.kill_said(query, &mut facts, &said, Part::Whole).await;
        let told = match killing {
            Ok(Killing::Told(told)) => Ok(told),
            Ok(Killing::Left(query)) => {
                Box::pin(self.run_with_retry(&query, &mut facts, Part::Whole, None)).await
            }
            Err(cut) => Err(cut),
        };
        self.worker.store.return_facts(facts);
        Ok(Some(told?.after))
    }

    /// A prepared KILL with many rows of values at once.
    pub(crate) async fn refuse_bulk_kill(&mut self, sequence: u8) -> After {
        const TEXT: &str = "The proxy does not support KILL by COM_STMT_BULK_EXECUTE. Send each by COM_STMT_EXECUTE";
        self.refuse_text(sequence, TEXT).await.after
    }

    /// One of several statements kills, or may.
    async fn kill_among(
        &mut self,
        incoming: Incoming,
        facts: &Facts,
        text: &[u8],
    ) -> Result<KillingText, CutOff> {
        // Without the capability it is an error, in which the servers quote the text.
        let is_several = self
            .client
            .capabilities
            .contains(Capabilities::MULTI_STATEMENTS);
        if !is_several || !self.may_kill_among(facts, text) {
            return Ok(KillingText::Left(incoming));
        }
        if let Some(texts) = parts_that_kill(facts, text, self.sql_state.session.flags()) {
            return Ok(KillingText::InParts(incoming, texts));
        }
        let is_known = !facts.marks.has(Marks::CROWDED | Marks::LOST);
        if is_known && !facts.marks.has(Marks::KILLS) {
            return Ok(KillingText::Left(incoming));
        }
        let told = self.refuse_text(incoming.sequence, CROWDED).await;
        Ok(KillingText::Told(told))
    }

    /// Whether one does, by its text, by what it prepares, or by what was prepared before.
    fn may_kill_among(&self, facts: &Facts, text: &[u8]) -> bool {
        let names_it = |text: &[u8]| text.windows(4).any(|it| it.eq_ignore_ascii_case(b"KILL"));
        let literals = facts
            .mentions_of(Role::PreparedText)
            .filter(|it| !it.name.of(text).starts_with(b"@"));
        let prepares = |kind| matches!(kind, Kind::Prepare | Kind::ExecuteImmediate);
        let count = facts.parts.iter().filter(|it| prepares(it.kind)).count();
        let held = self.sql_state.session.held();
        let mut prepared = held.prepared().map(|name| held.prepared_text(name));
        names_it(text)
            || count > literals.count()
            || facts.parts.iter().any(|it| it.kind == Kind::Execute)
                && prepared.any(|text| text.is_none_or(names_it))
    }

    /// PREPARE, EXECUTE or EXECUTE IMMEDIATE.
    async fn kill_by_dynamic_text(
        &mut self,
        mut incoming: Incoming,
        facts: &mut Facts,
        text: &[u8],
        part: Part,
    ) -> Result<Killing, CutOff> {
        let flags = self.sql_state.session.flags();
        let source = sql::dynamic_source(text, flags);
        let runs = match facts.kind {
            Kind::Execute => {
                let name = facts.mentions_of(Role::Prepared).next();
                let name = name.map(|it| it.name.name(text).into_owned());
                let held = self.sql_state.session.held();
                name.and_then(|name| held.prepared_text(&name).map(<[u8]>::to_vec))
            }
            _ => {
                let prepares = self.text_to_prepare(&mut incoming, facts, text, &source);
                match prepares.await? {
                    Prepares::Text(text) => Some(text),
                    Prepares::Unknown => None,
                    Prepares::Told(told) => return Ok(Killing::Told(told)),
                }
            }
        };
        let inner = runs.as_ref().map(|text| sql::facts(text, flags));
        let (Some(runs), Some(inner)) = (runs, inner) else {
            return Ok(Killing::Left(incoming));
        };
        if facts.kind == Kind::Prepare {
            return Ok(Killing::Left(incoming));
        }
        if asks_for_list(&inner) && source.arguments.is_empty() {
            // The list may be on another connection: as a statement of its own it is answered wherever that is.
            incoming.replace_text(&runs, self.client.capabilities);
            facts.read(&runs, flags);
            return Ok(Killing::Left(incoming));
        }
        if !inner.marks.has(Marks::KILLS) {
            return Ok(Killing::Left(incoming));
        }
        let Some(kill) = inner.kill_text(&runs, flags) else {
            let told = self.refuse_text(incoming.sequence, IN_BLOCK).await;
            return Ok(Killing::Told(told));
        };
        if kill.kill == How::QueryId {
            return Ok(Killing::Left(incoming));
        }
        let unread = (facts.kind == Kind::ExecuteImmediate).then_some(runs);
        let Some(kill) = kill.with_arguments(&source, flags) else {
            let text = "Incorrect arguments to EXECUTE";
            let told = self.refuse_kill(incoming.sequence, WRONG_ARGUMENTS, text);
            return Ok(Killing::Told(told.await));
        };
        let said = Said {
            kill,
            unread,
            values: None,
        };
        self.kill_said(incoming, facts, &said, part).await
    }

    /// Kills what is said, or puts the KILL of a thread of the server's in its place.
    async fn kill_said(
        &mut self,
        incoming: Incoming,
        facts: &mut Facts,
        said: &Said<'_>,
        part: Part,
    ) -> Result<Killing, CutOff> {
        let flags = self.sql_state.session.flags();
        let kill = &said.kill;
        let is_empty_first = kill.front.contains(&b';');
        if kill.is_refused(flags) || is_empty_first || kill.kill == How::QueryId {
            return Ok(Killing::Left(incoming));
        }
        let Some(scope) = scope_of(kill.kill) else {
            return self.kill_user(incoming, kill, part).await;
        };
        let killed = match kill.front.trim_ascii().is_empty() {
            true => kill.killed(flags),
            false => Killed::Expression,
        };
        let number = match killed {
            Killed::Id(number) => number,
            Killed::Own => u64::from(self.identity.registered.id()),
            Killed::Account | Killed::Expression => {
                match self.value_of_target(said, incoming.sequence).await? {
                    Value::Number(number) => number,
                    Value::Told(told) => return Ok(Killing::Told(told)),
                }
            }
        };
        let number = thread_id(number, flags);
        let mut left = incoming;
        if let Ok(id) = u32::try_from(number) {
            let target = Target { id, scope };
            match self.kill_target(left, target, part).await? {
                Killing::Told(told) => return Ok(Killing::Told(told)),
                Killing::Left(incoming) => left = incoming,
            }
        }
        // A number goes as it came.
        if !matches!(facts.kind, Kind::Kill(_)) || killed == Killed::Expression {
            let text = kill.of_thread(number);
            left.replace_text(&text, self.client.capabilities);
            facts.read(&text, flags);
        }
        Ok(Killing::Left(left))
    }

    pub(super) async fn refuse_text(&mut self, sequence: u8, text: &str) -> Ending {
        self.refuse_kill(sequence, NOT_SUPPORTED, text).await
    }

    /// The text of a COM_QUERY.
    fn text_of(&self, incoming: &Incoming) -> Vec<u8> {
        let argument = incoming.argument();
        let query = Query::decode(&argument, self.client.capabilities);
        query.map(|it| it.text.to_vec()).unwrap_or_default()
    }
}

/// Whether a statement reads the list of warnings, and does nothing else.
fn asks_for_list(facts: &Facts) -> bool {
    match facts.kind {
        Kind::GetDiagnostics => true,
        Kind::Show(show) => matches!(
            show,
            Show::Warnings
                | Show::SomeWarnings
                | Show::WarningCount
                | Show::Errors
                | Show::SomeErrors
                | Show::ErrorCount
        ),
        _ => false,
    }
}
