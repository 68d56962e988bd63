//! Procedures that a session has called and whose definitions have not been read yet.

use std::rc::Rc;

use thin_vec::ThinVec;

/// The definitions of more procedures are not asked for.
const CALLS_MAX: usize = 16;

/// A procedure by its schema and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub schema: Rc<[u8]>,
    pub name: Rc<[u8]>,
}

/// Whether the known definitions explain what the server reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// They do, or it is not known yet.
    Explained,
    /// A trigger or a view has done something.
    Unexplained,
}

/// The calls whose effects are not known yet.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pending: ThinVec<Call>,
    /// The calls that were asked for since the first pending one.
    asked: ThinVec<Call>,
    /// The server reported changed state after one of the calls.
    pub is_state_changed: bool,
    /// One of the procedures sets user variables, which the server reports.
    pub sets_variables: bool,
    /// One of the procedures uses tables.
    pub uses_tables: bool,
    /// The calls belong to several CALLs: what one sets does not explain what another has changed.
    is_mixed: bool,
}

impl Calls {
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Another CALL of the session begins.
    pub fn begin(&mut self) {
        self.is_mixed |= !self.pending.is_empty();
    }

    /// The next call to ask for.
    pub fn next(&self) -> Option<&Call> {
        self.pending.last()
    }

    /// Adds a call. Returns false if there are too many.
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

    /// The definition of this call is being read.
    pub fn ask(&mut self, call: &Call) {
        self.pending.retain(|pending| pending != call);
        self.asked.push(call.clone());
    }

    /// The definition of one more call is known. Returns the verdict when it was the last call.
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
