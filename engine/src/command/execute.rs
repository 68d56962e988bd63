//! COM_STMT_EXECUTE and COM_STMT_BULK_EXECUTE: finds the statement and its parameters, runs it, and updates the
//! prepared statement afterwards.

use std::rc::Rc;

use pool::{BackendStatementId, ClientStatementId, LongData};
use session::Outcome;
use session::state::Needs;
use wire::Command;
use wire::attribute::QueryAttribute;
use wire::errors::{self, ProxyError};
use wire::execute::Execute;
use wire::statement::statement_id;

use crate::session::PooledSession;
use backend::exchange_outcome::{Done, ExchangeError};
use backend::own_reply::OwnReply;
use backend::prepared_statement::StatementKey;
use backend::prepared_statement::{NEED_REPREPARE, UNKNOWN_HANDLER};
use command::statement::{BulkExecution, Executing, Statement};
use link::client_command::Incoming;
use link::text_reader::READ_HERE_BYTES_MAX;
use relay::outcome::{After, SessionError};

impl PooledSession {
    /// COM_STMT_EXECUTE.
    pub(crate) async fn execute(&mut self, incoming: Incoming) -> Result<After, SessionError> {
        let after = self.execute_whole(&incoming).await;
        self.env.pool_env.store.return_bytes(incoming.packets);
        after
    }

    async fn execute_whole(&mut self, incoming: &Incoming) -> Result<After, SessionError> {
        let argument = incoming.argument();
        let named = self.named_statement(incoming, &argument).await?;
        let NamedStatement {
            id,
            key,
            parameter_count,
        } = match named {
            Ok(named) => named,
            Err(after) => return Ok(after),
        };
        if key.text.bytes().len() > READ_HERE_BYTES_MAX
            && let Err(failure) = Box::pin(self.read_digest_text(&key)).await
        {
            return self.refuse(&failure, incoming.sequence);
        }
        // If the execution is refused from here on, it counts as one that has failed.
        self.note_execution_of(&key, incoming.packets.len());
        let Ok(execute) = Execute::decode(&argument, self.client.capabilities(), parameter_count)
        else {
            let function = self.server_function("mysqld_stmt_execute", "COM_STMT_EXECUTE");
            let error = errors::wrong_arguments(function);
            self.refuse_execution(incoming, &error).await;
            return Ok(After::Next);
        };
        let types = self.note_types(id, &execute);
        let long_data = match self.sql_state.statements_mut().take_long_data(id) {
            Ok(long_data) => long_data,
            Err(fault) => {
                let error = self.long_data_fault(&fault);
                self.refuse_execution(incoming, &error).await;
                return Ok(After::Next);
            }
        };
        self.end_cursor_of(id);
        let attributes =
            self.attributes_of(&execute, (parameter_count, types.as_deref()), &long_data);
        self.note_attributes(&attributes);
        let cursor = (execute.flags & CURSOR_TYPES != 0).then_some(id);
        let executing = Executing {
            incoming,
            id,
            key: StatementKey { cursor, ..key },
            execute,
            attributes,
            types: types.clone(),
            parameter_count,
            long_data,
            is_replaced: false,
        };
        let mut statement = Statement::Execution(executing);
        Ok(self.run_statement(&mut statement).await?.after)
    }

    /// COM_STMT_BULK_EXECUTE (MariaDB).
    pub(crate) async fn bulk_execute(&mut self, incoming: Incoming) -> Result<After, SessionError> {
        let argument = incoming.argument();
        let named = match self.named_statement(&incoming, &argument).await? {
            Ok(named) => named,
            Err(after) => return Ok(after),
        };
        // The server discards long data for this statement, because all values come with the rows.
        drop(self.sql_state.statements_mut().take_long_data(named.id));
        self.end_cursor_of(named.id);
        if named.key.text.bytes().len() > READ_HERE_BYTES_MAX
            && let Err(failure) = Box::pin(self.read_digest_text(&named.key)).await
        {
            return self.refuse(&failure, incoming.sequence);
        }
        self.note_execution_of(&named.key, incoming.packets.len());
        let bulk = BulkExecution {
            incoming: &incoming,
            argument: &argument,
            id: named.id,
            key: named.key,
            parameter_count: named.parameter_count,
        };
        let mut statement = Statement::Bulk(bulk);
        Ok(self.run_statement(&mut statement).await?.after)
    }

    /// The statement that a command names. The inner error: there is no such statement, and the client knows.
    async fn named_statement(
        &mut self,
        incoming: &Incoming,
        argument: &[u8],
    ) -> Result<Result<NamedStatement, After>, SessionError> {
        let Ok(number) = statement_id(argument) else {
            return self.malformed(incoming.sequence).map(Err);
        };
        let id = self.sql_state.statements().resolve(number);
        let named = id.and_then(|id| {
            let statement = self.sql_state.statements().statement(id)?;
            Some(NamedStatement {
                id,
                key: statement.statement.clone(),
                parameter_count: statement.parameter_count,
            })
        });
        if let Some(named) = named {
            return Ok(Ok(named));
        }
        if incoming.command == Command::STMT_EXECUTE {
            let told = self.unknown_statement(incoming.sequence, incoming.command, number);
            return Box::pin(told).await.map(Err);
        }
        let error = errors::unknown_handler_given(number, "mysqld_stmt_bulk_execute");
        self.refuse_execution(incoming, &error).await;
        Ok(Err(After::Next))
    }

    async fn refuse_execution(&mut self, incoming: &Incoming, error: &ProxyError) {
        Box::pin(self.put_down_error(error)).await;
        self.reply_error(incoming.sequence, error);
    }

    /// Notes the types that the client gives its parameters. Returns the types of this execution.
    fn note_types(&mut self, id: ClientStatementId, execute: &Execute<'_>) -> Option<Rc<[u8]>> {
        let statement = self.sql_state.statements_mut().statement_mut(id)?;
        statement.former_types.clone_from(&statement.types);
        if let Some(types) = execute.types
            && statement.types.as_deref() != Some(types)
        {
            let types = Rc::from(types);
            statement.types_seen.see(&types);
            statement.types = Some(types);
        }
        statement.types.clone()
    }

    /// The query attributes of an execution. None if they are malformed: the server refuses the execution.
    fn attributes_of<'a>(
        &self,
        execute: &Execute<'a>,
        (parameter_count, types): (u16, Option<&'a [u8]>),
        long_data: &LongData,
    ) -> Vec<QueryAttribute<'a>> {
        let attributes = execute.named_attributes(
            parameter_count,
            types.unwrap_or_default(),
            |parameter| long_data.of(parameter).is_some(),
            self.client.capabilities(),
        );
        attributes.unwrap_or_default()
    }

    /// Switches to the schema that a statement was prepared in. Returns the session's own schema, if it is another one.
    pub(crate) async fn visit(&mut self, key: &StatementKey) -> Option<Rc<[u8]>> {
        if key.values.schema() != self.sql_state.session().values().schema() {
            Box::pin(self.settle_doubts()).await;
        }
        let table = &self.env.pool_env.store.values;
        self.sql_state
            .session_mut()
            .visit(table, key.values.schema())
    }

    /// Switches back to the session's own schema, if the session has left it.
    pub(crate) fn return_to(&mut self, schema: Option<Rc<[u8]>>) {
        if let Some(schema) = schema {
            self.sql_state
                .session_mut()
                .return_to(&self.env.pool_env.store.values, &schema);
        }
    }

    /// Returns the statement's id on the session's connection, and prepares the statement there if necessary.
    pub(crate) async fn backend_statement(
        &mut self,
        key: &StatementKey,
        needs: &Needs,
    ) -> Result<Result<BackendStatementId, OwnReply>, ExchangeError> {
        self.reset_if_unlike(needs).await?;
        if let Some(id) = self.held.begin_prepared(key) {
            return Ok(Ok(id));
        }
        let prepared = Box::pin(self.prepare_there(key, needs)).await?;
        Ok(prepared.map(|(id, _)| id))
    }

    pub(crate) fn after_execute(&mut self, id: ClientStatementId, key: &StatementKey, done: &Done) {
        if !self.held.has_connection() {
            return;
        }
        let flags = done.tally.status.unwrap_or_default();
        match done.outcome {
            // The statement stays in use as long as its cursor is open.
            Outcome::Ok if flags.contains(wire::StatusFlags::CURSOR_EXISTS) => {
                self.sql_state.open_cursor(id, key.clone());
                return;
            }
            Outcome::Ok if flags.contains(wire::StatusFlags::METADATA_CHANGED) => {
                self.env.pool_env.shared.definitions_changed();
            }
            Outcome::Ok => {}
            Outcome::Err(NEED_REPREPARE | UNKNOWN_HANDLER) => {
                self.env.pool_env.shared.definitions_changed();
                self.held.close_prepared(key);
            }
            Outcome::Err(_) => self.held.unbind(key),
        }
        match key.cursor {
            // The statement wanted a cursor and got none, so other sessions cannot use it.
            Some(_) => self.held.close_prepared(key),
            None => self.held.finish_prepared(key),
        }
    }
}

/// A prepared statement that a command names.
struct NamedStatement {
    id: ClientStatementId,
    key: StatementKey,
    parameter_count: u16,
}

/// The flags of an EXECUTE that ask for a cursor, of any type.
pub(crate) const CURSOR_TYPES: u8 = 0b111;
