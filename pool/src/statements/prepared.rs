//! The statements that a backend connection has prepared; the least recently used one is closed first.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::types::TypesSeen;

/// A statement's id on one backend connection, as the server gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BackendStatementId(pub u32);

/// The statements prepared on one backend connection, whichever client asked for them.
///
/// `S` is what makes two statements the same: a [`Text`](crate::Text), with everything else that its
/// preparation depends on (schema, character set, SQL mode). Its hash is one that clients cannot choose, as
/// with texts.
///
/// A statement is *in use* from [`begin`](Self::begin) or [`learn`](Self::learn) to
/// [`finish`](Self::finish), or *at rest*. Only a statement at rest is ever closed to make room.
/// The bound is exceeded if more statements are in use.
#[derive(Debug)]
pub struct Prepared<S> {
    known: FxHashMap<S, Entry>,
    /// The statements at rest, by the number of their last use.
    at_rest: BTreeMap<u64, S>,
    uses: u64,
    count_max: usize,
}

#[derive(Debug)]
struct Entry {
    id: BackendStatementId,
    state: StatementUse,
    /// The parameter types that the server last saw.
    types: Option<Rc<[u8]>>,
    /// All types that the server has seen, whichever client executed the statement.
    types_seen: TypesSeen,
}

#[derive(Debug)]
enum StatementUse {
    InUse { users: u32 },
    AtRest { since: u64 },
}

/// Whether a statement is prepared on the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Lookup {
    /// It is prepared under this id, and in use now.
    Prepared(BackendStatementId),
    /// It must be prepared and [learnt](Prepared::learn). The statement `close` has to be closed
    /// before, so that the server never has more than the bound.
    Missing {
        /// The id for COM_STMT_CLOSE; the table has forgotten the statement.
        close: Option<BackendStatementId>,
    },
}

/// Whether an EXECUTE must carry its parameter types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Binding {
    /// The server has seen these types last.
    Seen,
    /// The types must be sent.
    Send,
}

impl<S: Clone + Eq + Hash> Prepared<S> {
    /// A connection fresh from its login, on which `count_max` statements may be kept (at least 1).
    pub fn new(count_max: usize) -> Self {
        Prepared {
            known: FxHashMap::default(),
            at_rest: BTreeMap::new(),
            uses: 0,
            count_max: count_max.max(1),
        }
    }

    /// Begins to use a statement, or makes room for it.
    pub fn begin(&mut self, statement: &S) -> Lookup {
        let Some(entry) = self.known.get_mut(statement) else {
            let is_full = self.known.len() >= self.count_max;
            let close = is_full.then(|| self.evict()).flatten();
            return Lookup::Missing { close };
        };
        match &mut entry.state {
            StatementUse::InUse { users } => *users += 1,
            StatementUse::AtRest { since } => {
                self.at_rest.remove(since);
                entry.state = StatementUse::InUse { users: 1 };
            }
        }
        Lookup::Prepared(entry.id)
    }

    /// The server has prepared a missing statement; it is in use now.
    ///
    /// Returns an id to be closed if the statement was prepared already, under another id.
    pub fn learn(&mut self, statement: S, id: BackendStatementId) -> Option<BackendStatementId> {
        let former = self.remove(&statement);
        let entry = Entry {
            id,
            state: StatementUse::InUse { users: 1 },
            types: None,
            types_seen: TypesSeen::default(),
        };
        self.known.insert(statement, entry);
        former.filter(|former| *former != id)
    }

    /// The exchange, or the cursor, is over. Returns the statement to close, if more were in use
    /// than may be kept.
    pub fn finish(&mut self, statement: &S) -> Option<BackendStatementId> {
        let entry = self.known.get_mut(statement)?;
        match &mut entry.state {
            StatementUse::InUse { users } if *users > 1 => *users -= 1,
            StatementUse::InUse { .. } => {
                self.uses += 1;
                entry.state = StatementUse::AtRest { since: self.uses };
                self.at_rest.insert(self.uses, statement.clone());
            }
            StatementUse::AtRest { .. } => {}
        }
        let is_over = self.known.len() > self.count_max;
        is_over.then(|| self.evict()).flatten()
    }

    /// Whether an EXECUTE of a statement in use must carry `types`; assumes that it then does. The
    /// server keeps one set of types for a statement, and several clients may share it.
    pub fn bind(&mut self, statement: &S, types: &Rc<[u8]>) -> Binding {
        let Some(entry) = self.known.get_mut(statement) else {
            return Binding::Send;
        };
        if entry.types.as_ref() == Some(types) {
            return Binding::Seen;
        }
        entry.types = Some(Rc::clone(types));
        entry.types_seen.see(types);
        Binding::Send
    }

    /// Whether the server has seen no other types for a statement than these.
    pub fn has_seen_only(&self, statement: &S, types: &TypesSeen) -> bool {
        let entry = self.known.get(statement);
        entry.is_none_or(|entry| entry.types_seen.is_within(types))
    }

    /// Whether the types that the server saw last for a statement are these, or it has seen none.
    pub fn has_types(&self, statement: &S, types: Option<&Rc<[u8]>>) -> bool {
        let entry = self.known.get(statement);
        entry.is_none_or(|entry| entry.types_seen.is_empty() || entry.types.as_ref() == types)
    }

    /// An EXECUTE failed before or while the server read its types: the next one sends them again.
    pub fn unbind(&mut self, statement: &S) {
        if let Some(entry) = self.known.get_mut(statement) {
            entry.types = None;
        }
    }

    /// Forgets a statement that the server no longer knows, or that must be prepared anew. Returns
    /// its id, for COM_STMT_CLOSE.
    pub fn remove(&mut self, statement: &S) -> Option<BackendStatementId> {
        let entry = self.known.remove(statement)?;
        if let StatementUse::AtRest { since } = entry.state {
            self.at_rest.remove(&since);
        }
        Some(entry.id)
    }

    /// Forgets the statements at rest. Returns their ids, for COM_STMT_CLOSE.
    pub fn take_at_rest(&mut self) -> Vec<BackendStatementId> {
        std::iter::from_fn(|| self.evict()).collect()
    }

    /// Forgets all statements: COM_RESET_CONNECTION and COM_CHANGE_USER close them in the server.
    pub fn clear(&mut self) {
        self.known.clear();
        self.at_rest.clear();
    }

    /// The id of a statement, without using it.
    pub fn id(&self, statement: &S) -> Option<BackendStatementId> {
        self.known.get(statement).map(|entry| entry.id)
    }

    /// How many statements are prepared.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether no statement is prepared.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    fn evict(&mut self) -> Option<BackendStatementId> {
        let (_, statement) = self.at_rest.pop_first()?;
        self.known.remove(&statement).map(|entry| entry.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prepares and executes a statement as a connection would; returns the id of the statement that was closed.
    fn run(prepared: &mut Prepared<char>, statement: char) -> Option<BackendStatementId> {
        let closed = match prepared.begin(&statement) {
            Lookup::Prepared(_) => None,
            Lookup::Missing { close } => {
                let id = BackendStatementId(statement as u32);
                assert_eq!(prepared.learn(statement, id), None);
                close
            }
        };
        closed.or(prepared.finish(&statement))
    }

    fn id(statement: char) -> Option<BackendStatementId> {
        Some(BackendStatementId(statement as u32))
    }

    #[test]
    fn all_unused_statements_can_be_closed() {
        let mut prepared = Prepared::new(4);
        run(&mut prepared, 'a');
        run(&mut prepared, 'b');
        let _ = prepared.begin(&'b');
        assert_eq!(prepared.take_at_rest(), Vec::from_iter(id('a')));
        assert_eq!(prepared.take_at_rest(), []);
        assert_eq!(prepared.finish(&'b'), None);
        assert_eq!(prepared.take_at_rest(), Vec::from_iter(id('b')));
        assert!(prepared.is_empty());
    }

    #[test]
    fn a_statement_is_prepared_once() {
        let mut prepared = Prepared::new(4);
        run(&mut prepared, 'a');
        assert_eq!(
            prepared.begin(&'a'),
            Lookup::Prepared(BackendStatementId('a' as u32))
        );
    }

    #[test]
    fn the_least_recently_used_makes_room() {
        let mut prepared = Prepared::new(2);
        run(&mut prepared, 'a');
        run(&mut prepared, 'b');
        run(&mut prepared, 'a');
        assert_eq!(run(&mut prepared, 'c'), id('b'));
        assert_eq!(prepared.len(), 2);
        assert_eq!(prepared.id(&'a'), id('a'));
    }

    #[test]
    fn statements_in_use_are_not_closed_above_the_bound() {
        let mut prepared = Prepared::new(1);
        assert_eq!(prepared.begin(&'a'), Lookup::Missing { close: None });
        prepared.learn('a', BackendStatementId(1));
        assert_eq!(prepared.begin(&'b'), Lookup::Missing { close: None });
        prepared.learn('b', BackendStatementId(2));
        assert_eq!(prepared.len(), 2);
        assert_eq!(prepared.finish(&'b'), Some(BackendStatementId(2)));
        assert_eq!(prepared.finish(&'a'), None);
        assert_eq!(prepared.len(), 1);
    }

    #[test]
    fn a_statement_used_twice_rests_when_both_have_finished() {
        let mut prepared = Prepared::new(1);
        run(&mut prepared, 'a');
        for _ in 0..2 {
            assert!(matches!(prepared.begin(&'a'), Lookup::Prepared(_)));
        }
        prepared.finish(&'a');
        assert_eq!(prepared.begin(&'b'), Lookup::Missing { close: None });
        prepared.finish(&'a');
        assert_eq!(prepared.begin(&'b'), Lookup::Missing { close: id('a') });
    }

    #[test]
    fn types_are_sent_once_and_again_after_other_ones() {
        let mut prepared = Prepared::new(1);
        run(&mut prepared, 'a');
        let (int, text): (Rc<[u8]>, Rc<[u8]>) = ([3, 0].into(), [253, 0].into());
        assert_eq!(prepared.bind(&'a', &int), Binding::Send);
        assert_eq!(prepared.bind(&'a', &int), Binding::Seen);
        assert_eq!(prepared.bind(&'a', &text), Binding::Send);
        assert_eq!(prepared.bind(&'a', &int), Binding::Send);
        prepared.unbind(&'a');
        assert_eq!(prepared.bind(&'a', &int), Binding::Send);
    }

    #[test]
    fn preparing_a_statement_again_resets_its_types_and_closes_the_old_id() {
        let mut prepared = Prepared::new(2);
        run(&mut prepared, 'a');
        let types: Rc<[u8]> = [3, 0].into();
        assert_eq!(prepared.bind(&'a', &types), Binding::Send);
        assert_eq!(prepared.learn('a', BackendStatementId(900)), id('a'));
        assert_eq!(prepared.bind(&'a', &types), Binding::Send);
    }

    #[test]
    fn a_reset_connection_has_no_statements() {
        let mut prepared = Prepared::new(2);
        run(&mut prepared, 'a');
        prepared.clear();
        assert!(prepared.is_empty());
        assert_eq!(prepared.begin(&'a'), Lookup::Missing { close: None });
        assert_eq!(prepared.finish(&'a'), None);
    }
}
