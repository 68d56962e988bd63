//! Statements that ask about the statement before them. The proxy puts literals in their place, answers from the saved
//! warning list, or asks the connection that ran the statement before.

mod get;
mod stand_in;
mod warning_list;

use std::rc::Rc;

use session::Outcome;
use session::state::{
    Answered as Own, LastInsertId, Needs, Restoration, StatementDiagnostics as Left, restoration,
};
use sql::{Analysis, Effects, Facts, Show, StatementKind, TrustedFunctions, Uses};
use stand_in::{Role, StandIn};
use warning_list::WarningListLocation;
use wire::errors::ProxyError;
use wire::{Capabilities, StatusFlags, errors};

use crate::session::PooledSession;
use backend::connection::BackendConn;
use backend::diagnostics::{ConditionFilter, Diagnostics, Form};
use backend::prepared_statement::StatementKey;
use command::ending::Ending;
use command::statement::{Executing, Statement};
use link::failure::Failure;
use link::query_command::CommandPart;
use link::query_command::QueryCommand;
use relay::outcome::{After, SessionError};
use sql::parts_that_ask;

/// The result of a statement that asks for diagnostics.
enum QuestionOutcome {
    /// The client has its reply.
    Told(Ending),
    /// A backend answers the statement, or another statement in its place. With a value: this state applies again
    /// afterwards.
    Left(Option<Standing>),
    /// The command runs as these texts, one after the other.
    InParts(Vec<Vec<u8>>),
}

/// The saved state of the last statement, while the proxy runs another statement in place of one that would not change
/// it.
pub(crate) struct Standing {
    before: Left,
    list: Option<Rc<Diagnostics>>,
    role: Role,
}

impl PooledSession {
    /// Answers a statement that asks about the statement before it, if the proxy knows the answer. The inner error is
    /// the state that applies again after a backend has answered.
    pub(crate) async fn answer_about_past(
        &mut self,
        statement: &mut Statement<'_>,
    ) -> Result<Result<Ending, Option<Standing>>, SessionError> {
        let asked = match statement {
            Statement::Text(query) if asks(&query.facts) => Box::pin(self.ask_past(query)).await?,
            Statement::Execution(executing) if executing.key.facts.uses.has(PAST) => {
                Box::pin(self.ask_past_prepared(executing)).await?
            }
            _ => QuestionOutcome::Left(None),
        };
        let standing = match (asked, &*statement) {
            (QuestionOutcome::Told(told), _) => return Ok(Ok(told)),
            (QuestionOutcome::InParts(texts), Statement::Text(query)) => {
                return Box::pin(self.run_in_parts(query, &texts)).await.map(Ok);
            }
            (QuestionOutcome::InParts(_), _) => None,
            (QuestionOutcome::Left(standing), _) => standing,
        };
        if let Statement::Text(query) = statement {
            // A MariaDB routine does not clear the warning list that a session before has left on the connection.
            let may_leave = query.facts.effects.has(Effects::ANYTHING);
            self.command.wants_clear = may_leave && !self.is_mysql();
        }
        Ok(Err(standing))
    }

    /// Handles a statement of the text protocol that asks about the statement before it, or about its connection.
    async fn ask_past(
        &mut self,
        query: &mut QueryCommand,
    ) -> Result<QuestionOutcome, SessionError> {
        let (sequence, part) = (query.incoming().sequence, query.command_part);
        if let Err(failure) = self.seek_past(&query.facts).await {
            let after = self.refuse(&failure, sequence)?;
            return Ok(QuestionOutcome::Told(Ending::last(after)));
        }
        let (facts, text) = (&query.facts, query.text());
        let place = self.undisturbed_place(&Needs::of(facts, text)).await;
        let has_several = self
            .client
            .capabilities()
            .contains(Capabilities::MULTI_STATEMENTS);
        if facts.kind == StatementKind::Multi && !has_several {
            // The server answers with an error that quotes the text, so the text stays as it is.
            return Ok(QuestionOutcome::Left(None));
        }
        // MySQL keeps the list after a GET DIAGNOSTICS, so that statement has to run as a part of its own.
        let gets = facts
            .statements
            .iter()
            .any(|it| it.kind == StatementKind::GetDiagnostics);
        if part == CommandPart::Whole
            && (!matches!(place, WarningListLocation::Here) || self.is_mysql() && gets)
            && has_several
            && let Some(texts) = parts_that_ask(facts, text, self.sql_state.session().flags())
        {
            return Ok(QuestionOutcome::InParts(texts));
        }
        if let (WarningListLocation::Kept(list), Some((told, range))) =
            (&place, self.shown(facts, text))
        {
            let status = self.status_of(part);
            let packets =
                list.warnings_reply(told, range, Form::Text, status, self.client.capabilities());
            let next = self.reply_renumbered(sequence, packets);
            self.sql_state.session_mut().answered(Own::Rows);
            return Ok(QuestionOutcome::Told(Ending::more(next)));
        }
        let get = Box::pin(self.read_get(facts, text, &place)).await;
        let Ok(stand_in) = self.stand_in(facts, text, &place, get.as_ref()) else {
            self.reply_error(sequence, &errors::diagnostics_gone());
            return Ok(QuestionOutcome::Told(Ending::last(After::Next)));
        };
        let Some(StandIn { text, role }) = stand_in else {
            return Ok(QuestionOutcome::Left(None));
        };
        self.replace_text(query, &text).await;
        Ok(QuestionOutcome::Left(
            role.map(|role| self.standing(&place, role)),
        ))
    }

    /// Handles a prepared statement that asks about the statement before it. Its text is prepared already and cannot
    /// take literals, so another statement is executed in its place.
    async fn ask_past_prepared(
        &mut self,
        executing: &mut Executing<'_>,
    ) -> Result<QuestionOutcome, SessionError> {
        let (key, sequence) = (&executing.key, executing.incoming.sequence);
        if let Err(failure) = self.seek_past(&key.facts).await {
            let after = self.refuse(&failure, sequence)?;
            return Ok(QuestionOutcome::Told(Ending::last(after)));
        }
        // The proxy may have to prepare a statement there first, which would change the diagnostics.
        self.keep_past().await;
        self.take_up_saved();
        let place = match self.place() {
            WarningListLocation::Here => WarningListLocation::Nowhere,
            other => other,
        };
        let text = key.text.bytes();
        if let (WarningListLocation::Kept(list), Some((told, range))) =
            (&place, self.shown(&key.facts, text))
        {
            let status = self.status_of(CommandPart::Whole);
            let packets = list.warnings_reply(
                told,
                range,
                Form::Binary,
                status,
                self.client.capabilities(),
            );
            self.reply_renumbered(sequence, packets);
            self.sql_state.session_mut().answered(Own::Rows);
            return Ok(QuestionOutcome::Told(Ending::last(After::Next)));
        }
        let get = Box::pin(self.read_get(&key.facts, text, &place)).await;
        let Ok(stand_in) = self.stand_in(&key.facts, text, &place, get.as_ref()) else {
            self.reply_error(sequence, &errors::diagnostics_gone());
            return Ok(QuestionOutcome::Told(Ending::last(After::Next)));
        };
        let Some(StandIn { mut text, role }) = stand_in else {
            return Ok(QuestionOutcome::Left(None));
        };
        let ahead = match self.read_if_long(&mut text).await {
            Ok(ahead) => ahead,
            Err(failure) => {
                let after = self.refuse(&failure, sequence)?;
                return Ok(QuestionOutcome::Told(Ending::last(after)));
            }
        };
        let flags = self.sql_state.session().flags();
        let other = self.env.pool_env.store.statement(
            &text,
            &key.values,
            &key.kind,
            key.cluster,
            |text| ahead.unwrap_or_else(|| Analysis::of(text, flags)),
            &TrustedFunctions::default(),
        );
        executing.key = StatementKey {
            cursor: key.cursor,
            ..other
        };
        executing.is_replaced = role.is_some();
        Ok(QuestionOutcome::Left(
            role.map(|role| self.standing(&place, role)),
        ))
    }

    /// Takes over the answers that other sessions have saved. If only the last connection knows the answer, gets a
    /// connection for it.
    async fn seek_past(&mut self, facts: &Facts) -> Result<(), Failure> {
        let wait_unless_killed = async |session: &mut Self| {
            if session.sql_state.pending_answers().is_saving() {
                session.wait_for_saving().await;
            }
            session.take_up_saved();
        };
        wait_unless_killed(self).await;
        let is_about_list =
            facts.uses.has(Uses::DIAGNOSTICS) && self.sql_state.pending_answers().list().is_none();
        let is_about_rows = facts.uses.has(Uses::FOUND_ROWS)
            && self.sql_state.session().diagnostics().found_rows.is_none();
        if is_about_list || is_about_rows {
            // This connection is for the answer only, and the answer decides which statement runs. That statement has
            // other facts, and its transaction may move first, so its target is chosen later.
            let target_of_answer = self.command_target(facts);
            self.hold(target_of_answer).await?;
            // Another session may have taken the connection meanwhile, and saved the answers.
            wait_unless_killed(self).await;
        }
        Ok(())
    }

    /// The error of a statement that reads LAST_INSERT_ID() or warnings, if these are lost. A command of several
    /// statements is exempt, because one of them may set the value for another.
    pub(crate) fn asks_for_lost(&self, statement: &Statement<'_>) -> Option<ProxyError> {
        let (facts, pending_answers) = (statement.facts(), self.sql_state.session().diagnostics());
        if matches!(facts.kind, StatementKind::Create(_) | StatementKind::Multi)
            || matches!(statement, Statement::Command(_))
        {
            return None;
        }
        if facts.uses.has(Uses::LAST_INSERT_ID)
            && pending_answers.last_insert_id == LastInsertId::Lost
        {
            return Some(errors::last_insert_id_lost());
        }
        let is_list_lost = facts.uses.has(Uses::DIAGNOSTICS) && pending_answers.is_list_lost;
        is_list_lost.then(errors::warnings_lost)
    }

    /// Where the warning list is when a command with these needs runs. The statements that restore the session's state,
    /// or that prepare texts, would empty a list on the connection, so such a list is saved first.
    async fn undisturbed_place(&mut self, needs: &Needs) -> WarningListLocation {
        let is_equal = |conn: &BackendConn| {
            let restoration = restoration(self.sql_state.session(), &conn.state, needs);
            restoration == Restoration::Nothing
        };
        match self.place() {
            // The connection does not know the id either by which the client has named an unknown statement.
            WarningListLocation::Here
                if !self.held.connection().is_some_and(is_equal)
                    || self.may_make_texts(needs)
                    || self.sql_state.pending_answers().unknown.get().is_some() =>
            {
                self.keep_past().await;
                self.place()
            }
            place => place,
        }
    }

    fn place(&self) -> WarningListLocation {
        let is_here = || {
            let conn = self.held.connection();
            conn.is_some_and(|conn| self.sql_state.pending_answers().still_answers_on(conn))
        };
        match self.sql_state.pending_answers().list() {
            Some(list) => WarningListLocation::Kept(list),
            None if is_here() => WarningListLocation::Here,
            None => WarningListLocation::Nowhere,
        }
    }

    /// The rows that SHOW WARNINGS or SHOW ERRORS asks for.
    fn shown(&self, facts: &Facts, text: &[u8]) -> Option<(ConditionFilter, std::ops::Range<u64>)> {
        let told = match facts.kind {
            StatementKind::Show(Show::Warnings | Show::SomeWarnings) => ConditionFilter::All,
            StatementKind::Show(Show::Errors | Show::SomeErrors) => match self.is_mysql() {
                true => ConditionFilter::Errors,
                false => ConditionFilter::ErrorsOfThem,
            },
            _ => return None,
        };
        let range = sql::shown_conditions(text, self.sql_state.session().flags())?;
        Some((told, range))
    }

    fn standing(&self, place: &WarningListLocation, role: Role) -> Standing {
        Standing {
            before: *self.sql_state.session().diagnostics(),
            list: match place {
                WarningListLocation::Kept(list) => Some(Rc::clone(list)),
                WarningListLocation::Here | WarningListLocation::Nowhere => None,
            },
            role,
        }
    }

    /// Restores the diagnostics after a statement that ran in place of another one.
    pub(crate) async fn stood_in(&mut self, standing: Standing, outcome: Outcome) {
        let Standing { before, list, role } = standing;
        if (outcome == Outcome::Ok) == (role == Role::Stacked) {
            return;
        }
        let now = match role {
            Role::Count => Left {
                row_count: -1,
                found_rows: Some(1),
                ok_warnings: Some(0),
                ..before
            },
            Role::Get => Left {
                ok_warnings: Some(0),
                ..before
            },
            Role::Stacked => Left {
                row_count: -1,
                ..before
            },
            Role::Missing => Left {
                row_count: -1,
                ok_warnings: Some(1),
                warnings: before.warnings.saturating_add(1),
                ..before
            },
        };
        self.sql_state.session_mut().left_alone(now);
        match role {
            Role::Missing => self.fetch_last(list).await,
            Role::Count | Role::Get | Role::Stacked => {
                if let Some(list) = list {
                    self.sql_state.pending_answers().keep_list(list);
                }
            }
        }
    }

    /// Fetches the last entry of the connection's warning list, and appends it to the list `before`.
    pub(crate) async fn fetch_last(&mut self, before: Option<Rc<Diagnostics>>) {
        let Ok(own) = self.held.ask(&self.env.pool_env, "SHOW WARNINGS").await else {
            return self.drop_lease(pool::CloseReason::Broken);
        };
        let Some(mut last) = Diagnostics::read(&own, self.conn_capabilities()) else {
            return;
        };
        last.keep_last();
        let whole = match before {
            None => last,
            Some(before) => {
                let mut whole = Diagnostics::clone(&before);
                whole.append(&last);
                whole
            }
        };
        self.sql_state.pending_answers().keep_list(Rc::new(whole));
    }

    /// The status flags of a reply that the proxy makes itself.
    pub(crate) fn status_of(&self, part: CommandPart) -> StatusFlags {
        match part.has_more() {
            true => StatusFlags(self.client.status().0 | StatusFlags::MORE_RESULTS_EXISTS.0),
            false => self.client.status(),
        }
    }

    pub(crate) fn is_mysql(&self) -> bool {
        matches!(
            self.sql_state.session().flags().server,
            sql::Server::MySql(_)
        )
    }
}

/// Whether a statement asks about the statement before it, or for its connection's id.
fn asks(facts: &Facts) -> bool {
    let about = PAST | Uses::CONNECTION_ID | Uses::LAST_INSERT_ID;
    facts.uses.has(about)
}

/// The uses by which a prepared statement asks about the statement before it.
const PAST: Uses = Uses::ROW_COUNT
    .with(Uses::FOUND_ROWS)
    .with(Uses::DIAGNOSTICS);
