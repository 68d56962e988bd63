//! What a session's variables mean to the server, read again after each change.

use std::borrow::Cow;
use std::rc::Rc;
use std::time::Duration;

use sql::{Charset, Flags};

use super::ast::Access;
use super::family::Family;
use super::value::Value;
use super::variables::{Definitions, SessionVariables};

/// How much a transaction sees of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// What is not committed as well.
    ReadUncommitted,
    /// What was committed when the statement began.
    ReadCommitted,
    /// What was committed when the transaction first read.
    RepeatableRead,
    /// The same, and reads lock.
    Serializable,
}

impl Isolation {
    /// By the value of the variable.
    pub fn of(text: &[u8]) -> Self {
        match text {
            b"READ-UNCOMMITTED" => Self::ReadUncommitted,
            b"READ-COMMITTED" => Self::ReadCommitted,
            b"SERIALIZABLE" => Self::Serializable,
            _ => Self::RepeatableRead,
        }
    }

    /// As SET TRANSACTION has it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "READ UNCOMMITTED",
            Self::ReadCommitted => "READ COMMITTED",
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
        }
    }
}

/// What is told of transactions (`session_track_transaction_info`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionTracking {
    /// Nothing.
    Off,
    /// The state.
    State,
    /// The state, and how to begin the same transaction elsewhere.
    Characteristics,
}

/// Which GTIDs are told (`session_track_gtids`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GtidTracking {
    /// None.
    Off,
    /// That of the session's own commit.
    Own,
    /// All of the server's.
    All,
}

/// What changes are told to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracking {
    /// Names with commas between them; `*` for all.
    pub variables: Rc<[u8]>,
    /// Whether the schema is told.
    pub schema: bool,
    /// Whether it is told that something has changed.
    pub state_change: bool,
    /// What is told of transactions.
    pub transaction: TransactionTracking,
    /// Which GTIDs are told.
    pub gtids: GtidTracking,
}

/// What a session's variables mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `autocommit`.
    pub autocommit: bool,
    /// `transaction_isolation`.
    pub isolation: Isolation,
    /// `transaction_read_only`.
    pub access: Access,
    /// How statements are read.
    pub flags: Flags,
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES.
    pub is_strict: bool,
    /// `innodb_lock_wait_timeout`.
    pub row_wait: Duration,
    /// `lock_wait_timeout`.
    pub table_wait: Duration,
    /// `wait_timeout`, or `interactive_timeout` of interactive clients from the login on.
    pub idle: Duration,
    /// `sql_select_limit`.
    pub select_limit: u64,
    /// `completion_type`: 0, 1 for CHAIN, 2 for RELEASE.
    pub completion: u8,
    /// What is told.
    pub tracking: Tracking,
}

/// The variables that are read here, beside those of tracking.
const NAMES: [&str; 12] = [
    "autocommit",
    "transaction_isolation",
    "tx_isolation",
    "transaction_read_only",
    "tx_read_only",
    "sql_mode",
    "character_set_client",
    "innodb_lock_wait_timeout",
    "lock_wait_timeout",
    "wait_timeout",
    "sql_select_limit",
    "completion_type",
];

impl Settings {
    /// A variable was set: what depends on it is read again, and nothing else.
    pub fn read_again(
        &mut self,
        name: &str,
        definitions: &Definitions,
        variables: &SessionVariables,
    ) {
        let reader = Reader {
            definitions,
            variables,
        };
        match name {
            "autocommit" => self.autocommit = reader.is_on(name),
            "innodb_lock_wait_timeout" => self.row_wait = reader.seconds(name),
            "lock_wait_timeout" => self.table_wait = reader.seconds(name),
            _ if name.starts_with("session_track_") => self.tracking = reader.tracking(),
            _ if NAMES.contains(&name) => *self = Self::of(definitions, variables),
            _ => {}
        }
    }

    /// Reads the variables.
    pub fn of(definitions: &Definitions, variables: &SessionVariables) -> Self {
        let reader = Reader {
            definitions,
            variables,
        };
        let is_on = |name: &str| reader.is_on(name);
        let text = |name: &str| reader.text(name);
        let seconds = |name: &str| reader.seconds(name);
        let mode = text("sql_mode");
        let is_strict = mode
            .split(|it| *it == b',')
            .any(|it| it.starts_with(b"STRICT_"));
        let flags = Flags {
            server: definitions.family.dialect(),
            charset: Charset::of_name(&text("character_set_client")),
            ..Flags::default()
        };
        let limit = match reader.value("sql_select_limit") {
            Some(Value::Unsigned(limit)) => *limit,
            _ => u64::MAX,
        };
        Self {
            autocommit: is_on("autocommit"),
            isolation: Isolation::of(&text("transaction_isolation")),
            access: match is_on("transaction_read_only") {
                true => Access::ReadOnly,
                false => Access::ReadWrite,
            },
            flags: flags.in_mode(&mode),
            is_strict,
            row_wait: seconds("innodb_lock_wait_timeout"),
            table_wait: seconds("lock_wait_timeout"),
            // The servers take no shorter time than a second.
            idle: seconds("wait_timeout").max(Duration::from_secs(1)),
            select_limit: limit,
            completion: match &text("completion_type")[..] {
                b"CHAIN" => 1,
                b"RELEASE" => 2,
                _ => 0,
            },
            tracking: reader.tracking(),
        }
    }
}

/// The variables of a session, by their names.
struct Reader<'a> {
    definitions: &'a Definitions,
    variables: &'a SessionVariables,
}

impl<'a> Reader<'a> {
    fn value(&self, name: &str) -> Option<&'a Value> {
        let id = self.definitions.id(name)?;
        Some(self.variables.get(id))
    }

    fn is_on(&self, name: &str) -> bool {
        self.value(name).and_then(Value::is_true) == Some(true)
    }

    fn text(&self, name: &str) -> Cow<'a, [u8]> {
        match self.value(name) {
            Some(Value::Text(bytes) | Value::Binary(bytes)) => Cow::Borrowed(bytes),
            Some(other) => Cow::Owned(other.to_bytes()),
            None => Cow::default(),
        }
    }

    fn seconds(&self, name: &str) -> Duration {
        let seconds = self.value(name).map_or(0, Value::to_int);
        Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
    }

    fn tracking(&self) -> Tracking {
        Tracking {
            variables: match self.value("session_track_system_variables") {
                Some(Value::Text(names) | Value::Binary(names)) => Rc::clone(names),
                Some(other) => Rc::from(other.to_bytes()),
                None => Rc::default(),
            },
            schema: self.is_on("session_track_schema"),
            state_change: self.is_on("session_track_state_change"),
            transaction: match &self.text("session_track_transaction_info")[..] {
                b"STATE" => TransactionTracking::State,
                b"CHARACTERISTICS" => TransactionTracking::Characteristics,
                _ => TransactionTracking::Off,
            },
            gtids: match (
                self.definitions.family,
                &self.text("session_track_gtids")[..],
            ) {
                (Family::MySql, b"OWN_GTID") => GtidTracking::Own,
                (Family::MySql, b"ALL_GTIDS") => GtidTracking::All,
                _ => GtidTracking::Off,
            },
        }
    }
}

impl Tracking {
    /// Whether a variable is told.
    pub fn tells(&self, name: &str) -> bool {
        let mut names = self.variables.split(|it| *it == b',');
        names.any(|it| {
            let it = it.trim_ascii();
            it == b"*" || it.eq_ignore_ascii_case(name.as_bytes())
        })
    }
}
