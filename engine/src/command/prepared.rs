//! Prepared statements. The client's ids belong to its session, the backends' ids to their connections. A statement is
//! prepared on a connection when a session first needs it there.

use std::borrow::Cow;
use std::rc::Rc;

use pool::{BackendStatementId, LongDataFault};
use session::state::{Answered, List, Needs, Pin, Ran, Seen};
use session::{Outcome, Tally};
use sql::{Access, Analysis, Answers, Effects, Uses};
use wire::errors::{self, ProxyError};
use wire::reply::OK;
use wire::statement::{
    LongData as Piece, PrepareOk, patch_eof_flags, patch_statement_id, statement_id,
};
use wire::{Command, HEADER_BYTES, StatusFlags};

use crate::rules::prepared_rules::Preparing;
use crate::session::PooledSession;
use backend::connection::BackendConn;
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::ExchangeError;
use backend::own_reply::{OwnReply, own_command};
use backend::prepared_statement::{Definitions, StatementKey};
use command::statement::{BackendCommand, CommandTask};
use command::target::CommandTarget;
use link::client_command::Incoming;
use link::failure::Failure;
use link::query_command::Carries;
use relay::outcome::{After, SessionError};
use session::effect::Effect;

/// The status flags about a session's transaction.
const OF_TRANSACTION: StatusFlags = StatusFlags(
    StatusFlags::IN_TRANS.0 | StatusFlags::IN_TRANS_READONLY.0 | StatusFlags::AUTOCOMMIT.0,
);

impl PooledSession {
    /// COM_STMT_PREPARE.
    pub(crate) async fn prepare(&mut self, mut incoming: Incoming) -> Result<After, SessionError> {
        self.sql_state.statements_mut().begin_prepare();
        if let Err(full) = self.sql_state.statements().has_room() {
            let error = errors::too_many_statements(full.count_max);
            self.reply_error(incoming.sequence, &error);
            return Ok(After::Next);
        }
        self.learn_status().await;
        let ahead = match self.read_prepare(&mut incoming).await {
            Ok(ahead) => ahead,
            Err(failure) => return self.refuse(&failure, incoming.sequence),
        };
        let mut key = match self.statement_key(&incoming.argument(), ahead).await {
            Ok(key) => key,
            Err(failure) => return self.refuse(&failure, incoming.sequence),
        };
        if !self.has_memory_for_text() {
            let error = errors::memory_full("the text of the statement");
            self.reply_error(incoming.sequence, &error);
            return Ok(After::Next);
        }
        if self.is_ruled(&key.facts, Carries::Nothing) {
            match Box::pin(self.rule_prepare(key, incoming.sequence)).await? {
                Preparing::Answered(after) => return Ok(after),
                Preparing::Goes(ruled) => key = ruled,
                Preparing::Promised(key, definitions) => {
                    return Ok(self.reply_prepared(incoming.sequence, key, &definitions));
                }
            }
        }
        let epoch = self.env.pool_env.shared.definitions_epoch();
        // In a read-only transaction, MySQL refuses to prepare a statement that may write.
        let only_reads = self
            .client
            .status()
            .contains(StatusFlags::IN_TRANS_READONLY);
        let may_be_refused = only_reads && key.facts.access >= Access::Unsure;
        if let Some(known) = self.env.pool_env.store.definitions(&key, epoch)
            && !may_be_refused
        {
            let reads_tables = key.facts.tables().next().is_some();
            self.sql_state
                .session_mut()
                .answered(Answered::Prepared { reads_tables });
            if self.sql_state.session().diagnostics().list == List::Empty {
                self.sql_state.pending_answers().forget_list();
            }
            return Ok(self.reply_prepared(incoming.sequence, key, &known));
        }
        let command_target = self
            .policy_target(&key.facts)
            .unwrap_or(CommandTarget::Home);
        let command = BackendCommand {
            incoming: &incoming,
            argument: Cow::Borrowed(&[]),
            facts: Rc::clone(&key.facts),
            task: CommandTask::Prepare(key),
        };
        self.send_command(command, (Effect::Nothing, command_target))
            .await
    }

    /// The key of a text that is to be prepared. `ahead`: the analysis of the text, if it was read before.
    pub(crate) async fn statement_key(
        &mut self,
        text: &[u8],
        ahead: Option<Analysis>,
    ) -> Result<StatementKey, Failure> {
        let flags = self.sql_state.session().flags();
        let key = self.plain_key(text, ahead);
        if !key.facts.uses.has(Uses::CONNECTION_ID) {
            return Ok(key);
        }
        let id = Some(u64::from(self.identity.id()));
        let answers = Answers {
            connection_id: id,
            pseudo_thread_id: id,
            ..Answers::default()
        };
        match key.facts.rewrite(text, flags, &answers).text {
            Some(mut text) => {
                let ahead = self.read_if_long(&mut text).await?;
                Ok(self.plain_key(&text, ahead))
            }
            None => Ok(key),
        }
    }

    fn plain_key(&self, text: &[u8], ahead: Option<Analysis>) -> StatementKey {
        let flags = self.sql_state.session().flags();
        self.env.pool_env.store.statement(
            text,
            self.sql_state.session().values(),
            self.identity.key(),
            self.routing.settings().cluster,
            |text| ahead.unwrap_or_else(|| Analysis::of(text, flags)),
            &self.env.rule_set.borrow().compiled.functions,
        )
    }

    /// Gives the statement an id for the client, and sends the client the server's reply to PREPARE with that id.
    pub(crate) fn reply_prepared(
        &mut self,
        sequence: u8,
        key: StatementKey,
        definitions: &Rc<Definitions>,
    ) -> After {
        let bytes = key.text.bytes().len() + definitions.packets.len();
        let prepared = self.sql_state.statements_mut().prepare(
            key,
            definitions.parameter_count,
            definitions.column_count,
            Rc::clone(&definitions.packets),
        );
        match prepared {
            Ok(id) => {
                self.control.memory.note_more(bytes);
                let mut packets = definitions.packets.to_vec();
                patch_statement_id(&mut packets[HEADER_BYTES..], id.number());
                // The flags in these packets may come from within a transaction, or from another session.
                patch_eof_flags(&mut packets, OF_TRANSACTION, self.client.status());
                self.reply_renumbered(sequence, packets);
            }
            Err(full) => {
                self.reply_error(sequence, &errors::too_many_statements(full.count_max));
            }
        }
        if self
            .sql_state
            .session()
            .rules()
            .lasting
            .has(Pin::PreparedStatement)
        {
            self.sql_state.session_mut().pin(Pin::PreparedStatement);
        }
        After::Next
    }

    /// Sends the server's error to a client whose command needs a statement that the server does not prepare.
    pub(crate) fn pass_error(&mut self, sequence: u8, own: &OwnReply) {
        let error = own.payloads().last().unwrap_or_default().to_vec();
        self.note_failed(&error, self.held.backend().map(|backend| backend.id));
        self.reply(sequence, &error);
        self.sql_state
            .pending_answers()
            .note(self.sql_state.session().diagnostics(), &own.tally);
    }

    /// Prepares a statement on the session's connection, in the state that the client has prepared it in. The inner
    /// error is the server's reply.
    pub(crate) async fn prepare_there(
        &mut self,
        key: &StatementKey,
        needs: &Needs,
    ) -> Result<Result<(BackendStatementId, Rc<Definitions>), OwnReply>, ExchangeError> {
        if !Rc::ptr_eq(&key.values, self.sql_state.session().values()) {
            Box::pin(self.settle_doubts()).await;
        }
        let Some(mut lease) = self.held.take() else {
            return Err(ExchangeError::no_connection());
        };
        let outcome = self.prepare_on(&mut lease.conn, key, needs).await;
        self.held.put(lease);
        outcome
    }

    async fn prepare_on(
        &mut self,
        conn: &mut BackendConn,
        key: &StatementKey,
        needs: &Needs,
    ) -> Result<Result<(BackendStatementId, Rc<Definitions>), OwnReply>, ExchangeError> {
        let env = Rc::clone(&self.env);
        let then = self
            .sql_state
            .session()
            .values_to_prepare(&env.pool_env.store.values, &key.values);
        let now = self.sql_state.session_mut().swap_values(then);
        let outcome = self.prepare_in_state(conn, key, needs).await;
        self.sql_state.session_mut().swap_values(now);
        outcome
    }

    /// Prepares the statement in the state that the session has now.
    async fn prepare_in_state(
        &mut self,
        conn: &mut BackendConn,
        key: &StatementKey,
        needs: &Needs,
    ) -> Result<Result<(BackendStatementId, Rc<Definitions>), OwnReply>, ExchangeError> {
        self.restore_state_first(conn, needs).await?;
        let broken = |broken: ConnectionError| ExchangeError::unsent(broken.into());
        let own = backend::kept_statements::prepare(
            &self.env.pool,
            conn,
            Command::STMT_PREPARE,
            key.text.bytes(),
        )
        .await
        .map_err(broken)?;
        let ok = PrepareOk::decode(own.first_payload()).ok();
        let warnings = ok.as_ref().map_or(0, |ok| ok.warnings);
        let tally = Tally {
            warnings,
            ..own.tally
        };
        let seen = Seen {
            ran: Ran::Prepare,
            facts: &key.facts,
            text: key.text.bytes(),
            changes: &own.changes,
            tally: &tally,
            error: match own.outcome {
                Outcome::Ok => None,
                Outcome::Err(number) => Some(number),
            },
        };
        let values = &self.env.pool_env.store.values;
        self.sql_state
            .session_mut()
            .observe(&mut conn.state, values, &seen);
        if own.outcome != Outcome::Ok {
            return Ok(Err(own));
        }
        let ok = PrepareOk::decode(own.first_payload()).map_err(|error| broken(error.into()))?;
        let id = BackendStatementId(ok.statement_id);
        let definitions = Rc::new(Definitions {
            parameter_count: ok.parameters,
            column_count: ok.columns,
            packets: own.bytes.as_slice().into(),
            epoch: self.env.pool_env.shared.definitions_epoch(),
        });
        // If the server warns, the next PREPARE has to run on a connection again, so that its warnings can be asked
        // for.
        if key.cursor.is_none() && warnings == 0 {
            self.env.pool_env.store.define(key, &definitions);
        }
        if let Some(former) = conn.prepared.learn(key.clone(), id) {
            conn.close_statement(former);
        }
        Ok(Ok((id, definitions)))
    }

    /// COM_STMT_RESET: discards the statement's long data, and closes its cursor.
    pub(crate) async fn reset_statement(
        &mut self,
        incoming: Incoming,
    ) -> Result<After, SessionError> {
        let argument = incoming.argument().into_owned();
        let Ok(number) = statement_id(&argument) else {
            return self.malformed(incoming.sequence);
        };
        let Some(id) = self.sql_state.statements().resolve(number) else {
            return self
                .unknown_statement(incoming.sequence, Command::STMT_RESET, number)
                .await;
        };
        self.sql_state.statements_mut().reset(id);
        self.end_cursor_of(id);
        self.learn_status().await;
        let [low, high] = self.client.status().0.to_le_bytes();
        self.reply(incoming.sequence, &[OK, 0, 0, low, high, 0, 0]);
        self.sql_state.session_mut().answered(Answered::Reset);
        Ok(After::Next)
    }

    /// COM_STMT_CLOSE, which has no reply.
    pub(crate) async fn close_statement(&mut self, incoming: &Incoming) {
        let argument = incoming.argument();
        let number = statement_id(&argument);
        if let Some(id) = number
            .ok()
            .and_then(|number| self.sql_state.statements().resolve(number))
        {
            self.end_cursor_of(id);
            if let Some(closed) = self.sql_state.statements_mut().close(id) {
                let text = closed.statement.text.bytes();
                self.control
                    .memory
                    .note_less(text.len() + closed.definitions.len());
            }
        }
    }

    /// COM_STMT_SEND_LONG_DATA, which has no reply.
    pub(crate) fn send_long_data(&mut self, incoming: &Incoming) {
        let argument = incoming.argument();
        let Ok(piece) = Piece::decode(&argument) else {
            return;
        };
        if let Some(id) = self.sql_state.statements().resolve(piece.statement_id) {
            self.sql_state
                .statements_mut()
                .send_long_data(id, piece.parameter, piece.data);
            self.count_long_data(piece.statement_id);
        }
    }

    /// The error of a wrong COM_STMT_SEND_LONG_DATA, which the client gets at EXECUTE, in the servers' words.
    pub(crate) fn long_data_fault(&self, fault: &LongDataFault) -> ProxyError {
        match fault {
            LongDataFault::NoSuchParameter(_) => {
                let function =
                    self.server_function("mysqld_stmt_send_long_data", "mysql_stmt_precheck");
                errors::wrong_arguments(function)
            }
            LongDataFault::TooLong { .. } => errors::long_data_too_long(),
            LongDataFault::NoMemory => errors::memory_full("long data"),
        }
    }

    /// The name of the server's function that does not find a statement, as its error quotes it.
    pub(crate) fn server_function(
        &self,
        mariadb: &'static str,
        mysql: &'static str,
    ) -> &'static str {
        match self.sql_state.session().flags().server {
            sql::Server::MySql(_) => mysql,
            sql::Server::MariaDb(_) | sql::Server::Unknown => mariadb,
        }
    }
}

/// Whether a statement may change the definitions of prepared statements.
pub(crate) fn defines(facts: &sql::Facts) -> bool {
    facts.effects.has(Effects::ANYTHING)
        || matches!(
            facts.kind,
            sql::StatementKind::Create(_)
                | sql::StatementKind::Alter(_)
                | sql::StatementKind::Drop(_)
                | sql::StatementKind::Rename(_)
        )
}

/// The packets of a command that names a statement by the backend's id.
pub(crate) fn with_id(command: Command, argument: &[u8], id: BackendStatementId) -> Vec<u8> {
    let mut packets = own_command(command, argument);
    patch_statement_id(&mut packets[HEADER_BYTES..], id.0);
    packets
}
