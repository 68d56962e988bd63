//! Procedures that a session has called and whose definitions have not been read yet.

use std::rc::Rc;

/// More are not asked for.
const CALLS_MAX: usize = 16;

/// A procedure by its schema and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub schema: Rc<[u8]>,
    pub name: Rc<[u8]>,
}

/// Whether what the server told is explained by what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// It is, or is not yet known not to be.
    Explained,
    /// A trigger or a view has done something.
    Unexplained,
}

/// The calls of which nobody knows yet what they have left behind.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pending: Vec<Call>,
    /// They were asked for since the first of them.
    asked: Vec<Call>,
    /// The server told of changed state after one of them.
    pub is_state_changed: bool,
    /// One of them sets user variables, which the server tells.
    pub sets_variables: bool,
    /// One of them uses tables.
    pub uses_tables: bool,
    /// They are of several CALLs: what one sets does not explain what the other has changed.
    is_mixed: bool,
}

impl Calls {
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Another CALL of the session's begins.
    pub fn begin(&mut self) {
        self.is_mixed |= !self.pending.is_empty();
    }

    /// The next one to ask for.
    pub fn next(&self) -> Option<&Call> {
        self.pending.last()
    }

    /// One more; false where they are too many.
    pub fn add(&mut self, call: Call) -> bool {
        if self.pending.contains(&call) || self.asked.contains(&call) {
            return true;
        }
        let count = self.pending.len() + self.asked.len();
        if count < CALLS_MAX {
            self.pending.push(call);
        }
        count < CALLS_MAX
    }

    /// This one's definition is being read.
    pub fn ask(&mut self, call: &Call) {
        self.pending.retain(|pending| pending != call);
        self.asked.push(call.clone());
    }

    /// One more is known, and perhaps it was the last.
    pub fn settle(&mut self) -> Settled {
        if !self.pending.is_empty() {
            return Settled::Explained;
        }
        let all = std::mem::take(self);
        let is_explained = all.sets_variables && !all.is_mixed;
        match all.is_state_changed && all.uses_tables && !is_explained {
            true => Settled::Unexplained,
            false => Settled::Explained,
        }
    }
}
