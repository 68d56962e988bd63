//! Cursors of prepared statements: rows in pieces, from the connection that has them.

use std::borrow::Cow;
use std::rc::Rc;

use pool::ClientStatementId;
use session::state::Needs;
use wire::statement::statement_id;
use wire::{Command, errors};

use super::prepared::with_id;
use super::unknown_statements::Mistake;
use command::statement::{BackendCommand, CommandTask};

use crate::session::PooledSession;
use command::target::CommandTarget;
use link::client_command::Incoming;
use relay::outcome::{After, SessionError};
use session::effect::Effect;

impl PooledSession {
    /// COM_STMT_FETCH: reads rows of a cursor, whose connection the session holds.
    pub(crate) async fn fetch(&mut self, incoming: Incoming) -> Result<After, SessionError> {
        let argument = incoming.argument().into_owned();
        let Ok(number) = statement_id(&argument) else {
            return self.malformed(incoming.sequence);
        };
        let cursor = self.sql_state.statements().resolve(number).and_then(|id| {
            let key = self.sql_state.cursor(id)?;
            Some((id, key.clone()))
        });
        let on_backend = cursor.as_ref().and_then(|(_, key)| {
            let conn = self.held.connection()?;
            conn.prepared.id(key)
        });
        let (Some((id, _)), Some(backend_id)) = (cursor, on_backend) else {
            return self.no_cursor(incoming.sequence, number).await;
        };
        let packets = with_id(Command::STMT_FETCH, &argument, backend_id);
        let command = BackendCommand {
            incoming: &incoming,
            argument: Cow::Owned(argument),
            facts: Rc::default(),
            task: CommandTask::Fetch(id, packets),
        };
        let once = (Effect::Nothing, CommandTarget::Same);
        self.send_command(command, once).await
    }

    /// Answers a FETCH of a statement without a cursor (`ER_STMT_HAS_NO_OPEN_CURSOR`), or of an unknown statement.
    async fn no_cursor(&mut self, sequence: u8, number: u32) -> Result<After, SessionError> {
        let Some(id) = self.sql_state.statements().resolve(number) else {
            return self
                .unknown_statement(sequence, Command::STMT_FETCH, number)
                .await;
        };
        let Some(key) = self
            .sql_state
            .statements()
            .statement(id)
            .map(|it| it.statement.clone())
        else {
            return Ok(After::Next);
        };
        if let Err(failure) = self.hold(CommandTarget::Same).await {
            return self.refuse(&failure, sequence);
        }
        // The statement may have to be prepared there first, which would change the warning list that the error is
        // added to.
        self.keep_past().await;
        let before = *self.sql_state.session().diagnostics();
        let prepared = self.backend_statement(&key, &Needs::NONE).await;
        self.sql_state.session_mut().left_alone(before);
        let Ok(Ok(backend_id)) = prepared else {
            self.reply_error(sequence, &errors::no_cursor(number));
            return Ok(After::Next);
        };
        let mistake = Mistake {
            command: Command::STMT_FETCH,
            argument: [backend_id.0.to_le_bytes(), 1u32.to_le_bytes()].concat(),
            statement_id: backend_id.0,
            meant: number,
        };
        let after = self.mistaken(sequence, &mistake).await;
        self.held.finish_prepared(&key);
        after
    }

    /// Closes a statement's cursor on the backend, and the backend's statement with it.
    pub(crate) fn end_cursor_of(&mut self, id: ClientStatementId) {
        if let Some(key) = self.sql_state.close_cursor(id) {
            self.held.close_prepared(&key);
        }
    }
}
