//! The prepared statements of a session, so that scripts can see which statement a COM_STMT_EXECUTE
//! executes: `pilotfish.execution`.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mlua::{Lua, LuaString, Table, UserData, Value};
use wire::execute::Execute;
use wire::{Capabilities, Command, Reader};

use crate::values::Form;

/// The most bytes of all statements' texts; beyond it no further statement is noted.
const BYTES_MAX: usize = 64 << 20;

/// The prepared statements of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prepared(Arc<Mutex<PreparedStatements>>);

#[derive(Debug, Default)]
struct PreparedStatements {
    statements: HashMap<u32, Statement>,
    bytes: usize,
}

#[derive(Debug)]
struct Statement {
    text: Box<[u8]>,
    parameters: u16,
    /// The types that an execution has declared last.
    types: Vec<u8>,
    /// Parameters of the next execution that were sent before it, as long data.
    long: BTreeSet<u16>,
}

impl UserData for Prepared {}

impl Prepared {
    /// Notes a prepared statement.
    pub(crate) fn note(&self, id: u32, text: &[u8], parameters: u16) {
        let mut inner = self.lock();
        inner.forget(id);
        if inner.bytes + text.len() > BYTES_MAX {
            return;
        }
        inner.bytes += text.len();
        let statement = Statement {
            text: text.into(),
            parameters,
            types: Vec::new(),
            long: BTreeSet::new(),
        };
        inner.statements.insert(id, statement);
    }

    pub(crate) fn parameters_of(&self, id: u32) -> Option<u16> {
        Some(self.lock().statements.get(&id)?.parameters)
    }

    /// Notes a command of the client about a statement, before it is sent.
    pub(crate) fn follow(&self, payload: &[u8]) {
        let Some((&command, arguments)) = payload.split_first() else {
            return;
        };
        let Ok(id) = Reader::new(arguments).u32("statement id") else {
            return;
        };
        let mut inner = self.lock();
        match Command(command) {
            Command::STMT_CLOSE => inner.forget(id),
            Command::STMT_RESET => {
                if let Some(statement) = inner.statements.get_mut(&id) {
                    statement.long.clear();
                }
            }
            Command::STMT_SEND_LONG_DATA => {
                if let (Some(statement), Some(&[low, high])) =
                    (inner.statements.get_mut(&id), arguments.get(4..6))
                {
                    statement.long.insert(u16::from_le_bytes([low, high]));
                }
            }
            Command::STMT_EXECUTE => inner.declare(id, arguments),
            _ => {}
        }
    }

    /// Notes that an execution was sent: it has used the long data that came before it.
    pub(crate) fn executed(&self, payload: &[u8]) {
        let id = payload
            .get(1..)
            .map(|it| Reader::new(it).u32("statement id"));
        if let Some(Ok(id)) = id
            && let Some(statement) = self.lock().statements.get_mut(&id)
        {
            statement.long.clear();
        }
    }

    /// Forgets all statements.
    pub(crate) fn clear(&self) {
        *self.lock() = PreparedStatements::default();
    }

    fn lock(&self) -> MutexGuard<'_, PreparedStatements> {
        // A panic under the lock leaves no half-made statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The statement and values of a COM_STMT_EXECUTE, for scripts; nil for other commands and unknown statements.
    fn execution(&self, lua: &Lua, payload: &[u8]) -> mlua::Result<Value> {
        let Some((&command, arguments)) = payload.split_first() else {
            return Ok(Value::Nil);
        };
        let inner = self.lock();
        let id = Reader::new(arguments).u32("statement id");
        let statement = id.ok().and_then(|id| inner.statements.get(&id));
        let (Command::STMT_EXECUTE, Some(statement)) = (Command(command), statement) else {
            return Ok(Value::Nil);
        };
        let execute = Execute::decode(arguments, Capabilities::default(), statement.parameters);
        let execute = execute.map_err(mlua::Error::external)?;
        let table = lua.create_table()?;
        table.raw_set("text", lua.create_string(&statement.text)?)?;
        table.raw_set("statement_id", execute.statement_id)?;
        table.raw_set("parameter_count", statement.parameters)?;
        let parameters = statement.parameters(lua, &execute)?;
        table.raw_set("parameters", parameters)?;
        Ok(Value::Table(table))
    }
}

impl PreparedStatements {
    fn forget(&mut self, id: u32) {
        if let Some(statement) = self.statements.remove(&id) {
            self.bytes -= statement.text.len();
        }
    }

    /// Notes the types that an execution declares. They apply until another execution declares types.
    fn declare(&mut self, id: u32, arguments: &[u8]) {
        let Some(statement) = self.statements.get_mut(&id) else {
            return;
        };
        let execute = Execute::decode(arguments, Capabilities::default(), statement.parameters);
        if let Ok(Execute {
            types: Some(types), ..
        }) = execute
            && types != statement.types
        {
            statement.types = types.to_vec();
        }
    }
}

impl Statement {
    fn parameters(&self, lua: &Lua, execute: &Execute<'_>) -> mlua::Result<Table> {
        let parameters = lua.create_table()?;
        let mut values = Reader::new(execute.values);
        for at in 0..self.parameters {
            let index = usize::from(at);
            let is_null = (execute.null_bitmap.get(index / 8))
                .is_some_and(|byte| byte >> (index % 8) & 1 == 1);
            if is_null || self.long.contains(&at) {
                continue;
            }
            let declared = self.types.get(2 * index..2 * index + 2);
            let declared = match declared {
                Some(&[low, high]) => u16::from_le_bytes([low, high]),
                _ => break,
            };
            let Some(form) = Form::of_parameter(declared) else {
                break;
            };
            parameters.raw_set(index + 1, form.read(lua, &mut values)?)?;
        }
        Ok(parameters)
    }
}

/// `host.execution(prepared, packet)`
pub(crate) fn share(lua: &Lua, host: &Table) -> mlua::Result<()> {
    type Kept = mlua::UserDataRef<Prepared>;
    let execution = |lua: &Lua, (prepared, packet): (Kept, LuaString)| {
        prepared.execution(lua, &packet.as_bytes())
    };
    host.raw_set("execution", lua.create_function(execution)?)
}
