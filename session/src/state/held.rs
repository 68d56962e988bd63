//! What a session holds on its backend connection by name, as far as names are known.

use std::rc::Rc;

use sql::{Flags, PreparedTexts};

use super::text_statement::TextStatement;

/// A table's schema and name.
pub(super) type Table = (Rc<[u8]>, Rc<[u8]>);

/// Things that live on the backend connection and end by name.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// Temporary tables: schema, which may be that of the time, and name.
    pub(super) temporary_tables: Vec<Table>,
    /// Handlers, by table or alias.
    pub(super) handlers: Vec<Rc<[u8]>>,
    /// Statements prepared from text.
    pub(super) prepared: Vec<Prepared>,
    /// Locks of GET_LOCK that were named by a plain literal.
    pub(super) locks: Vec<Rc<[u8]>>,
    /// There may be locks besides, whose names are not known. Nobody can ask whether they are released: they
    /// end with a reset.
    pub(super) has_other_locks: bool,
    /// RELEASE_LOCK or RELEASE_ALL_LOCKS was called: the locks may be gone.
    pub(super) is_lock_released: bool,
}

/// A statement prepared from text.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub name: Rc<[u8]>,
    /// Where it was a plain literal.
    pub text: Option<Rc<[u8]>>,
    /// How it was read.
    pub flags: Flags,
    /// How it is prepared elsewhere; none where only its connection has it.
    pub made: Option<Rc<TextStatement>>,
}

impl PreparedTexts for Held {
    fn text(&self, name: &[u8]) -> Option<&[u8]> {
        self.prepared_text(name)
    }
}

impl Held {
    /// The names of the temporary tables.
    pub fn temporary_tables(&self) -> impl Iterator<Item = &[u8]> {
        self.temporary_tables.iter().map(|(_, name)| &**name)
    }

    /// The names of the handlers.
    pub fn handlers(&self) -> impl Iterator<Item = &[u8]> {
        self.handlers.iter().map(|name| &**name)
    }

    /// The names of the statements prepared from text.
    pub fn prepared(&self) -> impl Iterator<Item = &[u8]> {
        self.prepared.iter().map(|prepared| &*prepared.name)
    }

    /// The names of the locks of GET_LOCK, as far as they are known.
    pub fn locks(&self) -> impl Iterator<Item = &[u8]> {
        self.locks.iter().map(|name| &**name)
    }

    /// The text that a name was prepared from, where it is known: EXECUTE does what it says.
    pub fn prepared_text(&self, name: &[u8]) -> Option<&[u8]> {
        self.statement(name)?.text.as_deref()
    }

    /// Whether a statement prepared from text is on one connection only.
    pub(super) fn is_prepared_here_only(&self) -> bool {
        self.prepared.iter().any(|prepared| prepared.made.is_none())
    }

    pub(super) fn statement(&self, name: &[u8]) -> Option<&Prepared> {
        let mut all = self.prepared.iter();
        all.find(|prepared| prepared.name.eq_ignore_ascii_case(name))
    }
}
