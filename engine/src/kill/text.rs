//! KILL in SQL text: as a statement, as one of several, prepared from text, and in a block. A KILL that cannot be
//! translated is refused, because the server would take the proxy's id for one of its own threads.

use sql::{Kill as How, Killed, Marks, Role, StatementKind};
use wire::{Capabilities, errors};

use super::Killing;
use super::source::Prepares;
use super::value::Value;
use crate::session::PooledSession;
use command::ending::Ending;
use command::kill::kill_among::KillAmong;
use command::kill::kill_statement::{KillStatement, PlaceholderValues, may_kill};
use command::kill::kill_target::{KillTarget, scope_of, thread_id};
use command::kill::prepared_text::asks_for_list;
use command::statement::{Executing, Statement};
use link::client_command::Incoming;
use link::query_command::CommandPart;
use link::query_command::QueryCommand;
use relay::outcome::SessionError;

/// The result of a statement that kills, or may kill.
enum KillingText {
    Killing(Killing),
    /// The command runs as these texts, one after the other.
    InParts(Vec<Vec<u8>>),
}

impl PooledSession {
    /// Carries out a statement that kills, if it names one of the proxy's sessions. `Some`: its client has its reply.
    pub(crate) async fn kill_here(
        &mut self,
        statement: &mut Statement<'_>,
    ) -> Result<Option<Ending>, SessionError> {
        let is_prepared_kill = statement.facts().marks.has(Marks::KILLS);
        match statement {
            Statement::Text(query) if may_kill(&query.facts) => {
                Box::pin(self.kill_by_text(query)).await
            }
            Statement::Execution(executing) if is_prepared_kill => {
                Box::pin(self.kill_prepared(executing)).await
            }
            Statement::Bulk(bulk) if is_prepared_kill => {
                let refused = self.refuse_bulk_kill(bulk.incoming.sequence);
                Ok(Some(Box::pin(refused).await))
            }
            _ => Ok(None),
        }
    }

    /// Handles a text that kills, or may kill.
    async fn kill_by_text(
        &mut self,
        query: &mut QueryCommand,
    ) -> Result<Option<Ending>, SessionError> {
        match self.killing_of_text(query).await? {
            KillingText::Killing(Killing::Told(told)) => Ok(Some(told)),
            KillingText::Killing(Killing::Left) => Ok(None),
            KillingText::InParts(texts) => self.run_in_parts(query, &texts).await.map(Some),
        }
    }

    async fn killing_of_text(
        &mut self,
        query: &mut QueryCommand,
    ) -> Result<KillingText, SessionError> {
        let flags = self.sql_state.session().flags();
        let text = query.text().to_vec();
        let killing = match query.facts.kind {
            StatementKind::Multi => return self.kill_among(query).await,
            StatementKind::Kill(_) => {
                let is_refused = query.facts.marks.has(Marks::PLACEHOLDERS);
                match query.facts.kill_text(&text, flags).filter(|_| !is_refused) {
                    None => Killing::Left,
                    Some(kill) => {
                        let said = KillStatement {
                            kill,
                            unread: Some(text),
                            values: None,
                        };
                        self.kill_statement(query, &said).await?
                    }
                }
            }
            // MySQL does not know EXECUTE IMMEDIATE.
            StatementKind::ExecuteImmediate if self.is_mysql() => Killing::Left,
            StatementKind::Prepare | StatementKind::Execute | StatementKind::ExecuteImmediate => {
                self.kill_by_dynamic_text(query, &text).await?
            }
            StatementKind::Compound if query.facts.marks.has(Marks::KILLS) => {
                let error = errors::kill_in_block();
                Killing::Told(self.refuse_kill(query.incoming().sequence, error).await)
            }
            _ => Killing::Left,
        };
        Ok(KillingText::Killing(killing))
    }

    /// Handles an EXECUTE of a prepared statement that kills.
    async fn kill_prepared(
        &mut self,
        executing: &Executing<'_>,
    ) -> Result<Option<Ending>, SessionError> {
        let (flags, sequence) = (
            self.sql_state.session().flags(),
            executing.incoming.sequence,
        );
        let key = &executing.key;
        let Some(kill) = key.facts.kill_text(key.text.bytes(), flags) else {
            return Ok(Some(
                self.refuse_kill(sequence, errors::kill_in_block()).await,
            ));
        };
        if kill.kill == How::QueryId {
            return Ok(None);
        }
        if !executing.long_data.is_empty() {
            return Ok(Some(
                self.refuse_kill(sequence, errors::kill_with_long_data())
                    .await,
            ));
        }
        let has_values = key.facts.marks.has(Marks::PLACEHOLDERS);
        let said = KillStatement {
            kill,
            unread: None,
            values: has_values.then(|| PlaceholderValues {
                execute: &executing.execute,
                types: executing.types.clone(),
            }),
        };
        let incoming = Incoming {
            sequence,
            ..Incoming::of_text(b"", self.client.capabilities())
        };
        let facts = self.env.pool_env.store.take_facts();
        let capabilities = self.client.capabilities();
        let Ok(mut query) = QueryCommand::decode(incoming, capabilities, facts, CommandPart::Whole)
        else {
            return self.malformed(sequence).map(Ending::last).map(Some);
        };
        match self.kill_statement(&mut query, &said).await? {
            Killing::Told(told) => Ok(Some(told)),
            Killing::Left => {
                let mut statement = Statement::Text(&mut query);
                let sent = self.send_to_backend(&mut statement);
                Box::pin(sent).await.map(Some)
            }
        }
    }

    /// Refuses a prepared KILL with many rows of values at once.
    async fn refuse_bulk_kill(&mut self, sequence: u8) -> Ending {
        self.refuse_kill(sequence, errors::kill_in_bulk()).await
    }

    /// Handles a command of several statements of which one kills, or may kill.
    async fn kill_among(&mut self, query: &QueryCommand) -> Result<KillingText, SessionError> {
        let (facts, text) = (&query.facts, query.text());
        // Without the capability the server answers with an error that quotes the text.
        let is_several = self
            .client
            .capabilities()
            .contains(Capabilities::MULTI_STATEMENTS);
        if !is_several {
            return Ok(KillingText::Killing(Killing::Left));
        }
        let session = self.sql_state.session();
        match KillAmong::read(facts, text, session.flags(), session.held()) {
            KillAmong::AsTheyAre => Ok(KillingText::Killing(Killing::Left)),
            KillAmong::InParts(texts) => Ok(KillingText::InParts(texts)),
            KillAmong::Refused => {
                let error = errors::kill_among_others();
                let told = self.refuse_kill(query.incoming().sequence, error).await;
                Ok(KillingText::Killing(Killing::Told(told)))
            }
        }
    }

    /// Handles PREPARE, EXECUTE or EXECUTE IMMEDIATE.
    async fn kill_by_dynamic_text(
        &mut self,
        query: &mut QueryCommand,
        text: &[u8],
    ) -> Result<Killing, SessionError> {
        let flags = self.sql_state.session().flags();
        let source = sql::dynamic_source(text, flags);
        let runs = match query.facts.kind {
            StatementKind::Execute => {
                let name = query.facts.mentions_of(Role::Prepared).next();
                let name = name.map(|it| it.name.name(text).into_owned());
                let held = self.sql_state.session().held();
                name.and_then(|name| held.prepared_text(&name).map(<[u8]>::to_vec))
            }
            _ => match self.text_to_prepare(query, text, &source).await? {
                Prepares::Text(text) => Some(text),
                Prepares::Unknown => None,
                Prepares::Told(told) => return Ok(Killing::Told(told)),
            },
        };
        let Some(mut runs) = runs else {
            return Ok(Killing::Left);
        };
        let inner = match self.facts_of(&mut runs).await {
            Ok(inner) => inner,
            Err(failure) => {
                let after = self.refuse(&failure, query.incoming().sequence)?;
                return Ok(Killing::Told(Ending::last(after)));
            }
        };
        if query.facts.kind == StatementKind::Prepare {
            return Ok(Killing::Left);
        }
        if asks_for_list(&inner) && source.arguments.is_empty() {
            // The warning list may be on another connection. A statement of its own is answered wherever the list is.
            self.replace_text(query, &runs).await;
            return Ok(Killing::Left);
        }
        if !inner.marks.has(Marks::KILLS) {
            return Ok(Killing::Left);
        }
        let Some(kill) = inner.kill_text(&runs, flags) else {
            let error = errors::kill_in_block();
            let told = self.refuse_kill(query.incoming().sequence, error).await;
            return Ok(Killing::Told(told));
        };
        if kill.kill == How::QueryId {
            return Ok(Killing::Left);
        }
        let unread = (query.facts.kind == StatementKind::ExecuteImmediate).then_some(runs);
        let Some(kill) = kill.with_arguments(&source, flags) else {
            let error = errors::wrong_arguments("EXECUTE");
            let told = self.refuse_kill(query.incoming().sequence, error);
            return Ok(Killing::Told(told.await));
        };
        let said = KillStatement {
            kill,
            unread,
            values: None,
        };
        self.kill_statement(query, &said).await
    }

    /// Kills the named session, or replaces the text by a KILL of the server's own thread.
    async fn kill_statement(
        &mut self,
        query: &mut QueryCommand,
        said: &KillStatement<'_>,
    ) -> Result<Killing, SessionError> {
        let (sequence, part) = (query.incoming().sequence, query.command_part);
        let flags = self.sql_state.session().flags();
        let kill = &said.kill;
        let is_empty_first = kill.front.contains(&b';');
        if kill.is_refused(flags) || is_empty_first || kill.kill == How::QueryId {
            return Ok(Killing::Left);
        }
        let Some(scope) = scope_of(kill.kill) else {
            return self.kill_user(sequence, kill, part).await;
        };
        let killed = match kill.front.trim_ascii().is_empty() {
            true => kill.killed(flags),
            false => Killed::Expression,
        };
        let number = match killed {
            Killed::Id(number) => number,
            Killed::Own => u64::from(self.identity.id()),
            Killed::Account | Killed::Expression => {
                match self.value_of_target(said, sequence).await? {
                    Value::Number(number) => number,
                    Value::Told(told) => return Ok(Killing::Told(told)),
                }
            }
        };
        let number = thread_id(number, flags);
        if let Ok(id) = u32::try_from(number) {
            let target = KillTarget { id, scope };
            if let Killing::Told(told) = self.kill_target(sequence, target, part).await? {
                return Ok(Killing::Told(told));
            }
        }
        // A KILL with a plain number goes to the server unchanged.
        if !matches!(query.facts.kind, StatementKind::Kill(_)) || killed == Killed::Expression {
            self.replace_text(query, &kill.of_thread(number)).await;
        }
        Ok(Killing::Left)
    }
}
