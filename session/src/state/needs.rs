//! The part of a session's state that the next statement can see, besides schema and variables.

use std::rc::Rc;

use sql::{Effects, Facts, Flags, Marks, Object, Role, StatementKind, Uses};

/// The user variables that a statement may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// These, in lower case.
    Named(Vec<Rc<[u8]>>),
    /// Any.
    All,
    /// Any, and names that the session has not set must not exist on the connection.
    Listed,
}

/// The statements prepared from text that a statement may run, drop or find missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Texts {
    /// None.
    None,
    /// These, in lower case.
    Named(Vec<Rc<[u8]>>),
    /// These, which are dropped and not run.
    Dropped(Vec<Rc<[u8]>>),
    /// Any.
    All,
}

impl Texts {
    /// Whether this name is among them.
    pub fn names(&self, name: &[u8]) -> bool {
        match self {
            Self::Named(names) | Self::Dropped(names) => names.iter().any(|named| **named == *name),
            Self::None => false,
            Self::All => true,
        }
    }
}

/// The state that the next statement needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    pub(super) user_variables: Which,
    pub(super) is_last_insert_id_needed: bool,
    pub(super) texts: Texts,
    /// The statement reads the schema's character set. ALTER DATABASE may have changed that since the
    /// connection entered the schema, and the server does not tell: USE is sent again.
    pub(super) is_schema_read: bool,
    /// The statement defines something in the schema, whose character set a table has by default. MariaDB
    /// takes that from the session, too.
    pub(super) is_schema_changed: bool,
}

impl Needs {
    /// The needs of a statement that needs neither user variables nor LAST_INSERT_ID(). Does not
    /// allocate.
    pub const NONE: Self = Self {
        user_variables: Which::Named(Vec::new()),
        is_last_insert_id_needed: false,
        texts: Texts::None,
        is_schema_read: false,
        is_schema_changed: false,
    };

    /// Everything, for a statement of which nothing is known.
    pub const ALL: Self = Self {
        user_variables: Which::All,
        is_last_insert_id_needed: true,
        texts: Texts::All,
        is_schema_read: false,
        is_schema_changed: false,
    };

    /// Returns the needs of a statement, by its facts.
    pub fn of(facts: &Facts, text: &[u8]) -> Self {
        Self {
            texts: Texts::of(facts, text),
            is_schema_read: has_kind(facts, reads_schema),
            is_schema_changed: has_kind(facts, changes_schema),
            ..Self::of_state(facts, text)
        }
    }

    /// Returns the needs apart from statements prepared from text.
    fn of_state(facts: &Facts, text: &[u8]) -> Self {
        if facts.effects.has(Effects::PREPARED) {
            // The prepared statement takes its types from the user variables that exist (MySQL).
            return Self {
                user_variables: Which::Listed,
                ..Self::ALL
            };
        }
        if facts.effects.has(Effects::ANYTHING) || facts.marks.has(Marks::CROWDED) {
            return Self::ALL;
        }
        let is_about_variables =
            facts.uses.has(Uses::USER_VARIABLES) || facts.effects.has(Effects::USER_VARIABLES);
        // A statement that may set LAST_INSERT_ID(), but need not, has to leave the session's value.
        let is_last_insert_id_needed = facts.uses.has(Uses::LAST_INSERT_ID | Uses::VARIABLES)
            || facts.effects.has(Effects::LAST_INSERT_ID)
            || matches!(facts.kind, StatementKind::Create(_));
        if is_about_variables && lists_user_variables(facts, text) {
            return Self {
                user_variables: Which::Listed,
                is_last_insert_id_needed,
                ..Self::NONE
            };
        }
        if facts.tables().next().is_some() {
            // Triggers and views read user variables too, and triggers set some.
            return Self {
                user_variables: Which::All,
                is_last_insert_id_needed,
                ..Self::NONE
            };
        }
        if !is_about_variables {
            return Self {
                is_last_insert_id_needed,
                ..Self::NONE
            };
        }
        Self {
            user_variables: named(facts, text),
            is_last_insert_id_needed,
            ..Self::NONE
        }
    }
}

/// Whether the statement, or one of several, is of such a kind.
fn has_kind(facts: &Facts, is_it: impl Fn(StatementKind) -> bool) -> bool {
    match facts.kind {
        StatementKind::Multi => facts.statements.iter().any(|part| is_it(part.kind)),
        kind => is_it(kind),
    }
}

/// A file is read in the character set of the current schema, and a stored program keeps it.
fn reads_schema(kind: StatementKind) -> bool {
    match kind {
        StatementKind::Load | StatementKind::ExecuteImmediate => true,
        StatementKind::Create(object) | StatementKind::Alter(object) => {
            matches!(object, Object::Routine | Object::Trigger | Object::Event)
        }
        _ => false,
    }
}

fn changes_schema(kind: StatementKind) -> bool {
    matches!(kind, StatementKind::Create(_) | StatementKind::Alter(_))
}

fn named(facts: &Facts, text: &[u8]) -> Which {
    let mut names: Vec<Rc<[u8]>> = Vec::new();
    let about = |role| matches!(role, Role::UserVariableRead | Role::UserVariableSet);
    for mention in facts.mentions.iter().filter(|mention| about(mention.role)) {
        let raw = mention.name.of(text);
        // The meaning of a quoted name depends on `sql_mode`.
        if matches!(raw.get(1), Some(b'\'' | b'"')) {
            return Which::All;
        }
        match sql::user_variable_name(raw, Flags::default()) {
            // The name depends on `character_set_client`, and the server decides which names are equal to it.
            Some(name) if !name.is_ascii() => return Which::All,
            Some(name) if names.iter().any(|known| **known == *name) => {}
            Some(name) => names.push(Rc::from(name)),
            None => return Which::All,
        }
    }
    Which::Named(names)
}

/// Whether the statement reads a table that lists the session's user variables: it sees names, too.
fn lists_user_variables(facts: &Facts, text: &[u8]) -> bool {
    facts.tables().any(|table| {
        let name = table.name.name(text);
        name.eq_ignore_ascii_case(b"user_variables")
            || name.eq_ignore_ascii_case(b"user_variables_by_thread")
    })
}
