//! Commands of the protocol, each with its reply.

mod bulk;
mod cursors;
mod local_files;

use std::collections::BTreeMap;
use std::rc::Rc;

use wire::execute::Execute;
use wire::query::Query;
use wire::statement::{LAST_PREPARED, LongData, PrepareOk, statement_id};
use wire::{Capabilities, Command};

use super::ast::{KillScope, Statement};
use super::binding::values;
use super::error::{SqlError, SqlResult};
use super::output::{Done, Follows, Outcome, Output, Protocol};
use super::parser::{Parsed, Reading};
use super::result_column::ResultColumn;
use super::result_type::ResultType;
use super::session::{PreparedStatement, Session};
use super::value::Value;
pub use cursors::Cursor;

/// What follows a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The reply is in the output.
    Reply,
    /// The output asks for a file, which [`Session::load_file`] takes.
    File,
    /// There is no reply.
    Silence,
    /// The client has said goodbye.
    Goodbye,
}

impl Session {
    /// Executes a command. COM_CHANGE_USER is not among them: it is a login.
    pub async fn command(&mut self, payload: &[u8], out: &mut Output) -> After {
        out.begin(1);
        let Some((byte, arguments)) = payload.split_first() else {
            out.error(&self.family().malformed_packet());
            return After::Reply;
        };
        let command = Command(*byte);
        let result = match command {
            Command::QUIT => return After::Goodbye,
            Command::STMT_CLOSE => {
                if let Ok(id) = statement_id(arguments) {
                    self.prepared.by_id.remove(&id);
                }
                return After::Silence;
            }
            Command::STMT_SEND_LONG_DATA => {
                self.long_data(arguments);
                return After::Silence;
            }
            Command::QUERY => self.query(arguments, out).await,
            Command::STMT_PREPARE => self.prepare(arguments, out).await,
            Command::STMT_EXECUTE => self.execute_prepared(arguments, out).await,
            Command::STMT_BULK_EXECUTE if self.family().is_mariadb() => {
                self.bulk_execute(arguments, out).await
            }
            other => self.short_command(other, arguments, out),
        };
        if let Err(error) = result {
            let columns = std::mem::take(&mut self.sent_columns);
            self.write_head(out, &columns);
            out.error(&error);
        }
        match self.upload {
            Some(_) => After::File,
            None => After::Reply,
        }
    }

    /// Commands that need no wait.
    fn short_command(
        &mut self,
        command: Command,
        arguments: &[u8],
        out: &mut Output,
    ) -> SqlResult<()> {
        let done = Done::default();
        match command {
            Command::PING => {
                self.begin_other_command();
                self.write_done(out, &done, Follows::Nothing);
            }
            Command::INIT_DB => {
                let name = String::from_utf8_lossy(arguments).into_owned();
                self.begin_other_command();
                self.use_schema(&name)?;
                self.write_done(out, &done, Follows::Nothing);
            }
            Command::RESET_CONNECTION => {
                self.reset();
                self.write_done(out, &done, Follows::Nothing);
            }
            Command::STMT_RESET => {
                let id = self.known_statement(arguments, "mysqld_stmt_reset")?;
                if let Some(statement) = self.prepared.by_id.get_mut(&id) {
                    statement.long_data.clear();
                    statement.cursor = None;
                }
                self.write_done(out, &done, Follows::Nothing);
            }
            Command::STMT_FETCH => self.fetch(arguments, out)?,
            Command::SET_OPTION => self.set_option(arguments, out)?,
            Command::STATISTICS => {
                let text = self.statistics();
                out.packet(|out| out.extend_from_slice(text.as_bytes()));
            }
            Command::PROCESS_KILL if self.family().is_mariadb() => {
                let id = statement_id(arguments).unwrap_or(0);
                let victim = self.server.connections.get(id);
                let victim = victim.ok_or_else(|| self.family().no_such_thread(id))?;
                victim.kill(KillScope::Connection);
                self.write_done(out, &done, Follows::Nothing);
            }
            _ => return Err(self.family().unknown_command()),
        }
        Ok(())
    }

    /// MySQL keeps the warnings of the last statement through commands that are none.
    fn begin_other_command(&mut self) {
        self.diagnostics.no_index_used = false;
        if self.family().is_mariadb() {
            self.diagnostics.are_stale = true;
        }
    }

    /// Everything is as after a login, but for the schema.
    fn reset(&mut self) {
        let login = self.login.clone();
        let schema = self.schema();
        self.clean_up();
        self.renew(login);
        *self.control.schema.borrow_mut() = schema;
    }

    fn set_option(&mut self, arguments: &[u8], out: &mut Output) -> SqlResult<()> {
        let is_on = match arguments {
            [0, 0, ..] => true,
            [1, 0, ..] => false,
            _ => return Err(self.family().unknown_command()),
        };
        let capabilities = self.login.capabilities;
        self.login.capabilities = capabilities.with(Capabilities::MULTI_STATEMENTS, is_on);
        let status = self.status();
        let warnings = self.diagnostics.warnings();
        match capabilities.contains(Capabilities::DEPRECATE_EOF) && !self.family().is_mariadb() {
            true => self.write_end(out),
            false => out.packet(|out| wire::reply::put_eof(out, status, warnings)),
        }
        Ok(())
    }

    fn statistics(&self) -> String {
        let state = &self.server.state;
        format!(
            "Uptime: {}  Threads: {}  Questions: {}  Slow queries: 0  Opens: 0  Open tables: 0  Queries per second avg: 0.0",
            state.started.get().elapsed().as_secs(),
            self.server.connections(),
            state.statements.get()
        )
    }

    /// COM_QUERY: statements one after the other, until one fails.
    async fn query(&mut self, arguments: &[u8], out: &mut Output) -> SqlResult<()> {
        let capabilities = self.login.capabilities;
        let query = Query::decode(arguments, capabilities);
        let mut text = query.map_err(|_| self.family().malformed_packet())?.text;
        loop {
            let reading = Reading {
                family: self.family(),
                flags: self.settings.flags,
                is_prepared: false,
            };
            let parsed = match self.server.parse(text, reading) {
                Ok(parsed) => parsed,
                Err(error) => return Err(self.refuse(error)),
            };
            let is_multiple = self
                .login
                .capabilities
                .contains(Capabilities::MULTI_STATEMENTS);
            let next = match parsed.next {
                Some(_) if !is_multiple => {
                    let error = self.behind_statement(text, &parsed);
                    return Err(self.refuse(error));
                }
                next => next,
            };
            if let Statement::Load(file, _) = &*parsed.statement {
                self.ask_for_file(&parsed, file, out);
                return Ok(());
            }
            let outcome = self.execute(&parsed, &[]).await?;
            let follows = match next {
                Some(_) if !self.is_over => Follows::More,
                _ => Follows::Nothing,
            };
            self.write(out, &outcome, Protocol::Text, follows);
            match next {
                Some(next) if !self.is_over => text = text.get(next..).unwrap_or_default(),
                _ => return Ok(()),
            }
        }
    }

    /// The error of a text that goes on behind its first statement, without MULTI_STATEMENTS.
    fn behind_statement(&self, text: &[u8], parsed: &Parsed) -> SqlError {
        let start = parsed.next.unwrap_or(0);
        let rest = text.get(start..).unwrap_or_default().trim_ascii_start();
        SqlError::syntax(self.family(), text, text.len() - rest.len())
    }

    /// A statement that was not understood.
    fn refuse(&mut self, error: SqlError) -> SqlError {
        let mut error = error;
        // The parser knows no schema.
        if let (1305, Some(schema)) = (error.number, self.schema()) {
            let text = error
                .text
                .replacen("FUNCTION ", &format!("FUNCTION {schema}."), 1);
            error.text = text.into();
        }
        self.diagnostics.clear();
        self.diagnostics.fail(&error);
        self.diagnostics.row_count = -1;
        error
    }

    async fn prepare(&mut self, text: &[u8], out: &mut Output) -> SqlResult<()> {
        let parsed = match self.read_prepared(text) {
            Ok(parsed) if parsed.next.is_some() => {
                let error = self.behind_statement(text, &parsed);
                return Err(self.refuse(error));
            }
            Ok(parsed) => parsed,
            Err(error) => return Err(self.refuse(error)),
        };
        self.diagnostics.clear();
        let columns = match self.columns_of(&parsed.statement) {
            Ok(columns) => columns,
            Err(error) => return Err(self.refuse(error)),
        };
        self.prepared.last_id += 1;
        let id = self.prepared.last_id;
        let ok = PrepareOk {
            statement_id: id,
            columns: u16::try_from(columns.len()).unwrap_or(u16::MAX),
            parameters: parsed.parameters,
            warnings: 0,
            metadata: None,
        };
        out.packet(|out| ok.encode(out));
        let parameter = ResultColumn::new("?", ResultType::text(0, 0));
        let parameters = vec![parameter; parsed.parameters.into()];
        for list in [&parameters, &columns] {
            if !list.is_empty() {
                self.write_columns(out, list);
                self.write_eof_of_columns(out);
            }
        }
        let statement = PreparedStatement {
            parsed,
            types: Vec::new(),
            long_data: BTreeMap::new(),
            cursor: None,
        };
        self.prepared.by_id.insert(id, statement);
        Ok(())
    }

    /// The columns that a prepared statement will have.
    fn columns_of(&mut self, statement: &Statement) -> SqlResult<Vec<ResultColumn>> {
        match statement {
            Statement::Select(select) => self.columns_of_select(select),
            _ => Ok(Vec::new()),
        }
    }

    fn write_eof_of_columns(&self, out: &mut Output) {
        if !self
            .login
            .capabilities
            .contains(Capabilities::DEPRECATE_EOF)
        {
            let status = self.status();
            out.packet(|out| wire::reply::put_eof(out, status, 0));
        }
    }

    fn known_statement(&self, arguments: &[u8], of: &str) -> SqlResult<u32> {
        let family = self.family();
        let id = statement_id(arguments).map_err(|_| family.malformed_packet())?;
        let id = match id {
            LAST_PREPARED if family.is_mariadb() => self.prepared.last_id,
            other => other,
        };
        let of = if family.is_mariadb() {
            of
        } else {
            "mysql_stmt_precheck"
        };
        match self.prepared.by_id.contains_key(&id) {
            true => Ok(id),
            false => Err(family.unknown_statement(id, of)),
        }
    }

    async fn execute_prepared(&mut self, arguments: &[u8], out: &mut Output) -> SqlResult<()> {
        let id = self.known_statement(arguments, "mysqld_stmt_execute")?;
        let (parsed, values) = self.bind(id, arguments)?;
        // An execution closes the cursor of the one before.
        if let Some(statement) = self.prepared.by_id.get_mut(&id) {
            statement.cursor = None;
        }
        let has_cursor = arguments
            .get(4)
            .is_some_and(|flags| flags & Execute::CURSOR_READ_ONLY != 0);
        match self.execute(&parsed, &values).await? {
            Outcome::Rows(rows) if has_cursor => self.open_cursor(id, rows, out),
            outcome => self.write(out, &outcome, Protocol::Binary, Follows::Nothing),
        }
        Ok(())
    }

    /// The values of an execution's parameters.
    fn bind(&mut self, id: u32, arguments: &[u8]) -> SqlResult<(Rc<Parsed>, Vec<Value>)> {
        let family = self.family();
        let capabilities = self.login.capabilities;
        let malformed = || family.wrong_arguments("mysqld_stmt_execute");
        let Some(statement) = self.prepared.by_id.get_mut(&id) else {
            return Err(family.unknown_statement(id, "mysqld_stmt_execute"));
        };
        let own = statement.parsed.parameters;
        let execute = Execute::decode(arguments, capabilities, own).map_err(|_| malformed())?;
        if let Some(types) = execute.types {
            statement.types = types.to_vec();
        }
        let long_data = std::mem::take(&mut statement.long_data);
        let is_long = |parameter: u16| long_data.contains_key(&parameter);
        let bound = values(&execute, own, &statement.types, is_long, capabilities);
        let mut values = bound.map_err(|_| malformed())?;
        for (parameter, data) in long_data {
            if let Some(value) = values.get_mut(usize::from(parameter)) {
                *value = Value::text(data);
            }
        }
        Ok((Rc::clone(&statement.parsed), values))
    }

    fn long_data(&mut self, arguments: &[u8]) {
        let Ok(part) = LongData::decode(arguments) else {
            return;
        };
        if let Some(statement) = self.prepared.by_id.get_mut(&part.statement_id) {
            let data = statement.long_data.entry(part.parameter).or_default();
            data.extend_from_slice(part.data);
        }
    }
}
