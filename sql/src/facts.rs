//! The facts of a statement after one pass: its kind, access, uses, effects and names.

use crate::bits::bits;
use crate::bounds::{ASSIGNMENTS_MAX, COMMENTS_MAX, MENTIONS_MAX, QUESTIONS_MAX};
use crate::doubts::Doubts;
use crate::flags::Flags;
use crate::kind::StatementKind;
use crate::question::Question;
use crate::set::assignment::Assignment;
use crate::span::Span;
use crate::uses::Uses;

/// What a statement does to data, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Access {
    /// Nothing: it concerns only the session or the transaction.
    #[default]
    Session,
    /// It reads and changes nothing.
    Read,
    /// It may write: a stored function, a procedure, something not understood.
    Unsure,
    /// It writes, locks rows, changes the server, or must run on the primary for another reason.
    Write,
}

bits! {
    /// The state of its session that a statement may change.
    Effects {
        /// Session variables; the assignments list them.
        VARIABLES = 0,
        /// Global or persisted variables, or other server state that a built-in function changes.
        GLOBAL_VARIABLES = 1,
        /// A SET that is not understood: anything that SET can do.
        OPAQUE = 2,
        /// User variables; the mentions list them.
        USER_VARIABLES = 3,
        /// The default schema.
        SCHEMA = 4,
        /// A temporary table is made, or a table that hides one.
        TEMPORARY_CREATED = 5,
        /// A table is dropped that may be a temporary one.
        TEMPORARY_DROPPED = 6,
        /// A table is renamed that may be a temporary one.
        TEMPORARY_RENAMED = 7,
        /// LOCK TABLES, FLUSH TABLES t WITH READ LOCK
        TABLES_LOCKED = 8,
        /// UNLOCK TABLES, which releases the global lock too.
        TABLES_UNLOCKED = 9,
        /// FLUSH TABLES WITH READ LOCK
        GLOBAL_LOCKED = 10,
        /// LOCK INSTANCE FOR BACKUP, BACKUP STAGE, BACKUP LOCK
        INSTANCE_LOCKED = 11,
        /// UNLOCK INSTANCE, BACKUP STAGE END, BACKUP UNLOCK
        INSTANCE_UNLOCKED = 12,
        /// `GET_LOCK`
        NAMED_LOCK_TAKEN = 13,
        /// `RELEASE_LOCK`
        NAMED_LOCK_RELEASED = 14,
        /// `RELEASE_ALL_LOCKS`
        NAMED_LOCKS_RELEASED = 15,
        /// HANDLER … OPEN
        HANDLER_OPENED = 16,
        /// HANDLER … CLOSE
        HANDLER_CLOSED = 17,
        /// PREPARE from text.
        PREPARED = 18,
        /// DEALLOCATE PREPARE
        DEALLOCATED = 19,
        /// A transaction begins.
        TRANSACTION_BEGUN = 20,
        /// The transaction ends, by COMMIT, ROLLBACK or as a side effect.
        TRANSACTION_ENDED = 21,
        /// … and another begins at once.
        CHAINED = 22,
        /// The next transaction's isolation or access mode.
        NEXT_TRANSACTION = 23,
        /// A savepoint is set.
        SAVEPOINT = 24,
        /// An XA transaction begins, ends or is prepared.
        XA = 25,
        /// `LAST_INSERT_ID()` changes.
        LAST_INSERT_ID = 26,
        /// `FOUND_ROWS()` counts more than the rows sent: SQL_CALC_FOUND_ROWS.
        FOUND_ROWS = 27,
        /// A sequence moves, and `LASTVAL` with it.
        SEQUENCE = 28,
        /// SET ROLE
        ROLE = 29,
        /// SET RESOURCE GROUP
        RESOURCE_GROUP = 30,
        /// The connection ends: COMMIT RELEASE.
        DISCONNECTED = 31,
        /// Errors and warnings that a later statement may ask for.
        DIAGNOSTICS = 32,
        /// Anything: a procedure, a stored function, a prepared statement, something not understood.
        ANYTHING = 33,
        /// A session variable that is bound to its connection: `profiling`, `rand_seed1`,
        /// `session_track_schema` …
        BOUND_VARIABLES = 34,
    }
}

bits! {
    /// Properties of a statement's text.
    Marks {
        /// It has common table expressions.
        WITH = 0,
        /// FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE
        LOCKING = 1,
        /// SKIP LOCKED
        SKIP_LOCKED = 2,
        /// NOWAIT
        NOWAIT = 3,
        /// INTO OUTFILE, INTO DUMPFILE
        INTO_FILE = 4,
        /// SELECT … INTO @x
        INTO_VARIABLES = 5,
        /// It has optimizer hints.
        HINT = 6,
        /// It has placeholders.
        PLACEHOLDERS = 7,
        /// A part of it is in a comment that only some servers execute.
        CONDITIONAL = 8,
        /// A string or comment does not end: everything after it is a guess.
        LOST = 9,
        /// It calls a function that is not built in; the mentions list it.
        UNKNOWN_FUNCTION = 10,
        /// It has more names, comments, questions, assignments or statements than the lists can hold.
        CROWDED = 11,
        /// INSERT or REPLACE from a SELECT.
        FROM_SELECT = 12,
        /// It has a KILL: as a statement, one of several, or in a block that runs.
        KILLS = 13,
        /// It names an object whose definition does more than read: see [`Facts::doubt`].
        NAMES_WRITER = 14,
        /// A read-only server has refused a statement with this digest: see [`Facts::doubt`].
        REFUSED = 15,
    }
}

/// One statement of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementFacts {
    /// Its range, without surrounding space and comments and without its semicolon.
    pub span: Span,
    /// What it is.
    pub kind: StatementKind,
    /// What it does to data.
    pub access: Access,
    /// The state of its session that it may change.
    pub effects: Effects,
    /// The settings with which it is read, after the statements before it in the command.
    pub flags: Flags,
    /// The schema of the last USE before it in the command; empty if there was none.
    pub schema: Span,
    /// The doubts that statements before it in the command cause.
    pub doubts: Doubts,
}

/// A name in a statement and its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The role of the name.
    pub role: Role,
    /// The schema in front of the name, or the scope of a system variable with its `@@`; empty
    /// if there is none.
    pub schema: Span,
    /// The name as written; [`Span::name`] removes its quotes.
    pub name: Span,
}

/// The role of a name in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A table or view that is read.
    TableRead,
    /// A table or view that is written, locked or changed.
    TableWritten,
    /// A temporary table that is created.
    TemporaryCreated,
    /// A table that is dropped; a temporary one if the session has one of this name.
    TableDropped,
    /// A user variable that is read.
    UserVariableRead,
    /// A user variable that is set, or may be.
    UserVariableSet,
    /// A system variable that is read.
    VariableRead,
    /// A function that is not built in.
    Function,
    /// A procedure.
    Procedure,
    /// A statement prepared from text: the kind says whether it is made, run or dropped.
    Prepared,
    /// The text that PREPARE or EXECUTE IMMEDIATE is given: a string or a user variable.
    PreparedText,
    /// A savepoint.
    Savepoint,
    /// A schema: of USE.
    Schema,
    /// A schema that is dropped with all its tables.
    SchemaDropped,
    /// A handler: a table or its alias.
    Handler,
    /// What KILL names: a thread's or query's id, an account, an expression.
    Killed,
    /// A lock that `GET_LOCK` takes: the string, or empty if it is not a plain string.
    LockTaken,
    /// A lock that `RELEASE_LOCK` releases: the string, or empty if it is not a plain string.
    LockReleased,
    /// A common table expression: no table.
    CommonTable,
}

/// A comment in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comment {
    /// All of it with its delimiters.
    pub span: Span,
    /// Whether it holds optimizer hints: `/*+ … */`.
    pub is_hint: bool,
}

/// The facts of a command. Reused for the next command.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Facts {
    /// The kind of the command's statement.
    pub kind: StatementKind,
    /// The statement behind EXPLAIN or ANALYZE.
    pub explained: Option<StatementKind>,
    /// The highest access of all its statements.
    pub access: Access,
    /// The session state and server state that the command's result depends on.
    pub uses: Uses,
    /// The state of its session that it may change.
    pub effects: Effects,
    /// Properties of its text.
    pub marks: Marks,
    /// The parts of the command that the proxy does not understand.
    pub doubts: Doubts,
    /// Each of its statements, in order.
    pub statements: Vec<StatementFacts>,
    /// The names in it, in order, with repetitions.
    pub mentions: Vec<Mention>,
    /// The assignments of SET, in order, also of NAMES, TRANSACTION and similar ones.
    pub assignments: Vec<Assignment>,
    /// Its comments.
    pub comments: Vec<Comment>,
    /// What it asks of its connection, in order; see [`Facts::rewrite`].
    pub questions: Vec<Question>,
}

impl Facts {
    /// Iterates over the tables that it names, with the schema in front if there is one.
    pub fn tables(&self) -> impl Iterator<Item = &Mention> {
        self.mentions
            .iter()
            .filter(|mention| mention.role.is_table())
    }

    /// Iterates over the names with one role.
    pub fn mentions_of(&self, role: Role) -> impl Iterator<Item = &Mention> {
        self.mentions
            .iter()
            .filter(move |mention| mention.role == role)
    }

    /// Clears the facts of the last command and keeps the memory.
    pub(crate) fn clear(&mut self) {
        let Self {
            kind,
            explained,
            access,
            uses,
            effects,
            marks,
            doubts,
            statements: parts,
            mentions,
            assignments,
            comments,
            questions,
        } = self;
        (*kind, *explained, *access) = (StatementKind::default(), None, Access::default());
        (*uses, *effects, *marks) = (Uses::NONE, Effects::NONE, Marks::NONE);
        *doubts = Doubts::NONE;
        parts.clear();
        mentions.clear();
        assignments.clear();
        comments.clear();
        questions.clear();
    }

    pub(crate) fn mention(&mut self, role: Role, schema: Span, name: Span) {
        if self.mentions.len() < MENTIONS_MAX {
            self.mentions.push(Mention { role, schema, name });
        } else {
            self.marks.add(Marks::CROWDED);
            self.doubts.add(Doubts::MANY_NAMES);
        }
    }

    pub(crate) fn comment(&mut self, span: Span, is_hint: bool) {
        if is_hint {
            self.marks.add(Marks::HINT);
        }
        if self.comments.len() < COMMENTS_MAX {
            self.comments.push(Comment { span, is_hint });
        } else {
            self.marks.add(Marks::CROWDED);
            self.doubts.add(Doubts::MANY_COMMENTS);
        }
    }

    pub(crate) fn ask(&mut self, question: Question) {
        if self.questions.len() < QUESTIONS_MAX {
            self.questions.push(question);
        } else {
            self.marks.add(Marks::CROWDED);
        }
    }

    pub(crate) fn assign(&mut self, assignment: Assignment) {
        if self.assignments.len() < ASSIGNMENTS_MAX {
            self.assignments.push(assignment);
        } else {
            self.effects.add(Effects::OPAQUE);
            self.marks.add(Marks::CROWDED);
        }
    }

    /// Raises the access to at least this.
    pub(crate) fn at_least(&mut self, access: Access) {
        self.access = self.access.max(access);
    }
}

impl Role {
    /// Whether the name is that of a table.
    pub const fn is_table(self) -> bool {
        matches!(
            self,
            Self::TableRead | Self::TableWritten | Self::TemporaryCreated | Self::TableDropped
        )
    }
}
