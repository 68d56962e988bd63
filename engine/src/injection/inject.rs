//! Statements that a rule sends before and after a client's statement, on the same connection. The client does not see
//! them, and the answers that it may ask for later are saved first. Variables are set back, and a transaction that an
//! injected read has begun is ended.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use config::InjectedResults;
use net::clock;
use pool::CloseReason;
use route::Backend;
use route::rules::{Injected, Injection, Purpose};
use session::Outcome;
use session::state::{Needs, Pin};
use sql::Facts;
use wire::{StatusFlags, errors};

use super::bounded_queries::Side;
use super::timestamp::timestamp;
use crate::session::PooledSession;
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::Cut;
use backend::exchange_outcome::{Done, ExchangeError};
use backend::injected_events::of_statement;
use backend::injected_results::{
    Finding, Found, Profile, ProfileReason, ProfiledEnding, ResultTable, collect_reports,
};
use command::injecting::Injecting;
use command::statement::Statement;
use link::failure::{Failure, FailureKind};
use registry::session_control::Ask;
use relay::outcome::SessionError;
use stats::messages::shown_failure;

impl PooledSession {
    /// Whether statements are injected before or after the current command.
    #[inline]
    pub(crate) fn injects(&self) -> bool {
        let policy = self.command.policy.as_ref();
        policy.is_some_and(|it| it.injecting.is_some())
    }

    /// Sends the injected statements that come before the client's command, on the connection that the command will
    /// have.
    pub(crate) async fn inject_before(
        &mut self,
        statement: &Statement<'_>,
        needs: &Needs,
    ) -> Result<(), ExchangeError> {
        let Some(mut injecting) = self.take_injecting() else {
            return Ok(());
        };
        if !Injection::goes_with(statement.facts()) || self.may_not_inject() {
            self.leaves_out(&injecting, Self::left_out(statement.facts()));
            return Ok(());
        }
        injecting.begin_anew();
        let begun = clock::now();
        let sent = self.send_before(&mut injecting, statement, needs).await;
        injecting.spent += begun.elapsed();
        if let Some(order) = &mut self.command.policy {
            order.injecting = Some(injecting);
        }
        sent
    }

    fn take_injecting(&mut self) -> Option<Box<Injecting>> {
        self.command.policy.as_mut()?.injecting.take()
    }

    /// Whether nothing may be injected. Settings for the next transaction would apply to the injected statement, and an
    /// XA transaction allows few statements.
    fn may_not_inject(&self) -> bool {
        let pins = self.sql_state.session().pins();
        pins.has(Pin::NextTransaction) || pins.has(Pin::Xa)
    }

    async fn send_before(
        &mut self,
        injecting: &mut Injecting,
        statement: &Statement<'_>,
        needs: &Needs,
    ) -> Result<(), ExchangeError> {
        let injection = Arc::clone(&injecting.injection);
        if injection.before.is_empty() {
            return Ok(());
        }
        let lost = || ExchangeError::unsent(ConnectionError::Closed.into());
        if !self.keep_past().await {
            return Err(lost());
        }
        self.learn_status().await;
        let mut lease = self.held.take().ok_or_else(lost)?;
        let equal = self.restore_state_and_begin(&mut lease.conn, needs).await;
        self.held.put(lease);
        equal?;
        let text = self.explained(&injection, statement);
        let sent = self
            .send_each_before(injecting, &injection, (text.as_deref(), statement.facts()))
            .await;
        let killed = match sent {
            Ok(()) => Ok(()),
            Err(killed @ Cut::Asked(Ask::KillStatement)) => Err(killed),
            Err(cut) => return Err(ExchangeError::unsent(cut)),
        };
        if killed.is_err() {
            // The session keeps the connection. The client's statement is not sent, and must not run elsewhere if this
            // fails.
            self.control.ask(Ask::KillStatement);
            self.set_back(injecting)
                .await
                .map_err(ExchangeError::unsent)?;
        }
        self.leave_no_trace(injecting)
            .await
            .map_err(ExchangeError::unsent)?;
        self.control.withdraw(Ask::KillStatement);
        killed.map_err(ExchangeError::unsent)
    }

    async fn send_each_before(
        &mut self,
        injecting: &mut Injecting,
        injection: &Injection,
        said: (Option<&[u8]>, &Facts),
    ) -> Result<(), Cut> {
        for one in &injection.before {
            let found = self.inject(injecting, one, said, Side::Before).await?;
            injecting.before.push(found);
        }
        self.not_killed()
    }

    /// Sends the injected statements that come after the client's command, which has had its reply. Then reports the
    /// results of all injected statements.
    pub(crate) async fn inject_after(
        &mut self,
        statement: &Statement<'_>,
        done: &Done,
    ) -> Result<(), SessionError> {
        let Some(mut injecting) = self.take_injecting() else {
            return Ok(());
        };
        let took = self.command.timing.taken();
        // The connection runs further statements, so the end of this reply is not its last use.
        let _ = self.command.timing.take_end();
        let backend = self.held.backend().cloned();
        let begun = clock::now();
        if let Err(cut) = self.send_after(&mut injecting, statement).await {
            self.lost_behind(&cut)?;
        }
        injecting.spent += begun.elapsed();
        self.held.end_statement();
        if injecting.is_profile() {
            self.tell_profile(&mut injecting, statement, done, (took, backend.as_deref()));
        } else if injecting.injection.results != InjectedResults::Discard {
            self.tell_injected(&injecting, statement, done, (took, backend.as_deref()));
        }
        Ok(())
    }

    /// Writes one line to the log.
    fn tell_injected(
        &self,
        injecting: &Injecting,
        statement: &Statement<'_>,
        done: &Done,
        (took, backend): (Duration, Option<&Backend>),
    ) {
        let digest = sql::digest(statement.text(), self.sql_state.session().flags());
        let (status, results) = collect_reports(
            &injecting.before,
            &injecting.after,
            injecting.injection.results,
        );
        let schema = self.sql_state.session().values().schema();
        let profile = Profile {
            command: statement.command_name(),
            timestamp: timestamp(self.env.pool_env.system.clock.wall()),
            query: &String::from_utf8_lossy(digest.text()),
            digest: None,
            thread_id: self.identity.id(),
            exec_time: took.as_micros() as f64 / 1000.0,
            reason: ProfileReason {
                rule: Some(injecting.name()),
                chosen_by: None,
            },
            user: self.identity.account().id().to_string(),
            schema: schema.map(|it| String::from_utf8_lossy(it).into_owned()),
            backend: backend.map(|it| &*it.name),
            ending: ProfiledEnding {
                error: match done.outcome {
                    Outcome::Err(number) => Some(number),
                    Outcome::Ok => None,
                },
                rows: done.tally.rows,
                affected_rows: done.tally.affected_rows,
                warnings: done.tally.warnings,
            },
            tags: injecting.tag.iter().map(ToString::to_string).collect(),
            cost: None,
            status,
            results,
        };
        match serde_json::to_string(&profile) {
            Ok(profile) => tracing::info!(
                kind = "injected_statement",
                %profile,
                "a statement of a rule, with what was sent around it"
            ),
            Err(error) => {
                tracing::error!(%error, "the results of a rule's statements cannot be written to the log")
            }
        }
    }

    async fn send_after(
        &mut self,
        injecting: &mut Injecting,
        statement: &Statement<'_>,
    ) -> Result<(), Cut> {
        let injection = Arc::clone(&injecting.injection);
        // SET makes MySQL empty the warning list, so the list is saved first. Further questions have to wait: they
        // would be profiled and traced.
        if self.is_mysql()
            && self.sql_state.pending_answers().warnings_are_pending()
            && !self.keep_past().await
        {
            return Ok(());
        }
        self.set_back(injecting).await?;
        if !injection.after.is_empty() {
            if !self.keep_past().await {
                return Ok(());
            }
            self.learn_status().await;
            if !self.may_not_inject() {
                let text = self.explained(&injection, statement);
                let explained = (text.as_deref(), statement.facts());
                for one in &injection.after {
                    let mut found = self.inject(injecting, one, explained, Side::After).await?;
                    if found.purpose == Purpose::Events {
                        let (command, text) = (statement.command(), statement.text());
                        found.finding = of_statement(found.finding, command, text);
                    }
                    injecting.after.push(found);
                }
            }
        }
        self.leave_no_trace(injecting).await
    }

    /// The text in place of `{statement}`, if it is wanted and allowed.
    fn explained<'a>(
        &self,
        injection: &Injection,
        statement: &'a Statement<'_>,
    ) -> Option<Cow<'a, [u8]>> {
        let is_wanted = injection.explains() && Injection::may_explain(statement.facts());
        let flags = self.sql_state.session().flags();
        is_wanted
            .then(|| statement.text_with_values(flags, self.client.capabilities()))
            .flatten()
    }

    /// Sends one injected statement. Only a broken connection is an error.
    async fn inject(
        &mut self,
        injecting: &mut Injecting,
        one: &Injected,
        (statement, facts): (Option<&[u8]>, &Facts),
        side: Side,
    ) -> Result<Found, Cut> {
        let finding = match (&one.purpose, one.with(statement)) {
            (Purpose::Warnings | Purpose::Errors, _) => {
                let list = self.sql_state.pending_answers().list();
                Finding::Table(ResultTable::of_list(list.as_deref(), &one.purpose))
            }
            (_, None) => Finding::Skipped("the statement cannot be explained"),
            (Purpose::Set(_), _) if !self.may_set(facts) => {
                Finding::Skipped("the statement is about variables")
            }
            _ if one.reads_data && self.begins_reading(facts) => {
                Finding::Skipped("the transaction has its first read before it")
            }
            (Purpose::Set(names), Some(text)) => {
                match self.remember(injecting, names, side).await? {
                    None => self.ask_injected(injecting, &text, side).await?,
                    Some(failed) => failed,
                }
            }
            (_, Some(text)) => self.ask_injected(injecting, &text, side).await?,
        };
        if let Finding::Failed(why) = &finding {
            self.injected_failed(injecting, &one.text, why);
        }
        Ok(Found {
            text: one.text.clone(),
            purpose: one.purpose.clone(),
            finding,
        })
    }

    /// Whether variables may be set around a statement: it neither sets nor shows any, and the server has reported no
    /// changed state that no statement explains.
    fn may_set(&self, facts: &Facts) -> bool {
        Injection::may_set(facts) && !self.sql_state.session().pins().has(Pin::State)
    }

    /// Whether an injected read would be the first read of the client's transaction. It would then decide which writes
    /// of other sessions the transaction sees.
    fn begins_reading(&self, facts: &Facts) -> bool {
        self.is_in_transaction_now() && facts.tables().next().is_none()
    }

    pub(super) fn is_in_transaction_now(&self) -> bool {
        // A transaction that SAVEPOINT has begun without autocommit has no status flag.
        self.client.status().contains(StatusFlags::IN_TRANS)
            || self.sql_state.session().pins().has(Pin::Transaction)
    }

    pub(super) fn injected_failed(&self, injecting: &Injecting, statement: &str, why: &str) {
        match injecting.rule {
            Some(rule) => self.env.rule_set().counters.injected_failed(rule),
            None => self.env.shared.profiling.fails(),
        }
        if injecting.injection.fails() {
            tracing::warn!(
                kind = "injected_failed",
                rule = injecting.rule.map(|_| &**injecting.name()),
                profile = injecting.is_profile(),
                statement,
                why = shown_failure(why),
                "a statement that a rule or profiling adds has failed; clients' statements go on, and further failures are not logged"
            );
        }
    }

    /// Handles a connection that broke after the client had its reply. The state on it is lost, as if it had broken
    /// between two commands.
    fn lost_behind(&mut self, cut: &Cut) -> Result<(), SessionError> {
        let name = self.backend_name().unwrap_or_default();
        let text = String::from(errors::lost_after_reply(name, cut));
        if !self.is_pinned() {
            tracing::info!(cause = text, "a connection broke behind a statement");
            self.drop_lease(CloseReason::Broken);
            return Ok(());
        }
        if self.cut_while_idle(&text) {
            return Ok(());
        }
        let failure = Failure::new(FailureKind::HeldBackendLost, self.with_losses(text));
        Err(SessionError::new(failure, Some(0)))
    }
}
