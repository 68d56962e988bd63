//! A prepared statement as sessions share it.

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

/// What makes two prepared statements the same: the text, and the state that it was prepared in.
#[derive(Debug, Clone)]
pub struct StatementKey {
    /// Its text.
    pub text: Text,
    /// The schema and the variables that it was prepared with.
    pub values: Rc<Values>,
    /// Whose it is, and what its definitions look like.
    pub kind: Rc<PoolKey>,
    /// Whose cursor it is for, if for one: a server's statement has one cursor at a time, and is
    /// spoiled for other uses (MySQL).
    pub cursor: Option<ClientStatementId>,
    /// Where it is prepared: other clusters may have other tables.
    pub cluster: ClusterId,
    /// What the text says; the same for equal keys.
    pub facts: Rc<Facts>,
    /// The hash of its digest.
    pub digest: u64,
    /// What the client has prepared, where a rule has put another text in its place. Of no account to
    /// what makes keys equal.
    pub original: Option<Rc<Original>>,
}

/// A statement before a rule has rewritten it.
#[derive(Debug)]
pub struct Original {
    /// Its text.
    pub text: Text,
    /// What its text says.
    pub facts: Rc<Facts>,
}

impl StatementKey {
    /// As the client has prepared it.
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

/// What clients are told of a statement that was prepared.
#[derive(Debug)]
pub struct Definitions {
    /// How many placeholders it has.
    pub parameter_count: u16,
    /// How many columns its result has.
    pub column_count: u16,
    /// The reply to COM_STMT_PREPARE, all its packets, with an id that means nothing.
    pub packets: Rc<[u8]>,
    /// How many definitions had changed anywhere when this was heard.
    pub epoch: u64,
}
