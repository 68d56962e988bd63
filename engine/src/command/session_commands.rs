//! The commands that are neither statements nor about prepared statements.

use std::rc::Rc;

use pool::CloseReason;
use session::Outcome;
use session::state::{Answered, List, Needs, Pin};
use sql::{Access, Facts};
use wire::reply::EOF;
use wire::{Capabilities, Command, StatusFlags};

use super::too_large::answered_too_large;
use crate::routing::leave_replica::ROLLBACK;
use crate::routing::routing_state::BeginProgress;
use crate::session::PooledSession;
use backend::diagnostics::Diagnostics;
use backend::exchange_outcome::ExchangeError;
use command::job::{Haste, Job};
use command::repeat::Repeat;
use command::statement::{BackendCommand, CommandTask};
use command::target::CommandTarget;
use link::client_command::Incoming;
use relay::outcome::{After, SessionError};
use session::effect::Effect;

impl PooledSession {
    /// COM_RESET_CONNECTION: the session begins anew, and its state on the held connection ends.
    pub(crate) async fn reset(&mut self, incoming: Incoming) -> Result<After, SessionError> {
        self.begin_anew().await;
        self.take_server_collation();
        self.reply_ok(incoming.sequence);
        Ok(After::Next)
    }

    /// COM_RESET_CONNECTION gives a session of MySQL the server's character sets in place of those of
    /// its handshake (`THD::cleanup_connection`): those of a login with the server's own collation.
    fn take_server_collation(&mut self) {
        let is_mysql = matches!(
            self.sql_state.session().flags().server,
            sql::Server::MySql(_)
        );
        let collation = u16::from(self.identity.greeting().collation);
        if !is_mysql || self.identity.key().collation == collation {
            return;
        }
        self.identity.set_collation(collation);
        // The collation is part of the connection's key, so the session cannot keep this connection.
        self.give_back();
    }

    /// Discards all state of the session. A connection that it holds is reset, which rolls back its transaction, and
    /// removes its locks and temporary tables. A connection with a distributed transaction is closed instead, because a
    /// server keeps a prepared one then.
    pub(crate) async fn begin_anew(&mut self) {
        self.sql_state.forget_statements();
        self.control.memory.note_less(usize::MAX);
        if self.held.has_connection() && Box::pin(self.is_in_distributed()).await {
            self.close_lease();
        }
        if let Some(mut lease) = self.held.take() {
            let is_reset = lease.conn.reset(&self.env.pool_env).await;
            self.held.put(lease);
            if is_reset.is_err() {
                // Closing the connection has the same effect.
                self.drop_lease(CloseReason::Broken);
            }
        }
        self.sql_state
            .session_mut()
            .reset(&self.env.pool_env.store.values);
        self.inherit();
        // The answers that its last connection knows are not needed any more.
        self.sql_state.forget_answers();
        self.client.set_status(StatusFlags::AUTOCOMMIT);
        self.routing.state_mut().note_begin(BeginProgress::Past);
        // Session tracking is the same as after a login.
        self.tracking.reset();
        self.note_wait_timeout();
    }

    /// Whether a distributed transaction may be open on the session's connection. A routine or a text that
    /// was not seen may have begun it, so an open transaction is rolled back first: the servers refuse
    /// that within a distributed one, in each of its states.
    async fn is_in_distributed(&mut self) -> bool {
        let pins = self.sql_state.session().pins();
        if pins.has(Pin::Xa) {
            return true;
        }
        let is_open =
            pins.has(Pin::Transaction) || self.client.status().contains(StatusFlags::IN_TRANS);
        if !is_open || !self.held.has_connection() {
            return false;
        }
        let asked = self.held.ask(&self.env.pool_env, ROLLBACK).await;
        !asked.is_ok_and(|own| own.outcome == Outcome::Ok)
    }

    /// COM_INIT_DB: the server says whether there is such a schema.
    pub(crate) async fn init_db(&mut self, incoming: Incoming) -> Result<After, SessionError> {
        self.through(incoming, CommandTarget::Same, Effect::Nothing, Haste::Read)
            .await
    }

    /// Runs a command of which only the reply matters.
    pub(crate) async fn plain(&mut self, incoming: Incoming) -> Result<After, SessionError> {
        self.through(incoming, CommandTarget::Home, Effect::Any, Haste::Write)
            .await
    }

    async fn through(
        &mut self,
        incoming: Incoming,
        command_target: CommandTarget,
        effect: Effect,
        haste: Haste,
    ) -> Result<After, SessionError> {
        let command = BackendCommand {
            incoming: &incoming,
            argument: incoming.argument(),
            facts: Rc::default(),
            task: CommandTask::Reply(haste),
        };
        self.send_command(command, (effect, command_target)).await
    }

    /// Saves the warning list before a command that is no statement. MySQL keeps the list for such a command: the reply
    /// counts its warnings, and the command adds to it.
    pub(crate) fn begin_outside_statements(&mut self) -> Outside {
        let conn = self.held.connection();
        let is_here =
            conn.is_some_and(|conn| self.sql_state.pending_answers().still_answers_on(conn));
        let list = self.sql_state.pending_answers().list();
        let is_elsewhere = self.is_mysql() && (!is_here || list.is_some());
        self.command.wants_clear = is_elsewhere;
        // Statements that restore the session's state may run in front of the command, and leave warnings of their own.
        let is_told = self.sql_state.session().diagnostics().ok_warnings.is_some();
        Outside {
            warnings: self.standing_warnings().filter(|_| is_elsewhere || is_told),
            list: list.filter(|_| is_elsewhere),
        }
    }

    /// Ends such a command: appends the warnings that it has added to the saved list.
    pub(crate) async fn end_outside_statements(&mut self, before: Outside) {
        let has_added = self.sql_state.session().diagnostics().list == List::Appended;
        if has_added && before.list.is_some() {
            self.fetch_last(before.list).await;
        }
    }

    /// A command too long to be held: it is streamed, and what it does is not known.
    pub(crate) async fn large(&mut self, incoming: Incoming) -> Result<After, SessionError> {
        // The packet that is still being sent has this id.
        let next = incoming.sequence.wrapping_add(1);
        match incoming.command {
            Command::QUERY => {}
            // The proxy has to change the statement ids of these commands, so it must hold them whole.
            _ => {
                let limit = self.settings.config.pool.long_data_bytes_max;
                let error = wire::errors::command_too_large(incoming.command, limit);
                let kind = link::failure::FailureKind::PayloadTooLarge;
                let failure = link::failure::Failure::saying(kind, error);
                return Err(SessionError::new(failure, Some(next)));
            }
        }
        self.rule_large(&incoming)?;
        let facts = Facts {
            access: Access::Unsure,
            ..Facts::default()
        };
        let held = match self.leave_replica(CommandTarget::Home, &facts).await {
            Ok(()) => self.hold(CommandTarget::Home).await,
            Err(failure) => Err(failure),
        };
        if let Err(failure) = held {
            // The rest of the command is still to come, and no backend takes it.
            return Err(SessionError::new(failure, Some(next)));
        }
        self.large_statement();
        let job = Job {
            is_cut: true,
            ..Job::of(&incoming, Needs::ALL, Haste::Write)
        };
        let outcome = match self.make_texts(&job.needs).await {
            Ok(_) => self.exchange(&job).await,
            Err(cut) => Err(cut),
        };
        match outcome {
            Ok(done) => {
                self.observe(Command::QUERY, &facts, b"", &done);
                match answered_too_large(Command::QUERY, &done) {
                    Some(too_large) => Err(too_large),
                    None => Ok(After::Next),
                }
            }
            Err(cut) => Err(self.cut_large(cut, incoming.sequence)),
        }
    }

    /// Returns the end of a session whose long statement was cut. The rest of the statement may still be to come.
    fn cut_large(&mut self, cut: ExchangeError, sequence: u8) -> SessionError {
        if let Some(too_large) = self.passed_too_large(&cut) {
            return too_large;
        }
        let repeat = Repeat::of(Effect::Any, CommandTarget::Home);
        match self.cut_short(cut, sequence, Command::QUERY, repeat) {
            Ok(_) => {
                let kind = link::failure::FailureKind::BackendLost;
                let text = "the connection to the backend broke while the client was sending a long statement";
                SessionError::new(link::failure::Failure::new(kind, text), None)
            }
            Err(cut) => cut,
        }
    }

    /// COM_SET_OPTION: several statements in one COM_QUERY, on or off. Capabilities are part of a connection's key, so
    /// from now on the session uses other connections.
    pub(crate) async fn set_option(&mut self, incoming: Incoming) -> Result<After, SessionError> {
        let argument = incoming.argument().into_owned();
        let is_on = match argument
            .first_chunk::<2>()
            .map(|it| u16::from_le_bytes(*it))
        {
            Some(0) => true,
            Some(1) => false,
            _ => {
                self.reply_error(incoming.sequence, &wire::errors::unknown_command());
                return Ok(After::Next);
            }
        };
        if self.held.has_connection() {
            // The session stays on its connection, where the server needs the command. No other session can use it
            // afterwards.
            self.held.spoil();
            self.may_send_several(is_on);
            return self.plain(incoming).await;
        }
        self.learn_count().await;
        if let Err(failure) = self.leave_kind().await {
            return self.refuse(&failure, incoming.sequence);
        }
        self.may_send_several(is_on);
        self.reply_eof(incoming.sequence);
        self.sql_state.session_mut().answered(Answered::Eof);
        Ok(After::Next)
    }

    /// Sets whether a COM_QUERY may hold several statements.
    fn may_send_several(&mut self, is_on: bool) {
        let several = Capabilities::MULTI_STATEMENTS;
        self.client.set_capability(several, is_on);
        self.identity.set_capability(several, is_on);
    }

    /// Asks how many warnings an error has left, if that is not known yet.
    pub(crate) async fn learn_count(&mut self) {
        if !self.is_mysql() || self.sql_state.session().diagnostics().ok_warnings.is_some() {
            return;
        }
        self.wait_for_saving().await;
        self.take_up_saved();
        if self.sql_state.pending_answers().is_pending()
            && self.hold(CommandTarget::Same).await.is_ok()
        {
            self.keep_past().await;
        }
    }

    /// The number of warnings in replies to commands that are no statements. MySQL counts those of the statement
    /// before.
    pub(crate) fn standing_warnings(&self) -> Option<u16> {
        let left = self.sql_state.session().diagnostics();
        let listed = || {
            let listed = self
                .sql_state
                .pending_answers()
                .list()
                .map(|list| list.count());
            listed.map_or(left.warnings, |count| {
                u16::try_from(count).unwrap_or(u16::MAX)
            })
        };
        self.is_mysql()
            .then(|| left.ok_warnings.unwrap_or_else(listed))
    }

    fn reply_eof(&mut self, sequence: u8) {
        let [low, high] = self.client.status().0.to_le_bytes();
        let [few, many] = self.standing_warnings().unwrap_or_default().to_le_bytes();
        match self
            .client
            .capabilities()
            .contains(Capabilities::DEPRECATE_EOF)
        {
            true => self.reply(sequence, &[EOF, 0, 0, low, high, few, many]),
            false => self.reply(sequence, &[EOF, few, many, low, high]),
        }
    }
}

/// The warnings of the last statement, saved while a command runs that is no statement.
pub(crate) struct Outside {
    /// The number of warnings that its reply counts, if the connection does not know it.
    pub warnings: Option<u16>,
    list: Option<Rc<Diagnostics>>,
}
