//! A prepared statement that sessions share.

use std::hash::{Hash, Hasher};
use std::rc::Rc;

use pool::{ClientStatementId, Text};
use route::ClusterId;
use session::state::Values;
use sql::Facts;

use crate::sub_pool::PoolKey;

/// ER_NEED_REPREPARE.
pub const NEED_REPREPARE: u16 = 1615;

/// ER_UNKNOWN_STMT_HANDLER.
pub const UNKNOWN_HANDLER: u16 = 1243;

/// The identity of a prepared statement: the text, and the state that it was prepared in.
#[derive(Debug, Clone)]
pub struct StatementKey {
    /// Its text.
    pub text: Text,
    /// The schema and the variables that it was prepared with.
    pub values: Rc<Values>,
    /// The pool key of its sessions, which also decides the format of its definitions.
    pub kind: Rc<PoolKey>,
    /// The client statement whose cursor it serves, if any: a server's statement has one cursor at
    /// a time, and then serves no other use (MySQL).
    pub cursor: Option<ClientStatementId>,
    /// The cluster where it is prepared: other clusters may have other tables.
    pub cluster: ClusterId,
    /// The analysis of the text; the same for equal keys.
    pub facts: Rc<Facts>,
    /// The hash of the digest.
    pub digest: u64,
    /// The statement that the client prepared, if a rule has replaced its text. It plays no part in comparing keys.
    pub original: Option<Rc<Original>>,
}

/// A statement before a rule has rewritten it.
#[derive(Debug)]
pub struct Original {
    /// Its text.
    pub text: Text,
    /// The analysis of the text.
    pub facts: Rc<Facts>,
}

impl StatementKey {
    /// The text and the facts as the client prepared them.
    pub fn original(&self) -> (Text, Rc<Facts>) {
        match &self.original {
            Some(asked) => (asked.text.clone(), Rc::clone(&asked.facts)),
            None => (self.text.clone(), Rc::clone(&self.facts)),
        }
    }
}

impl PartialEq for StatementKey {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.values, &other.values)
            && self.cursor == other.cursor
            && self.cluster == other.cluster
            && self.text == other.text
            && (Rc::ptr_eq(&self.kind, &other.kind) || self.kind == other.kind)
    }
}

impl Eq for StatementKey {}

impl Hash for StatementKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// The reply that clients get for a prepared statement.
#[derive(Debug)]
pub struct Definitions {
    /// How many placeholders it has.
    pub parameter_count: u16,
    /// How many columns its result has.
    pub column_count: u16,
    /// All packets of the reply to COM_STMT_PREPARE, with a statement id that has no meaning.
    pub packets: Rc<[u8]>,
    /// How many changes of definitions there had been when the reply arrived.
    pub epoch: u64,
}
