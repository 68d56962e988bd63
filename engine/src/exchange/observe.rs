//! After an exchange: notes what it has changed in the session, its connection, and the state that all sessions share.

use std::rc::Rc;
use std::sync::Arc;

use session::Outcome;
use session::state::{Answer, Baseline, Pin, Ran, Seen, StateQuery};
use sql::Facts;
use wire::{Command, StatusFlags};

use crate::command::prepared::defines;
use crate::session::PooledSession;
use backend::exchange_outcome::Done;
use backend::exchange_outcome::LASTING;
use backend::global_variables;
use backend::own_reply::OwnReply;
use backend::privilege_changes;
use backend::settle_answers::claim_own;
use relay::outcome::SessionError;
use session::track_settings;

/// Notes what a command changed, by the server's reply and by the command's text.
pub(crate) fn observe(
    session: &mut PooledSession,
    command: Command,
    facts: &Facts,
    text: &[u8],
    done: &Done,
) {
    session.held.end_statement();
    session.is_not_alone();
    session.note_written(facts, done);
    session.note_refused_write(facts, done.outcome);
    session.tracking.note_shown();
    session.command.wants_clear = false;
    let mut mirrored;
    let connection = match session.held.connection_mut() {
        Some(conn) => &mut conn.state,
        // The statement ran on a lane; the lane notes the state of its connection.
        None => {
            mirrored = session.sql_state.session().mirrored();
            let Some(mirrored) = &mut mirrored else {
                return;
            };
            mirrored
        }
    };
    let seen = Seen {
        ran: ran(command),
        facts,
        text,
        changes: session.tracking.changes(),
        tally: &done.tally,
        error: match done.outcome {
            Outcome::Ok => None,
            Outcome::Err(number) => Some(number),
        },
    };
    let env = &session.env;
    session
        .sql_state
        .session_mut()
        .observe(connection, &env.pool_env.store.values, &seen);
    session
        .sql_state
        .pending_answers()
        .note(session.sql_state.session().diagnostics(), &done.tally);
    let may_be_set_otherwise =
        !facts.assignments.is_empty() || !session.tracking.changes().is_empty();
    let is_ok = done.outcome == Outcome::Ok;
    session
        .tracking
        .note_settings(facts, text, may_be_set_otherwise, is_ok);
    if may_be_set_otherwise || !session.control.knows_wait_timeout() {
        session.note_wait_timeout();
    }
    if done.outcome == Outcome::Ok && ran(command) == Ran::Statement && defines(facts) {
        env.pool_env.shared.definitions_changed();
    }
    if ran(command) == Ran::Statement {
        session.note_definitions(facts, done.outcome);
    }
    session.note_privileges(command, facts, text, done);
    session.note_globals(command, facts, text, done);
}

/// Whether a statement may change privileges or global variables, which connections have from their login.
#[inline]
pub(crate) fn may_change_server(facts: &Facts, text: &[u8]) -> bool {
    privilege_changes::may_change(facts, text) || global_variables::may_change(facts, text)
}

fn ran(command: Command) -> Ran {
    match command {
        Command::QUERY | Command::STMT_EXECUTE | Command::STMT_BULK_EXECUTE => Ran::Statement,
        Command::STMT_PREPARE => Ran::Prepare,
        Command::INIT_DB => Ran::InitDb,
        Command::STATISTICS | Command::PROCESS_INFO => Ran::Nothing,
        Command::STMT_FETCH => Ran::Fetch,
        Command::STMT_RESET => Ran::Reset,
        Command::FIELD_LIST => Ran::FieldList,
        Command::DEBUG
        | Command::REFRESH
        | Command::PROCESS_KILL
        | Command::SET_OPTION
        | Command::CREATE_DB
        | Command::DROP_DB
        | Command::SHUTDOWN => Ran::Command,
        _ => Ran::Unknown,
    }
}

impl PooledSession {
    /// Whether a statement in SQL text may change them; it may run a statement that was prepared from text.
    #[inline]
    pub(crate) fn may_change_server(&self, facts: &Facts, text: &[u8]) -> bool {
        match facts.kind {
            sql::StatementKind::Execute => self.runs(facts, text, may_change_server),
            _ => may_change_server(facts, text),
        }
    }

    /// If privileges may have changed, retires the pooled connections that have the old privileges.
    #[inline]
    fn note_privileges(&mut self, command: Command, facts: &Facts, text: &[u8], done: &Done) {
        let is_statement = ran(command) == Ran::Statement;
        let is_change = match command {
            // COM_REFRESH is rare, so its kinds are not told apart.
            Command::REFRESH => true,
            _ if !is_statement => false,
            _ if facts.kind == sql::StatementKind::Execute => {
                self.runs(facts, text, privilege_changes::may_change)
            }
            _ => privilege_changes::may_change(facts, text),
        };
        if !is_change || privilege_changes::has_done_nothing(facts, done.outcome) {
            return;
        }
        let accounts = Arc::clone(&self.env.relay.login.accounts.borrow());
        let login = Rc::clone(self.identity.login());
        let is_anonymous = self.identity.account().user.is_empty();
        // Sessions of an anonymous account have any user name, and its own name is written as an empty string.
        let own_user: &[u8] = if is_anonymous { b"''" } else { &login.user };
        let concerned = match is_statement && !is_anonymous {
            true => privilege_changes::concerned(facts, text, &accounts, own_user),
            false => privilege_changes::AffectedUsers::All,
        };
        self.env.pool_env.shared.privileges_changed(concerned);
        if is_statement && privilege_changes::may_lock_out(facts, text, own_user) {
            self.sql_state.session_mut().pin(Pin::Account);
        }
    }

    /// If global variables may have changed, has them read before the client gets its reply.
    #[inline]
    fn note_globals(&mut self, command: Command, facts: &Facts, text: &[u8], done: &Done) {
        if ran(command) != Ran::Statement {
            return;
        }
        let is_change = match facts.kind {
            sql::StatementKind::Execute => self.runs(facts, text, global_variables::may_change),
            _ => global_variables::may_change(facts, text),
        };
        if is_change && !privilege_changes::has_done_nothing(facts, done.outcome) {
            self.sql_state.note_globals(done.outcome == Outcome::Ok);
        }
    }

    /// Whether an EXECUTE in SQL text has run a statement for which `is_it` is true.
    fn runs(&self, facts: &Facts, text: &[u8], is_it: impl Fn(&Facts, &[u8]) -> bool) -> bool {
        let mut named = facts.mentions_of(sql::Role::Prepared);
        let name = named.next().map(|mention| mention.name.name(text));
        let prepared = name.and_then(|name| self.sql_state.session().held().prepared_text(&name));
        prepared
            .is_some_and(|text| is_it(&sql::facts(text, self.sql_state.session().flags()), text))
    }

    /// The client has changed its session tracking settings in a way that the proxy did not see. Reads the settings,
    /// and turns full tracking on again for the connection.
    pub(crate) async fn refresh_tracking(&mut self) {
        let settings = self.tracking.take_unseen();
        if !self.keep_past().await {
            return;
        }
        let Some(conn) = self.held.connection_mut() else {
            return;
        };
        let asks = [
            track_settings::question(conn.state.server()),
            Baseline::tracking(conn.state.server()),
            "DO 0".to_owned(),
        ];
        let Ok(replies) = conn.ask_all(&self.env.pool_env, &asks).await else {
            return self.drop_lease(pool::CloseReason::Broken);
        };
        let follows = replies.get(1).map(|own| own.outcome);
        if follows != Some(Outcome::Ok) {
            // From now on the proxy does not see what changes on this connection.
            self.sql_state.session_mut().pin(Pin::Variable);
        }
        let said = replies
            .first()
            .map(|own| backend::own_reply::table(own, conn.capabilities));
        if let Some(Ok(table)) = said {
            let row: Vec<Option<&[u8]>> = table.row.iter().map(Option::as_deref).collect();
            let server = conn.state.server();
            self.tracking.learn(server, &settings, &row);
        }
    }

    /// Asks the connection for state that only it knows, so that the session may leave it: the values of variables that
    /// were set to expressions.
    pub(crate) async fn query_state(&mut self) -> Result<(), SessionError> {
        while let Some(state_query) = self.state_query() {
            if !self.keep_past().await {
                return Ok(());
            }
            let asked = self.held.ask_short(&self.env.pool_env, state_query.text());
            let Ok(own) = asked.await else {
                self.drop_lease(pool::CloseReason::Broken);
                return Ok(());
            };
            if !self.observe_answer(&state_query, &own) {
                self.sql_state.session_mut().refused(&state_query);
                return Ok(());
            }
            self.note_wait_timeout();
        }
        Ok(())
    }

    /// Asks this query before a statement that would change its answer. If the connection breaks, the statement reports
    /// that.
    pub(crate) async fn query_state_before(&mut self, state_query: &StateQuery) {
        if !self.keep_past().await {
            return;
        }
        let asked = self.held.ask_short(&self.env.pool_env, state_query.text());
        if let Ok(own) = asked.await {
            self.observe_answer(state_query, &own);
        }
    }

    /// Asks for the state of the transaction before the proxy itself reports it: a statement that failed may have begun
    /// a transaction, and its error does not tell.
    pub(crate) async fn learn_status(&mut self) {
        if !self.held.has_connection() || self.sql_state.session().status_query().is_none() {
            return;
        }
        // The replies to the questions of `keep_past` may already contain the answer.
        if Box::pin(self.keep_past()).await
            && let Some(state_query) = self.sql_state.session().status_query()
        {
            Box::pin(self.query_state_before(&state_query)).await;
        }
    }

    /// Asks for variables with unknown values, before the connection gets another state for a while.
    pub(crate) async fn settle_doubts(&mut self) {
        while let Some(state_query) = self.sql_state.session().variables_query() {
            if !self.keep_past().await {
                return;
            }
            let asked = self.held.ask_short(&self.env.pool_env, state_query.text());
            let Ok(own) = asked.await else {
                return;
            };
            if !self.observe_answer(&state_query, &own) {
                self.sql_state.session_mut().refused(&state_query);
            }
        }
    }

    /// Takes the answer into the session's state. False: the reply is not an answer.
    fn observe_answer(&mut self, state_query: &StateQuery, own: &OwnReply) -> bool {
        let Some(conn) = self.held.connection_mut() else {
            return false;
        };
        if own.is_cut {
            return false;
        }
        let (Outcome::Ok, Ok(table)) = (
            own.outcome,
            backend::own_reply::table(own, conn.capabilities),
        ) else {
            return false;
        };
        let row: Vec<Option<&[u8]>> = table.row.iter().map(Option::as_deref).collect();
        let answer = Answer {
            status: own.tally.status.unwrap_or_default(),
            changes: &own.changes,
            columns: &table.columns,
            row: &row,
        };
        let values = &self.env.pool_env.store.values;
        self.sql_state
            .session_mut()
            .answer(&mut conn.state, values, state_query, &answer);
        if let Some(status) = own.tally.status {
            self.note_own_status(status);
        }
        true
    }

    /// The query that the connection has to answer before the session's next statement, if there is one.
    pub(crate) fn state_query(&self) -> Option<StateQuery> {
        let conn = self.held.connection()?;
        self.sql_state.session().state_query(&conn.state)
    }

    /// Saves the diagnostics of the session's last statement, which further statements of the proxy would overwrite.
    /// False: that failed.
    pub(crate) async fn keep_past(&mut self) -> bool {
        let Some(conn) = self.held.connection_mut() else {
            return true;
        };
        if !self.sql_state.pending_answers().is_at(conn) {
            return true;
        }
        for question in claim_own(conn) {
            let Some(conn) = self.held.connection_mut() else {
                return true;
            };
            let text = backend::ask::text(conn, question.pending.question());
            match conn.ask(&self.env.pool_env, Command::QUERY, &text).await {
                Ok(own) => {
                    question.answered(&own, conn.capabilities);
                    self.overhear(&own);
                }
                Err(_) => {
                    self.drop_lease(pool::CloseReason::Broken);
                    return false;
                }
            }
        }
        self.take_up_saved();
        true
    }

    /// Takes over what the reply to a statement of the proxy tells about the session's last statement.
    pub(crate) fn overhear(&mut self, own: &OwnReply) {
        let (Some(conn), Some(status)) = (self.held.connection_mut(), own.tally.status) else {
            return;
        };
        if own.outcome != Outcome::Ok {
            return;
        }
        let told = match own.tally.has_unsent_changes {
            true => StatusFlags(status.0 & LASTING.0),
            false => status,
        };
        let values = &self.env.pool_env.store.values;
        self.sql_state
            .session_mut()
            .overhear(&mut conn.state, values, told, &own.changes);
        self.note_own_status(status);
    }

    /// Waits until the session that is asking for this session's answers has them.
    pub(crate) async fn wait_for_saving(&mut self) {
        let pending_answers = std::rc::Rc::clone(self.sql_state.pending_answers());
        while pending_answers.is_saving() {
            pending_answers.news.notified().await;
        }
    }

    /// Takes over the answers that other sessions have asked for in this session's place.
    pub(crate) fn take_up_saved(&mut self) {
        let saved = self.sql_state.pending_answers().take_saved();
        if let Some(id) = saved.insert_id {
            self.sql_state.session_mut().last_insert_id_is(id);
        }
        if let Some(rows) = saved.found_rows {
            self.sql_state.session_mut().found_rows_are(rows);
        }
        if saved.is_lost {
            self.sql_state.session_mut().answers_lost();
        }
    }

    /// Notes a statement that was too long to be read.
    pub(crate) fn large_statement(&mut self) {
        self.sql_state.session_mut().pin(Pin::LargeStatement);
    }
}
