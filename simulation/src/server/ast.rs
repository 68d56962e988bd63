//! Statements as the parser hands them on.

use std::rc::Rc;

use super::value::Value;

/// A name, as it was written.
pub type Name = Rc<str>;

/// One statement.
#[derive(Debug, PartialEq)]
pub enum Statement {
    /// Rows.
    Select(Select),
    /// New rows.
    Insert(Insert),
    /// LOAD DATA LOCAL: new rows from a file of the client.
    Load(Name, TableName),
    /// Changed rows.
    Update(Update),
    /// Deleted rows.
    Delete(Delete),
    /// BEGIN, COMMIT and what else concerns transactions.
    Transaction(TransactionStatement),
    /// SET.
    Set(Vec<Assignment>, Vec<Early>),
    /// USE.
    Use(Name),
    /// Tables and schemas come and go.
    Definition(Definition),
    /// LOCK TABLES.
    LockTables(Vec<(TableName, TableLock)>),
    /// UNLOCK TABLES.
    UnlockTables,
    /// FLUSH TABLES WITH READ LOCK.
    ReadLock,
    /// FLUSH of anything else.
    Flush,
    /// PREPARE name FROM text.
    Prepare(Name, Expr),
    /// EXECUTE name USING ….
    Execute(Name, Vec<Expr>),
    /// EXECUTE IMMEDIATE text (MariaDB).
    ExecuteImmediate(Expr),
    /// DEALLOCATE PREPARE name.
    Deallocate(Name),
    /// DO.
    Do(Vec<Expr>, Vec<Early>),
    /// SHOW.
    Show(Show),
    /// KILL.
    Kill(KillScope, Expr),
    /// SIGNAL SQLSTATE … SET MYSQL_ERRNO, MESSAGE_TEXT.
    Signal([u8; 5], Option<Expr>, Option<Expr>),
    /// Nothing but a comment.
    Empty,
    /// BEGIN NOT ATOMIC …; END (MariaDB): statements one after the other.
    Block(Vec<Rc<Statement>>),
}

/// What KILL ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillScope {
    /// The statement that runs.
    Query,
    /// The connection.
    Connection,
}

/// A table by its name, with the schema if that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableName {
    /// The schema.
    pub schema: Option<Name>,
    /// The table.
    pub name: Name,
    /// What the statement calls it.
    pub alias: Option<Name>,
}

/// How a table is locked by LOCK TABLES.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLock {
    /// Others may read as well.
    Read,
    /// Nobody else may do anything.
    Write,
}

/// SELECT.
#[derive(Debug, PartialEq)]
pub struct Select {
    /// The columns.
    pub columns: Vec<SelectItem>,
    /// The table, if there is one.
    pub from: Option<TableName>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// ORDER BY, with `true` for DESC.
    pub order: Vec<(Expr, bool)>,
    /// LIMIT.
    pub limit: Option<Limit>,
    /// FOR UPDATE and the like.
    pub locking: Locking,
    /// INTO @a, @b.
    pub into: Vec<Name>,
    /// What is computed before the rows.
    pub early: Vec<Early>,
}

/// LIMIT.
#[derive(Debug, PartialEq)]
pub struct Limit {
    /// So many rows are passed over.
    pub offset: Option<Expr>,
    /// So many are given at most.
    pub count: Expr,
}

/// One of the columns of a SELECT.
#[derive(Debug, PartialEq)]
pub enum SelectItem {
    /// `*` or `t.*`.
    All,
    /// A value, with the name of its column.
    Value(Expr, Name),
}

/// How a SELECT locks what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locking {
    /// Not at all.
    None,
    /// FOR SHARE, LOCK IN SHARE MODE.
    Share(WaitPolicy),
    /// FOR UPDATE.
    Update(WaitPolicy),
}

/// What a locking read does if a row is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// It waits.
    Wait,
    /// NOWAIT: it fails.
    Fail,
    /// SKIP LOCKED: it passes the row over.
    Skip,
}

/// What is computed before a statement looks at rows: a subquery, or a function that waits.
#[derive(Debug, PartialEq)]
pub enum Early {
    /// `(SELECT …)`.
    Subquery(Box<Select>),
    /// A function that may wait.
    Call(WaitingFunction, Vec<Expr>),
}

/// Functions that may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitingFunction {
    /// `SLEEP(seconds)`.
    Sleep,
    /// `GET_LOCK(name, seconds)`.
    GetLock,
    /// `WAIT_FOR_EXECUTED_GTID_SET(set [, seconds])` (MySQL).
    WaitForGtids,
    /// `MASTER_GTID_WAIT(position [, seconds])` (MariaDB).
    MasterGtidWait,
}

/// INSERT, also INSERT … SET and REPLACE's refusal.
#[derive(Debug, PartialEq)]
pub struct Insert {
    /// Where.
    pub table: TableName,
    /// Columns that were named; none: all.
    pub columns: Vec<Name>,
    /// Rows of values; none stands for DEFAULT.
    pub rows: Vec<Vec<Option<Expr>>>,
    /// IGNORE: rows that are there already are passed over.
    pub ignore: bool,
    /// ON DUPLICATE KEY UPDATE.
    pub on_duplicate: Vec<(Name, Expr)>,
    /// What is computed before.
    pub early: Vec<Early>,
}

/// UPDATE.
#[derive(Debug, PartialEq)]
pub struct Update {
    /// Where.
    pub table: TableName,
    /// SET.
    pub assignments: Vec<(Name, Expr)>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// ORDER BY.
    pub order: Vec<(Expr, bool)>,
    /// LIMIT.
    pub limit: Option<Limit>,
    /// What is computed before.
    pub early: Vec<Early>,
}

/// DELETE.
#[derive(Debug, PartialEq)]
pub struct Delete {
    /// Where.
    pub table: TableName,
    /// WHERE.
    pub filter: Option<Expr>,
    /// ORDER BY.
    pub order: Vec<(Expr, bool)>,
    /// LIMIT.
    pub limit: Option<Limit>,
    /// What is computed before.
    pub early: Vec<Early>,
}

/// What concerns transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionStatement {
    /// BEGIN, START TRANSACTION.
    Begin {
        /// READ ONLY, READ WRITE.
        access: Option<Access>,
        /// WITH CONSISTENT SNAPSHOT.
        snapshot: bool,
    },
    /// COMMIT.
    Commit(Completion),
    /// ROLLBACK.
    Rollback(Completion),
    /// SAVEPOINT.
    Savepoint(Name),
    /// ROLLBACK TO.
    RollbackTo(Name),
    /// RELEASE SAVEPOINT.
    Release(Name),
}

/// READ ONLY or READ WRITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// READ ONLY.
    ReadOnly,
    /// READ WRITE.
    ReadWrite,
}

/// What follows the end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// What `completion_type` says.
    Unsaid,
    /// AND NO CHAIN NO RELEASE.
    Nothing,
    /// AND CHAIN.
    Chain,
    /// RELEASE.
    Release,
}

/// An assignment of SET.
#[derive(Debug, PartialEq)]
pub enum Assignment {
    /// `@x = …`.
    User(Name, Expr),
    /// A system variable; none stands for DEFAULT.
    System(Scope, Name, Option<Expr>),
    /// NAMES, with a collation; none stands for DEFAULT.
    Names(Option<Expr>, Option<Name>),
    /// CHARACTER SET; none stands for DEFAULT.
    CharacterSet(Option<Expr>),
    /// TRANSACTION ISOLATION LEVEL.
    Isolation(TransactionScope, Name),
    /// TRANSACTION READ ONLY, READ WRITE.
    Access(TransactionScope, Access),
}

/// Which of the two values of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Nothing was said: the session's, or the global one if there is no other.
    Unsaid,
    /// SESSION, LOCAL.
    Session,
    /// GLOBAL.
    Global,
}

/// What SET TRANSACTION is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionScope {
    /// The next transaction.
    Next,
    /// All of the session's.
    Session,
    /// Those of new sessions.
    Global,
}

/// Tables and schemas come and go.
#[derive(Debug, PartialEq)]
pub enum Definition {
    /// CREATE TABLE.
    CreateTable(CreateTable),
    /// DROP TABLE.
    DropTables {
        /// Which.
        names: Vec<TableName>,
        /// TEMPORARY.
        temporary: bool,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// TRUNCATE.
    Truncate(TableName),
    /// CREATE DATABASE, `true` for IF NOT EXISTS.
    CreateSchema(Name, bool),
    /// DROP DATABASE, `true` for IF EXISTS.
    DropSchema(Name, bool),
}

/// CREATE TABLE.
#[derive(Debug, PartialEq)]
pub struct CreateTable {
    /// Which.
    pub name: TableName,
    /// TEMPORARY.
    pub temporary: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Its columns.
    pub columns: Vec<ColumnSpec>,
    /// The columns of the primary key.
    pub primary_key: Vec<Name>,
}

/// A column of CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSpec {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub kind: ColumnKind,
    /// NOT NULL.
    pub not_null: bool,
    /// DEFAULT; none if there is none.
    pub default: Option<Value>,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// TINYINT, SMALLINT, INT, BIGINT by their bytes; `true` for UNSIGNED.
    Integer(u8, bool),
    /// DECIMAL(digits, scale).
    Decimal(u8, u8),
    /// VARCHAR, CHAR of so many characters.
    Varchar(u32),
    /// TEXT.
    Text,
    /// VARBINARY of so many bytes.
    Varbinary(u32),
    /// BLOB.
    Blob,
}

/// SHOW.
#[derive(Debug, PartialEq)]
pub enum Show {
    /// WARNINGS.
    Warnings(Option<Limit>),
    /// ERRORS.
    Errors(Option<Limit>),
    /// COUNT(*) WARNINGS.
    CountWarnings,
    /// COUNT(*) ERRORS.
    CountErrors,
    /// VARIABLES.
    Variables(Scope, Filter),
    /// STATUS.
    Status(Scope, Filter),
    /// REPLICA STATUS, SLAVE STATUS, ALL SLAVES STATUS.
    ReplicaStatus(ReplicaStatusForm),
    /// PROCESSLIST, `true` for FULL.
    Processlist(bool),
    /// TABLES.
    Tables,
    /// DATABASES.
    Databases,
    /// GRANTS.
    Grants,
    /// COLUMNS FROM.
    Columns(TableName),
}

/// Which form of SHOW REPLICA STATUS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaStatusForm {
    /// With the words source and replica.
    Replica,
    /// With the words master and slave.
    Slave,
    /// MariaDB's, of all connections.
    AllSlaves,
}

/// What is shown of a list.
#[derive(Debug, PartialEq)]
pub enum Filter {
    /// All.
    All,
    /// LIKE.
    Like(Name),
    /// WHERE variable_name = …, or IN (…).
    Named(Vec<Name>),
}

/// An expression.
#[derive(Debug, PartialEq)]
pub enum Expr {
    /// A literal.
    Literal(Value),
    /// `?`, by its number.
    Parameter(u16),
    /// A column, with its table if that was written.
    Column(Option<Name>, Name),
    /// `@x`.
    User(Name),
    /// `@x := …`.
    AssignUser(Name, Box<Expr>),
    /// `@@x`.
    System(Scope, Name),
    /// A function.
    Call(Function, Vec<Expr>),
    /// What was computed before, by its number.
    Early(usize),
    /// `NOT …`.
    Not(Box<Expr>),
    /// `- …`.
    Negative(Box<Expr>),
    /// Two operands.
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// `IN (…)`, `true` for NOT IN.
    In(Box<Expr>, Vec<Expr>, bool),
    /// `IS NULL`, `true` for IS NOT NULL.
    IsNull(Box<Expr>, bool),
    /// `LIKE`, `true` for NOT LIKE.
    Like(Box<Expr>, Box<Expr>, bool),
    /// `COLLATE`.
    Collate(Box<Expr>, Name),
    /// An aggregate.
    Aggregate(Aggregate, Option<Box<Expr>>),
}

/// Functions over all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// COUNT.
    Count,
    /// SUM.
    Sum,
    /// MAX.
    Max,
    /// MIN.
    Min,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // as SQL has them
pub enum Operator {
    Or,
    And,
    Xor,
    Equal,
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    IntegerDivide,
    Modulo,
}

/// Functions that do not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // as SQL has them
pub enum Function {
    ConnectionId,
    LastInsertId,
    RowCount,
    FoundRows,
    Database,
    CurrentUser,
    User,
    Version,
    ReleaseLock,
    ReleaseAllLocks,
    IsFreeLock,
    IsUsedLock,
    If,
    IfNull,
    NullIf,
    Coalesce,
    Concat,
    ConcatWs,
    Length,
    Upper,
    Lower,
    Hex,
    Repeat,
    Abs,
    Mod,
    Greatest,
    Least,
    Now,
    UnixTimestamp,
    Uuid,
    Rand,
    CastSigned,
    CastUnsigned,
    CastChar,
    CastBinary,
    Charset,
    Collation,
    OctetLength,
    GtidSubset,
    Values,
}
