//! The kind of a statement.

use std::fmt;

/// The kind of a statement, for routing, pooling, rules and logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum StatementKind {
    /// Nothing but space, comments and semicolons.
    #[default]
    Empty,
    /// The first word is not that of a known statement.
    Unknown,
    /// Several statements; see [`crate::Facts::statements`].
    Multi,
    /// SELECT, also in parentheses, after WITH, or joined by UNION.
    Select,
    /// `TABLE t`
    Table,
    /// `VALUES ROW(…)`
    Values,
    /// INSERT
    Insert,
    /// REPLACE
    Replace,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
    /// LOAD DATA, LOAD XML
    Load,
    /// CALL
    Call,
    /// DO
    Do,
    /// HANDLER
    Handler(Handler),
    /// SET; see [`crate::Facts::assignments`].
    Set,
    /// USE
    Use,
    /// BEGIN, START TRANSACTION
    Begin(Begin),
    /// COMMIT
    Commit(Finish),
    /// ROLLBACK of the transaction.
    Rollback(Finish),
    /// SAVEPOINT
    Savepoint,
    /// ROLLBACK TO SAVEPOINT
    RollbackTo,
    /// RELEASE SAVEPOINT
    ReleaseSavepoint,
    /// XA
    Xa(Xa),
    /// LOCK TABLES
    LockTables,
    /// UNLOCK TABLES
    UnlockTables,
    /// LOCK INSTANCE FOR BACKUP
    LockInstance,
    /// UNLOCK INSTANCE
    UnlockInstance,
    /// PREPARE … FROM
    Prepare,
    /// EXECUTE
    Execute,
    /// EXECUTE IMMEDIATE
    ExecuteImmediate,
    /// DEALLOCATE PREPARE, DROP PREPARE
    Deallocate,
    /// SHOW
    Show(Show),
    /// DESCRIBE or EXPLAIN of a table.
    Describe,
    /// EXPLAIN or ANALYZE of a statement; see [`crate::Facts::explained`].
    Explain(Explain),
    /// HELP
    Help,
    /// KILL
    Kill(Kill),
    /// CREATE
    Create(Object),
    /// ALTER
    Alter(Object),
    /// DROP
    Drop(Object),
    /// TRUNCATE
    Truncate,
    /// RENAME
    Rename(Object),
    /// GRANT
    Grant,
    /// REVOKE
    Revoke,
    /// ANALYZE, CHECK, OPTIMIZE, REPAIR TABLE
    Maintain,
    /// CHECKSUM TABLE
    Checksum,
    /// FLUSH
    Flush(Flush),
    /// RESET
    Reset,
    /// PURGE
    Purge,
    /// START, STOP, CHANGE of replication.
    Replication,
    /// BINLOG '…'
    Binlog,
    /// INSTALL, UNINSTALL
    Install,
    /// SHUTDOWN, RESTART
    Shutdown,
    /// CLONE
    Clone,
    /// CACHE INDEX, LOAD INDEX INTO CACHE
    CacheIndex,
    /// IMPORT TABLE
    Import,
    /// BACKUP STAGE, BACKUP LOCK, BACKUP UNLOCK (MariaDB)
    Backup,
    /// GET DIAGNOSTICS
    GetDiagnostics,
    /// SIGNAL, RESIGNAL
    Signal,
    /// BEGIN NOT ATOMIC, IF, LOOP and the like outside a routine (MariaDB).
    Compound,
}

/// How a transaction begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Begin {
    /// READ ONLY or READ WRITE; none if it is not given.
    pub mode: Option<AccessMode>,
    /// WITH CONSISTENT SNAPSHOT
    pub with_snapshot: bool,
}

/// The access mode of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessMode {
    /// READ ONLY
    ReadOnly,
    /// READ WRITE
    ReadWrite,
}

/// The options of COMMIT or ROLLBACK; none if `completion_type` decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Finish {
    /// AND CHAIN, AND NO CHAIN
    pub chain: Option<bool>,
    /// RELEASE, NO RELEASE
    pub release: Option<bool>,
}

/// What HANDLER does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Handler {
    Open,
    Read,
    Close,
}

/// What XA does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Xa {
    Start,
    End,
    Prepare,
    Commit,
    Rollback,
    Recover,
}

/// What SHOW shows, as far as that matters for routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Show {
    /// SHOW WARNINGS: all of them.
    Warnings,
    /// SHOW WARNINGS LIMIT …
    SomeWarnings,
    /// SHOW COUNT(*) WARNINGS
    WarningCount,
    /// SHOW ERRORS: all of them.
    Errors,
    /// SHOW ERRORS LIMIT …
    SomeErrors,
    /// SHOW COUNT(*) ERRORS
    ErrorCount,
    /// SHOW VARIABLES, SHOW GLOBAL VARIABLES
    Variables,
    /// SHOW STATUS, SHOW GLOBAL STATUS
    Status,
    /// SHOW PROCESSLIST
    Processlist,
    /// SHOW PROFILE, SHOW PROFILES
    Profiles,
    /// SHOW MASTER STATUS, SHOW REPLICA STATUS, SHOW BINLOG EVENTS, SHOW ENGINE and others about
    /// one server.
    Server,
    /// SHOW GRANTS, SHOW PRIVILEGES, SHOW CREATE USER
    Grants,
    /// SHOW TABLES, SHOW COLUMNS, SHOW CREATE … and other looks at the schema.
    Schema,
}

/// Whether EXPLAIN runs the statement that it explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Explain {
    /// It is only planned.
    Plan,
    /// It runs: EXPLAIN ANALYZE, MariaDB's ANALYZE.
    Run,
    /// EXPLAIN FOR CONNECTION: the statement of another session.
    Connection,
}

/// What KILL ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kill {
    /// The connection with a thread's id.
    Connection,
    /// The statement that a thread runs.
    Query,
    /// The statement with a query id (MariaDB).
    QueryId,
    /// Every connection of an account (MariaDB).
    User,
    /// Every statement of an account (MariaDB).
    QueryOfUser,
}

/// The kind of object that a DDL statement changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Object {
    Table,
    TemporaryTable,
    View,
    Index,
    Schema,
    Routine,
    Trigger,
    Event,
    Sequence,
    Account,
    /// Servers, table spaces, resource groups, plugins and the like.
    Other,
}

/// What FLUSH does, as far as it matters to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flush {
    /// FLUSH TABLES WITH READ LOCK: the global lock.
    ReadLock,
    /// FLUSH TABLES t WITH READ LOCK, … FOR EXPORT: locks on tables.
    TableLocks,
    /// Anything else.
    Other,
}

impl fmt::Display for StatementKind {
    /// The SQL keywords, without names: for logs, metrics and rules.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin(begin) => begin.fmt(f),
            Self::Commit(finish) => write!(f, "COMMIT{finish}"),
            Self::Rollback(finish) => write!(f, "ROLLBACK{finish}"),
            Self::Create(object) => write!(f, "CREATE {}", object.words()),
            Self::Alter(object) => write!(f, "ALTER {}", object.words()),
            Self::Drop(object) => write!(f, "DROP {}", object.words()),
            Self::Rename(object) => write!(f, "RENAME {}", object.words()),
            Self::Show(show) => f.write_str(show.words()),
            Self::Kill(kill) => f.write_str(kill.words()),
            other => f.write_str(other.words()),
        }
    }
}

impl fmt::Display for Begin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BEGIN")?;
        f.write_str(match self.mode {
            Some(AccessMode::ReadOnly) => " READ ONLY",
            Some(AccessMode::ReadWrite) => " READ WRITE",
            None => "",
        })?;
        f.write_str(if self.with_snapshot {
            " WITH CONSISTENT SNAPSHOT"
        } else {
            ""
        })
    }
}

impl fmt::Display for Finish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.chain {
            Some(true) => " AND CHAIN",
            Some(false) => " AND NO CHAIN",
            None => "",
        })?;
        f.write_str(match self.release {
            Some(true) => " RELEASE",
            Some(false) => " NO RELEASE",
            None => "",
        })
    }
}

impl StatementKind {
    /// The kind of object that it creates, alters, drops or renames.
    pub const fn changed_object(self) -> Option<Object> {
        match self {
            Self::Create(object)
            | Self::Alter(object)
            | Self::Drop(object)
            | Self::Rename(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the words of the kinds that need no formatting.
    const fn words(self) -> &'static str {
        match self {
            Self::Empty => "(empty)",
            Self::Multi => "(several)",
            Self::Select => "SELECT",
            Self::Table => "TABLE",
            Self::Values => "VALUES",
            Self::Insert => "INSERT",
            Self::Replace => "REPLACE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Load => "LOAD",
            Self::Call => "CALL",
            Self::Do => "DO",
            Self::Handler(Handler::Open) => "HANDLER OPEN",
            Self::Handler(Handler::Read) => "HANDLER READ",
            Self::Handler(Handler::Close) => "HANDLER CLOSE",
            Self::Set => "SET",
            Self::Use => "USE",
            Self::Savepoint => "SAVEPOINT",
            Self::RollbackTo => "ROLLBACK TO",
            Self::ReleaseSavepoint => "RELEASE SAVEPOINT",
            Self::Xa(xa) => xa.words(),
            Self::LockTables => "LOCK TABLES",
            Self::UnlockTables => "UNLOCK TABLES",
            Self::LockInstance => "LOCK INSTANCE",
            Self::UnlockInstance => "UNLOCK INSTANCE",
            Self::Prepare => "PREPARE",
            Self::Execute => "EXECUTE",
            Self::ExecuteImmediate => "EXECUTE IMMEDIATE",
            Self::Deallocate => "DEALLOCATE",
            Self::Describe => "DESCRIBE",
            Self::Explain(Explain::Plan) => "EXPLAIN",
            Self::Explain(Explain::Run) => "EXPLAIN ANALYZE",
            Self::Explain(Explain::Connection) => "EXPLAIN FOR CONNECTION",
            Self::Help => "HELP",
            Self::Truncate => "TRUNCATE",
            Self::Grant => "GRANT",
            Self::Revoke => "REVOKE",
            Self::Maintain => "MAINTAIN TABLE",
            Self::Checksum => "CHECKSUM TABLE",
            Self::Flush(Flush::ReadLock) => "FLUSH TABLES WITH READ LOCK",
            Self::Flush(Flush::TableLocks) => "FLUSH TABLES AND LOCK",
            Self::Flush(Flush::Other) => "FLUSH",
            Self::Reset => "RESET",
            Self::Purge => "PURGE",
            Self::Replication => "REPLICATION",
            Self::Binlog => "BINLOG",
            Self::Install => "INSTALL",
            Self::Shutdown => "SHUTDOWN",
            Self::Clone => "CLONE",
            Self::CacheIndex => "CACHE INDEX",
            Self::Import => "IMPORT",
            Self::Backup => "BACKUP",
            Self::GetDiagnostics => "GET DIAGNOSTICS",
            Self::Signal => "SIGNAL",
            Self::Compound => "COMPOUND",
            _ => "(unknown)",
        }
    }
}

impl Xa {
    const fn words(self) -> &'static str {
        match self {
            Self::Start => "XA START",
            Self::End => "XA END",
            Self::Prepare => "XA PREPARE",
            Self::Commit => "XA COMMIT",
            Self::Rollback => "XA ROLLBACK",
            Self::Recover => "XA RECOVER",
        }
    }
}

impl Show {
    const fn words(self) -> &'static str {
        match self {
            Self::Warnings => "SHOW WARNINGS",
            Self::SomeWarnings => "SHOW WARNINGS LIMIT",
            Self::WarningCount => "SHOW COUNT(*) WARNINGS",
            Self::Errors => "SHOW ERRORS",
            Self::SomeErrors => "SHOW ERRORS LIMIT",
            Self::ErrorCount => "SHOW COUNT(*) ERRORS",
            Self::Variables => "SHOW VARIABLES",
            Self::Status => "SHOW STATUS",
            Self::Processlist => "SHOW PROCESSLIST",
            Self::Profiles => "SHOW PROFILES",
            Self::Server => "SHOW SERVER",
            Self::Grants => "SHOW GRANTS",
            Self::Schema => "SHOW SCHEMA",
        }
    }
}

impl Kill {
    const fn words(self) -> &'static str {
        match self {
            Self::Connection => "KILL",
            Self::Query => "KILL QUERY",
            Self::QueryId => "KILL QUERY ID",
            Self::User => "KILL USER",
            Self::QueryOfUser => "KILL QUERY USER",
        }
    }
}

impl Object {
    const fn words(self) -> &'static str {
        match self {
            Self::Table => "TABLE",
            Self::TemporaryTable => "TEMPORARY TABLE",
            Self::View => "VIEW",
            Self::Index => "INDEX",
            Self::Schema => "SCHEMA",
            Self::Routine => "ROUTINE",
            Self::Trigger => "TRIGGER",
            Self::Event => "EVENT",
            Self::Sequence => "SEQUENCE",
            Self::Account => "ACCOUNT",
            Self::Other => "OTHER",
        }
    }
}
