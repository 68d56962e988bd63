//! The named objects that a session holds on its backend connection, as far as the names are known.

use std::rc::Rc;

use sql::{Flags, PreparedTexts};
use thin_vec::ThinVec;

use super::text_statement::TextStatement;

/// A table's schema and name.
pub(super) type Table = (Rc<[u8]>, Rc<[u8]>);

/// Objects that live on the backend connection and end by name.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// Temporary tables: name and schema. Without a written schema it is the schema that was current then.
    pub(super) temporary_tables: ThinVec<Table>,
    /// Handlers, by table or alias.
    pub(super) handlers: ThinVec<Rc<[u8]>>,
    /// Statements prepared from text.
    pub(super) prepared: ThinVec<Prepared>,
    /// Locks of GET_LOCK that were named by a plain literal.
    pub(super) locks: ThinVec<Rc<[u8]>>,
    /// There may be other locks, whose names are not known. The proxy cannot ask whether they are released:
    /// they end with a reset.
    pub(super) has_other_locks: bool,
    /// RELEASE_LOCK or RELEASE_ALL_LOCKS was called: the locks may be gone.
    pub(super) is_lock_released: bool,
}

/// A statement prepared from text.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub name: Rc<[u8]>,
    /// The text, if it is known: from a plain literal, or from a variable with a known value.
    pub text: Option<Rc<[u8]>>,
    /// How the text was read.
    pub flags: Flags,
    /// How the statement is prepared on another connection; none if only its own connection has it.
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

    /// The text that a name was prepared from, if it is known: EXECUTE does what the text says.
    pub fn prepared_text(&self, name: &[u8]) -> Option<&[u8]> {
        self.statement(name)?.text.as_deref()
    }

    /// Whether a statement prepared from text exists on one connection only.
    pub(super) fn is_prepared_here_only(&self) -> bool {
        self.prepared.iter().any(|prepared| prepared.made.is_none())
    }

    pub(super) fn statement(&self, name: &[u8]) -> Option<&Prepared> {
        let mut all = self.prepared.iter();
        all.find(|prepared| prepared.name.eq_ignore_ascii_case(name))
    }
}
