//! Errors about statements that do not exist, or have no cursor. A backend is asked for these errors, so that they have
//! the client's language and the usual effect on the warning list.

use backend::unknown_statement::{UNUSED_STATEMENT_ID, renamed};
use std::rc::Rc;

use session::state::{Answered, Needs};
use session::{Outcome, Tally};
use sql::Facts;
use wire::errors::{self, ProxyError};
use wire::{Command, ErrPacket};

use crate::session::PooledSession;
use backend::diagnostics::Diagnostics;
use backend::exchange_outcome::Done;
use backend::own_reply::{OwnReply, own_command};
use backend::settle_answers::settle;
use command::target::CommandTarget;
use relay::outcome::{After, SessionError};

/// The wrong command that a backend is asked to refuse.
pub(crate) struct Mistake {
    pub command: Command,
    /// The command's argument, with the backend's statement id.
    pub argument: Vec<u8>,
    /// The backend's id in the error, and (`meant`) the client's id that replaces it.
    pub statement_id: u32,
    pub meant: u32,
}

impl PooledSession {
    /// Answers a command that names a statement that does not exist.
    pub(crate) async fn unknown_statement(
        &mut self,
        sequence: u8,
        command: Command,
        meant: u32,
    ) -> Result<After, SessionError> {
        let mut argument = UNUSED_STATEMENT_ID.to_le_bytes().to_vec();
        match command {
            // Flags and a count that is always 1.
            Command::STMT_EXECUTE => argument.extend_from_slice(&[0, 1, 0, 0, 0]),
            Command::STMT_FETCH => argument.extend_from_slice(&[1, 0, 0, 0]),
            _ => {}
        }
        let mistake = Mistake {
            command,
            argument,
            statement_id: UNUSED_STATEMENT_ID,
            meant,
        };
        if let Err(failure) = self.hold(CommandTarget::Same).await {
            return self.refuse(&failure, sequence);
        }
        self.mistaken(sequence, &mistake).await
    }

    /// Asks the connection for its error, and sends the error with the client's id.
    pub(crate) async fn mistaken(
        &mut self,
        sequence: u8,
        mistake: &Mistake,
    ) -> Result<After, SessionError> {
        let before = self.begin_outside_statements();
        if mistake.statement_id == UNUSED_STATEMENT_ID {
            self.sql_state
                .pending_answers()
                .unknown
                .set(Some(mistake.meant));
        }
        let own = match self.ask_mistake(mistake).await {
            Some(own) if own.outcome != Outcome::Ok => own,
            _ => {
                self.drop_lease(pool::CloseReason::Broken);
                self.reply_error(sequence, &errors::unknown_handler(mistake.meant));
                return Ok(After::Next);
            }
        };
        if let Some(error) = own.error() {
            let text = renamed(error.text, mistake.statement_id, mistake.meant);
            let mut payload = Vec::new();
            ErrPacket {
                text: &text,
                ..error
            }
            .encode(&mut payload);
            self.reply(sequence, &payload);
        }
        let done = Done {
            outcome: own.outcome,
            tally: Tally {
                error: own.tally.error,
                ..Tally::default()
            },
            ..Done::answered_by_proxy()
        };
        self.observe(Command::STMT_RESET, &Facts::default(), b"", &done);
        self.end_outside_statements(before).await;
        self.keep_past().await;
        if let Some(list) = self.sql_state.pending_answers().list() {
            let mut list = Diagnostics::clone(&list);
            list.rename_last(|message| renamed(message, mistake.statement_id, mistake.meant));
            self.sql_state.pending_answers().keep_list(Rc::new(list));
        }
        Ok(After::Next)
    }

    /// Puts an error of the proxy into the warning list, as if a server had reported it, in the proxy's language.
    /// Without a connection the list stays as it is.
    pub(crate) async fn put_down_error(&mut self, error: &ProxyError) {
        if self.hold(CommandTarget::Same).await.is_err() || !self.keep_past().await {
            return;
        }
        let before = self
            .sql_state
            .pending_answers()
            .list()
            .filter(|_| self.is_mysql());
        let Some(conn) = self.held.connection_mut() else {
            return;
        };
        let settled = settle(&self.env.pool_env, conn, self.sql_state.pending_answers()).await;
        if settled.is_err() {
            return self.drop_lease(pool::CloseReason::Broken);
        }
        let Some(empty) = self.ask_empty_list().await else {
            return;
        };
        self.sql_state.session_mut().answered(Answered::Error);
        let mut list = before.map_or(empty, |list| Diagnostics::clone(&list));
        list.push_error(error.code, &error.text);
        self.sql_state.pending_answers().keep_list(Rc::new(list));
    }

    /// Returns an empty warning list, in the form of the session's server. `None`: there is no connection.
    pub(crate) async fn ask_empty_list(&mut self) -> Option<Diagnostics> {
        if !self.held.has_connection() {
            self.hold(CommandTarget::Same).await.ok()?;
        }
        let question = "SHOW WARNINGS LIMIT 0";
        let Ok(own) = self.held.ask(&self.env.pool_env, question).await else {
            self.drop_lease(pool::CloseReason::Broken);
            return None;
        };
        Diagnostics::read(&own, self.conn_capabilities())
    }

    async fn ask_mistake(&mut self, mistake: &Mistake) -> Option<OwnReply> {
        let mut lease = self.held.take()?;
        let equal = self
            .restore_state_first(&mut lease.conn, &Needs::NONE)
            .await;
        let asked = match equal {
            Ok(()) => {
                let packets = own_command(mistake.command, &mistake.argument);
                self.send(&mut lease.conn, &packets).await;
                lease
                    .conn
                    .read_reply(&self.env.pool_env, mistake.command)
                    .await
                    .ok()
            }
            Err(_) => None,
        };
        self.held.put(lease);
        asked
    }
}
