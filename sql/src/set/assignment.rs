//! What SET assigns to what.

use crate::span::Span;

/// One assignment of a SET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// What is set.
    pub target: Target,
    /// To what.
    pub value: Value,
    /// The whole assignment, without the word SET and the comma.
    pub span: Span,
}

/// What is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A system variable.
    Variable {
        /// Where it is set.
        scope: Scope,
        /// The instance of a structured variable: hot of `hot.key_buffer_size`; mostly empty.
        base: Span,
        /// The name as written; [`Span::name`] takes quotes and `@@` off.
        name: Span,
    },
    /// A user variable: its name as written, with `@`.
    User(Span),
    /// SET NAMES
    Names,
    /// SET CHARACTER SET, SET CHARSET
    CharacterSet,
    /// The isolation level: SET TRANSACTION ISOLATION LEVEL
    Isolation(Scope),
    /// The access mode: SET TRANSACTION READ ONLY
    AccessMode(Scope),
    /// SET ROLE
    Role,
    /// SET DEFAULT ROLE: of an account, not of the session.
    DefaultRole,
    /// SET PASSWORD
    Password,
    /// SET RESOURCE GROUP
    ResourceGroup,
    /// Something that is not understood.
    Opaque,
}

/// Where a variable is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Not said: the session, if the variable has a session's value.
    Implicit,
    /// SESSION, LOCAL, `@@session.`
    Session,
    /// GLOBAL: the server, for sessions to come.
    Global,
    /// PERSIST: the server, now and after a restart (MySQL).
    Persist,
    /// PERSIST_ONLY: after a restart (MySQL).
    PersistOnly,
    /// The next transaction of the session.
    NextTransaction,
    /// One statement: SET STATEMENT … FOR (MariaDB).
    Statement,
}

/// What a variable is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// DEFAULT
    Default,
    /// A literal or a single word, with its sign: says the same in any session.
    Literal(Span),
    /// An expression.
    Expression(Span, Constancy),
    /// Of NAMES and CHARACTER SET; the collation is empty where it is not said.
    Charset {
        /// As written: a word, a quoted name or a string.
        charset: Span,
        /// The same; empty for COLLATE DEFAULT too.
        collation: Span,
    },
    /// Of an access mode: READ ONLY or READ WRITE.
    ReadOnly(bool),
    /// None that could be assigned again.
    None,
}

/// What an expression depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constancy {
    /// On nothing: literals, operators and plain functions.
    Constant,
    /// On the session, the clock or the server: variables, `CONCAT(@@sql_mode, …)`, `NOW()`.
    Session,
    /// On data, on functions that are not built in, or on what is not understood.
    Unknown,
}
