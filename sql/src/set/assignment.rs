//! The assignments of SET: targets and values.

use crate::span::Span;

/// One assignment of a SET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The target.
    pub target: Target,
    /// The new value.
    pub value: Value,
    /// The whole assignment, without the word SET and the comma.
    pub span: Span,
}

/// The target of an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A system variable.
    Variable {
        /// The scope.
        scope: Scope,
        /// The instance of a structured variable, such as `hot` in `hot.key_buffer_size`; mostly empty.
        base: Span,
        /// The name as written; [`Span::name`] removes quotes and `@@`.
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
    /// An assignment that is not understood.
    Opaque,
}

/// The scope in which a variable is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// No scope is given: the session, if the variable has a session value.
    Implicit,
    /// SESSION, LOCAL, `@@session.`
    Session,
    /// GLOBAL: the server, for new sessions.
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

/// The value of an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// DEFAULT
    Default,
    /// A literal or a single word, with its sign: it means the same in every session.
    Literal(Span),
    /// An expression.
    Expression(Span, Constancy),
    /// The value of NAMES and CHARACTER SET; the collation is empty if it is not given.
    Charset {
        /// As written: a word, a quoted name or a string.
        charset: Span,
        /// As written; empty for COLLATE DEFAULT too.
        collation: Span,
    },
    /// The value of an access mode: READ ONLY or READ WRITE.
    ReadOnly(bool),
    /// No value that could be assigned again.
    None,
}

/// What an expression depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constancy {
    /// On nothing else: literals, operators and plain functions.
    Constant,
    /// On the session, the clock or the server: variables, `CONCAT(@@sql_mode, …)`, `NOW()`.
    Session,
    /// On data, on functions that are not built in, or on text that is not understood.
    Unknown,
}
