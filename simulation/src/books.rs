//! The books: the writes of all clients with their fates, and the checks of these writes at the end.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::trace::Trace;

/// The fate of a write, as far as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The server has acknowledged the write.
    Acknowledged,
    /// The write was certainly not executed: an error says so, or it was rolled back.
    Withdrawn,
    /// The connection broke, or an error left it open whether the write was executed.
    InDoubt,
}

/// A world's books.
#[derive(Clone)]
pub struct Books {
    inner: Rc<Inner>,
}

struct Inner {
    next: Cell<u64>,
    fates: RefCell<BTreeMap<u64, Fate>>,
    statements: Cell<u64>,
    errors: RefCell<BTreeMap<u16, u64>>,
    broken: RefCell<Option<String>>,
    /// User locks, and the sessions that certainly hold them.
    locks: RefCell<BTreeMap<u64, u64>>,
    trace: Trace,
}

impl Books {
    /// Returns empty books.
    pub fn open(trace: Trace) -> Self {
        Self {
            inner: Rc::new(Inner {
                next: Cell::new(1),
                fates: RefCell::default(),
                statements: Cell::new(0),
                errors: RefCell::default(),
                broken: RefCell::default(),
                locks: RefCell::default(),
                trace,
            }),
        }
    }

    /// Returns a number that was not used before.
    pub fn number(&self) -> u64 {
        self.inner.next.replace(self.inner.next.get() + 1)
    }

    /// Counts a statement that was answered.
    pub fn count(&self) {
        self.inner.statements.set(self.inner.statements.get() + 1);
    }

    /// Returns how many statements were answered.
    pub fn statements(&self) -> u64 {
        self.inner.statements.get()
    }

    /// Writes down the fate of a write.
    pub fn enter(&self, token: u64, fate: Fate) {
        self.inner.fates.borrow_mut().insert(token, fate);
    }

    /// Counts an error that this world allows.
    pub fn met(&self, number: u16) {
        *self.inner.errors.borrow_mut().entry(number).or_default() += 1;
    }

    /// Returns the counts of allowed errors, by their numbers.
    pub fn errors(&self) -> BTreeMap<u16, u64> {
        self.inner.errors.borrow().clone()
    }

    /// Notes that an invariant does not hold. Only the first call counts.
    pub fn broken(&self, what: String) {
        self.inner.trace.note(format_args!("BROKEN: {what}"));
        self.inner.broken.borrow_mut().get_or_insert(what);
    }

    /// Returns the invariant that does not hold.
    pub fn what_is_broken(&self) -> Option<String> {
        self.inner.broken.borrow().clone()
    }

    /// Notes that a session has got a user lock. Returns the other session that certainly holds it, if there is one.
    pub fn got(&self, lock: u64, session: u64) -> Option<u64> {
        let holder = self.inner.locks.borrow_mut().insert(lock, session);
        holder.filter(|&holder| holder != session)
    }

    /// Notes that a session has released a user lock, or that its holder is not certain any more.
    pub fn let_go(&self, lock: u64, session: u64) {
        let mut locks = self.inner.locks.borrow_mut();
        if locks.get(&lock) == Some(&session) {
            locks.remove(&lock);
        }
    }

    /// Compares the books with the servers' rows: how often each token survived.
    pub fn compare(&self, survived: &BTreeMap<u64, u64>) {
        for (token, count) in survived {
            if *count > 1 {
                return self.broken(format!("token {token} was written {count} times"));
            }
        }
        for (token, fate) in self.inner.fates.borrow().iter() {
            let is_there = survived.contains_key(token);
            match (fate, is_there) {
                (Fate::Acknowledged, false) => {
                    return self.broken(format!("token {token} was acknowledged and is lost"));
                }
                (Fate::Withdrawn, true) => {
                    return self.broken(format!("token {token} was withdrawn and is written"));
                }
                _ => {}
            }
        }
    }
}
