//! A prepared statement as sessions share it.

use std::hash::{Hash, Hasher};
use std::rc::Rc;

use pool::{ClientStatementId, Text};
use route::ClusterId;
use session::state::Values;
use sql::Facts;

use crate::pooled::backend::sub_pool::Kind;

/// What makes two prepared statements the same: the text, and the state that it was prepared in.
#[derive(Debug, Clone)]
pub(crate) struct StatementKey {
    pub text: Text,
    pub values: Rc<Values>,
    /// Whose it is, and what its definitions look like.
    pub kind: Rc<Kind>,
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
    pub asked: Option<Rc<Original>>,
}

/// A statement before a rule has rewritten it.
#[derive(Debug)]
pub(crate) struct Original {
    pub text: Text,
    pub facts: Rc<Facts>,
}

impl StatementKey {
    /// As the client has prepared it.
    pub(crate) fn original(&self) -> (Text, Rc<Facts>) {
        match &self.asked {
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
