//! A session: everything that the server keeps for one connection.

use std::collections::BTreeMap;
use std::rc::Rc;

use wire::{Capabilities, StatusFlags};

use super::ast::{Access, KillScope, Name, TableLock};
use super::commands::Cursor;
use super::control::Control;
use super::diagnostics::Diagnostics;
use super::error::{SqlError, SqlResult};
use super::family::Family;
use super::locks::Span;
use super::model::Server;
use super::options::{Event, Rights};
use super::parser::Parsed;
use super::result_column::ResultColumn;
use super::result_type::ResultType;
use super::settings::Settings;
use super::table::Table;
use super::tracker::Tracker;
use super::transaction::Transaction;
use super::value::Value;
use super::variables::{Definition, SessionVariables};

/// A user variable.
#[derive(Clone, Debug)]
pub struct UserVariable {
    /// Its value.
    pub value: Value,
    /// The collation of a text.
    pub collation: Rc<str>,
    /// The type of what it was set to.
    pub kind: ResultType,
}

/// The account that has logged in, and what its client can do.
#[derive(Clone, Debug)]
pub struct LoggedIn {
    /// The user.
    pub user: Name,
    /// What the account may do.
    pub rights: Rights,
    /// What both sides can do.
    pub capabilities: Capabilities,
    /// The collation that the client named.
    pub collation: u16,
}

/// A statement prepared by COM_STMT_PREPARE.
#[derive(Debug)]
pub struct PreparedStatement {
    /// The statement.
    pub parsed: Rc<Parsed>,
    /// The types that the last execution brought.
    pub types: Vec<u8>,
    /// Values that came by COM_STMT_SEND_LONG_DATA, by their parameters.
    pub long_data: BTreeMap<u16, Vec<u8>>,
    /// The cursor that its last execution has opened.
    pub cursor: Option<Cursor>,
}

/// What is prepared.
#[derive(Debug, Default)]
pub struct PreparedStatements {
    /// By their ids.
    pub by_id: BTreeMap<u32, PreparedStatement>,
    /// By PREPARE's names, in small letters.
    pub by_name: BTreeMap<String, Rc<Parsed>>,
    /// The last id that was given.
    pub last_id: u32,
}

/// What a session has locked by LOCK TABLES and FLUSH TABLES WITH READ LOCK.
#[derive(Debug, Default)]
pub struct LockedTables {
    /// Tables by their numbers.
    pub tables: BTreeMap<u64, TableLock>,
    /// LOCK TABLES is in force.
    pub is_locked: bool,
    /// FLUSH TABLES WITH READ LOCK is in force.
    pub has_read_lock: bool,
}

/// Temporary tables by schema and name.
pub type TemporaryTables = BTreeMap<(Name, Name), Rc<Table>>;

/// A session.
pub struct Session {
    /// Where it is.
    pub server: Rc<Server>,
    /// As others see it.
    pub control: Rc<Control>,
    /// Whose it is.
    pub login: LoggedIn,
    /// Its system variables.
    pub variables: SessionVariables,
    /// What they mean.
    pub settings: Settings,
    /// Its user variables.
    pub user_variables: BTreeMap<Name, UserVariable>,
    /// Its transaction.
    pub transaction: Transaction,
    /// What is known of its last statement.
    pub diagnostics: Diagnostics,
    /// What it has prepared.
    pub prepared: PreparedStatements,
    /// Its temporary tables.
    pub temporary: TemporaryTables,
    /// What it has locked.
    pub locked: LockedTables,
    /// What it has to tell.
    pub tracker: Tracker,
    /// The columns that were sent before a statement failed.
    pub sent_columns: Vec<ResultColumn>,
    /// The LOAD DATA LOCAL whose file it waits for.
    pub upload: Option<Rc<Parsed>>,
    /// It ends after this statement (RELEASE, KILL of itself).
    pub is_over: bool,
}

impl Session {
    /// One that has logged in.
    pub fn new(server: &Rc<Server>, control: &Rc<Control>, login: LoggedIn) -> Self {
        let variables = variables_of(server, &login);
        let settings = Settings::of(&server.definitions, &variables);
        let session = Self {
            server: Rc::clone(server),
            control: Rc::clone(control),
            login,
            variables,
            settings,
            user_variables: BTreeMap::new(),
            transaction: Transaction::default(),
            diagnostics: Diagnostics::default(),
            prepared: PreparedStatements::default(),
            temporary: TemporaryTables::new(),
            locked: LockedTables::default(),
            tracker: Tracker::default(),
            sent_columns: Vec::new(),
            upload: None,
            is_over: false,
        };
        session.announce();
        session
    }

    /// The state that a login leaves, without a schema.
    pub fn renew(&mut self, login: LoggedIn) {
        self.variables = variables_of(&self.server, &login);
        self.settings = Settings::of(&self.server.definitions, &self.variables);
        self.tracker = Tracker::default();
        self.login = login;
        self.announce();
    }

    /// Publishes the session's user, without a schema, to other connections.
    fn announce(&self) {
        *self.control.user.borrow_mut() = Rc::clone(&self.login.user);
        *self.control.schema.borrow_mut() = None;
    }

    /// The server's family.
    pub fn family(&self) -> Family {
        self.server.family()
    }

    /// Whether the account is an administrator's.
    pub fn is_administrator(&self) -> bool {
        self.login.rights == Rights::Administrator
    }

    /// The default schema.
    pub fn schema(&self) -> Option<Name> {
        self.control.schema.borrow().clone()
    }

    /// A variable's definition and value in this session.
    pub fn variable(&self, name: &str) -> Option<(&Definition, &Value)> {
        let id = self.server.definitions.id(name)?;
        Some((self.server.definitions.get(id), self.variables.get(id)))
    }

    /// A variable's value as text; empty if there is none.
    pub fn variable_text(&self, name: &str) -> String {
        self.variable(name)
            .map(|it| it.1.to_text())
            .unwrap_or_default()
    }

    /// Sets a variable, without telling it.
    pub fn put_variable(&mut self, name: &str, value: Value) {
        if let Some(id) = self.server.definitions.id(name) {
            self.variables.set(id, value);
            self.read_settings(name);
        }
    }

    /// A variable was set.
    fn read_settings(&mut self, name: &str) {
        let definitions = &self.server.definitions;
        self.settings.read_again(name, definitions, &self.variables);
    }

    /// Sets a variable, and tells it.
    pub fn set_variable(&mut self, name: &str, value: Value) {
        let Some(id) = self.server.definitions.id(name) else {
            return;
        };
        let definition = self.server.definitions.get(id);
        let (name, told) = (definition.name, definition.told(&value));
        self.variables.set(id, value);
        self.read_settings(name);
        self.tracker.variable(&self.settings.tracking, name, told);
    }

    /// The status flags of a reply that ends now.
    pub fn status(&self) -> StatusFlags {
        let flags = self.settings.flags;
        let transaction = &self.transaction;
        StatusFlags::default()
            .with(StatusFlags::AUTOCOMMIT, self.settings.autocommit)
            .with(StatusFlags::IN_TRANS, transaction.is_open())
            .with(
                StatusFlags::IN_TRANS_READONLY,
                transaction.is_open() && transaction.access == Access::ReadOnly,
            )
            .with(
                StatusFlags::NO_BACKSLASH_ESCAPES,
                flags.no_backslash_escapes,
            )
            .with(
                StatusFlags::ANSI_QUOTES,
                flags.ansi_quotes && self.family().is_mariadb(),
            )
            .with(StatusFlags::NO_INDEX_USED, self.diagnostics.no_index_used)
    }

    /// Fails if the statement or the connection was killed.
    ///
    /// # Errors
    /// 1053, 1317, 1927.
    pub fn check_killed(&self) -> SqlResult<()> {
        match (self.control.killed(), self.control.ends()) {
            (None, None) => Ok(()),
            (Some(scope), _) => Err(killed(self.family(), scope)),
            (None, Some(_)) => {
                let text = "Server shutdown in progress";
                Err(SqlError::new(self.family(), 1053, text))
            }
        }
    }

    /// Ends all that the session has: as COM_RESET_CONNECTION does, and the end of the connection.
    pub fn clean_up(&mut self) {
        self.roll_back();
        let id = self.control.id;
        for span in [Span::Transaction, Span::Tables, Span::Name] {
            self.server.locks.release_all(id, span);
        }
        self.locked = LockedTables::default();
        self.temporary.clear();
        self.prepared = PreparedStatements {
            last_id: self.prepared.last_id,
            ..PreparedStatements::default()
        };
        self.user_variables.clear();
        self.diagnostics = Diagnostics::default();
        self.transaction = Transaction::default();
    }
}

/// The variables of a session that begins.
fn variables_of(server: &Server, login: &LoggedIn) -> SessionVariables {
    let mut variables = SessionVariables::new(&server.globals.borrow());
    if let Some((charset, collation)) = server.family().charset_of_id(login.collation) {
        for (name, value) in [
            ("character_set_client", charset),
            ("character_set_results", charset),
            ("character_set_connection", charset),
            ("collation_connection", collation),
        ] {
            if let Some(id) = server.definitions.id(name) {
                variables.set(id, Value::text(value));
            }
        }
    }
    variables
}

/// Returns the error of a killed statement.
pub fn killed(family: Family, scope: KillScope) -> SqlError {
    match (family, scope) {
        (Family::MariaDb, KillScope::Connection) => {
            SqlError::new(family, 1927, "Connection was killed")
        }
        _ => family.interrupted(),
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.clean_up();
        let connection = self.control.id;
        self.server.tell(&Event::Disconnected { connection });
    }
}
