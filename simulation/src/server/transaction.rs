//! What is kept of a transaction: its view, its changes, its savepoints.

use std::rc::Rc;

use super::ast::{Access, Name};
use super::settings::Isolation;
use super::table::{Before, Key, Table};

/// How a transaction has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// There is none.
    Not,
    /// By a statement of its own.
    Explicitly,
    /// By itself, autocommit being off.
    Implicitly,
}

/// A change that can be taken back.
#[derive(Debug)]
pub(super) struct Undo {
    pub table: Rc<Table>,
    pub key: Key,
    pub before: Before,
}

/// A session's transaction. Each statement has one: it ends with the statement if none was begun.
#[derive(Debug)]
pub struct Transaction {
    /// How it has begun.
    pub begun: Begun,
    /// Whether it may write.
    pub access: Access,
    /// How much it sees.
    pub isolation: Isolation,
    /// What SET TRANSACTION has said of the next one.
    pub next: (Option<Isolation>, Option<Access>),
    /// A statement of it uses tables.
    pub is_entered: bool,
    pub(super) view: Option<u64>,
    pub(super) changes: Vec<Undo>,
    pub(super) savepoints: Vec<(Name, usize)>,
    pub(super) statements: Vec<Rc<str>>,
}

impl Default for Transaction {
    fn default() -> Self {
        Self {
            begun: Begun::Not,
            access: Access::ReadWrite,
            isolation: Isolation::RepeatableRead,
            next: (None, None),
            is_entered: false,
            view: None,
            changes: Vec::new(),
            savepoints: Vec::new(),
            statements: Vec::new(),
        }
    }
}

impl Transaction {
    /// Whether it outlives the statement.
    pub fn is_open(&self) -> bool {
        self.begun != Begun::Not
    }

    /// How many changes there are so far.
    pub fn mark(&self) -> usize {
        self.changes.len()
    }

    /// The place of a savepoint among the others.
    pub fn find_savepoint(&self, name: &Name) -> Option<usize> {
        self.savepoints
            .iter()
            .position(|it| it.0.eq_ignore_ascii_case(name))
    }
}
