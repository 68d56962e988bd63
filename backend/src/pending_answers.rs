//! What a session may still ask about its last statement, and where the answer lies.
//!
//! ```text
//!            statement ended                another session comes
//!   Nowhere ────────────────► OnConnection ────────────────────────► Saving ──► Saved
//! ```
//!
//! As long as nobody else uses the connection the answers stay there. Who comes next asks for them
//! first, in the same write as its own statement, and puts them down here. If the connection breaks
//! before, nobody knows them any more, and who asks is told so.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use session::state::{LastInsertId, List, StatementDiagnostics as Left};
use session::{Outcome, Tally};
use tokio::sync::Notify;
use wire::Capabilities;

use crate::diagnostics::Diagnostics;
use crate::own_reply::OwnReply;
use crate::own_reply::table;

/// One session's.
#[derive(Debug, Default)]
pub struct PendingAnswers {
    /// Which of its answers only the connection knows.
    pub(crate) pending: Cell<PendingAnswerList>,
    /// Tells the connection that it was on last from those before.
    pub(crate) generation: Cell<u64>,
    insert_id: Cell<Option<u64>>,
    /// The list of warnings and errors, where it was put down.
    list: RefCell<Option<Rc<Diagnostics>>>,
    /// Of the error that the last statement ended with.
    error: Cell<Option<(u16, [u8; 5])>>,
    found_rows: Cell<Option<u64>>,
    /// The statement that its client named last which is not there.
    pub unknown: Cell<Option<u32>>,
    /// Somebody is asking.
    pub(crate) saving: Cell<u32>,
    /// Statements of the proxy's own have run on the connection since.
    pub(crate) is_disturbed: Cell<bool>,
    /// The list of warnings on the connection is that of the session before: MariaDB's statements without a table leave
    /// it there.
    pub(crate) has_others_list: Cell<bool>,
    /// What was owed was lost with the connection.
    is_lost: Cell<bool>,
    /// An answer has come, or none will, or the connection is idle again.
    pub news: Notify,
}

/// One answer that only the connection knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingAnswer {
    /// The list of warnings and errors.
    Warnings,
    /// FOUND_ROWS().
    FoundRows,
    /// How many there were: an error may have warnings in front of it, and the list its limit.
    Counts,
    /// LAST_INSERT_ID().
    InsertId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PendingAnswerList {
    pub(crate) warnings: bool,
    pub(crate) found_rows: bool,
    pub(crate) counts: bool,
    pub(crate) insert_id: bool,
}

impl PendingAnswer {
    /// What is asked. Warnings first: other statements make MySQL forget them. FOUND_ROWS() before
    /// what counts rows of its own.
    pub fn question(self) -> &'static str {
        match self {
            Self::Warnings => "SHOW WARNINGS",
            // The session may have set `sql_select_limit` to 0.
            Self::FoundRows => "SELECT FOUND_ROWS() LIMIT 1",
            Self::Counts => "SELECT @@warning_count,@@error_count LIMIT 1",
            Self::InsertId => "SELECT LAST_INSERT_ID() LIMIT 1",
        }
    }
}

/// Whose last statement ran on a connection, for as long as that is so. When the connection goes, what
/// it alone knew is lost.
#[derive(Debug)]
pub struct Owner {
    pub(crate) of: Rc<PendingAnswers>,
    pub(crate) generation: u64,
}

impl Owner {
    /// Whether the session may still ask for what only the connection knows.
    pub fn is_pending(&self) -> bool {
        self.is_current() && self.of.is_pending() && Rc::strong_count(&self.of) > 1
    }

    /// Whether the session has not been on another connection since.
    pub(crate) fn is_current(&self) -> bool {
        self.of.generation.get() == self.generation
    }

    /// The session's answers, if it may still ask for them.
    pub fn if_pending(&self) -> Option<Rc<PendingAnswers>> {
        self.is_pending().then(|| Rc::clone(&self.of))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if self.is_current() && self.of.is_pending() {
            self.of.lose();
        }
    }
}

/// What somebody else asks in a session's place. One that is dropped has found no answer.
#[derive(Debug)]
pub struct Question {
    pub(crate) owner: Rc<PendingAnswers>,
    /// Of its connection: the answer is of no use to a session that has been on another one since.
    pub(crate) generation: u64,
    /// What is asked.
    pub pending: PendingAnswer,
    pub(crate) is_answered: bool,
}

impl Question {
    /// The answer has come.
    pub fn answered(mut self, own: &OwnReply, capabilities: Capabilities) {
        let number = |at: usize| -> Option<u64> {
            let row = table(own, capabilities).ok()?.row;
            std::str::from_utf8(row.get(at)?.as_deref()?)
                .ok()?
                .parse()
                .ok()
        };
        let owner = &self.owner;
        if !self.is_current() {
            return;
        }
        if own.outcome == Outcome::Ok {
            match self.pending {
                PendingAnswer::Warnings => {
                    let list = Diagnostics::read(own, capabilities);
                    let list = list.map(|list| list.failed_with(owner.error.get()));
                    let list = list.map(|list| match owner.unknown.get() {
                        Some(meant) => crate::unknown_statement::naming(list, meant),
                        None => list,
                    });
                    *owner.list.borrow_mut() = list.map(Rc::new);
                }
                PendingAnswer::Counts => {
                    if let (Some(list), Some(all), Some(errors)) =
                        (&*owner.list.borrow(), number(0), number(1))
                    {
                        list.are_counted(all, errors);
                    }
                }
                PendingAnswer::InsertId => owner.insert_id.set(number(0)),
                PendingAnswer::FoundRows => owner.found_rows.set(number(0)),
            }
        }
        // A shutdown may have ended this question, or a kill that was meant for the taker's statement.
        self.is_answered = match self.pending {
            PendingAnswer::Warnings => owner.list.borrow().is_some(),
            PendingAnswer::FoundRows => owner.found_rows.get().is_some(),
            PendingAnswer::InsertId => owner.insert_id.get().is_some(),
            // The list is as long as it is.
            PendingAnswer::Counts => true,
        };
    }

    pub(crate) fn is_current(&self) -> bool {
        self.owner.generation.get() == self.generation
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if !self.is_answered && self.is_current() {
            self.owner.lose();
        }
        self.owner.has_asked();
    }
}

impl PendingAnswers {
    pub(crate) fn pending_list(&self) -> Vec<PendingAnswer> {
        let owed = self.pending.get();
        let all = [
            (owed.warnings, PendingAnswer::Warnings),
            (owed.found_rows, PendingAnswer::FoundRows),
            (owed.counts, PendingAnswer::Counts),
            (owed.insert_id, PendingAnswer::InsertId),
        ];
        all.into_iter()
            .filter(|(is_owed, _)| *is_owed)
            .map(|(_, pending)| pending)
            .collect()
    }

    /// Whether its connection must be asked before it closes.
    pub fn is_pending(&self) -> bool {
        self.pending.get() != PendingAnswerList::default()
    }

    /// Whether its LAST_INSERT_ID() is known to its connection only.
    pub fn insert_id_is_pending(&self) -> bool {
        self.pending.get().insert_id
    }

    /// Whether its FOUND_ROWS() is known to its connection only.
    pub fn found_rows_are_pending(&self) -> bool {
        self.pending.get().found_rows
    }

    /// The session goes to another backend: what nobody has asked for by now is not to be had.
    pub fn is_left(&self) {
        self.pending.set(PendingAnswerList::default());
    }

    /// The session's next statement uses a shared lane, which cannot be asked about it.
    pub fn note_lane(&self) {
        self.generation.set(self.generation.get() + 1);
        self.pending.set(PendingAnswerList::default());
    }

    /// Whether somebody is asking for its answers right now.
    pub fn is_saving(&self) -> bool {
        self.saving.get() > 0
    }

    /// One question is no longer under way.
    fn has_asked(&self) {
        self.saving.set(self.saving.get().saturating_sub(1));
        self.news.notify_waiters();
    }

    /// Nobody will answer any more: the connection broke.
    pub fn lose(&self) {
        self.pending.set(PendingAnswerList::default());
        self.is_lost.set(true);
        self.news.notify_waiters();
    }

    /// The list of warnings and errors, if it was put down.
    pub fn list(&self) -> Option<Rc<Diagnostics>> {
        self.list.borrow().clone()
    }

    /// Puts down a list.
    pub fn keep_list(&self, list: Rc<Diagnostics>) {
        *self.list.borrow_mut() = Some(list);
        self.pending.set(PendingAnswerList {
            warnings: false,
            counts: false,
            ..self.pending.get()
        });
    }

    /// Whether the list of warnings is known to its connection only.
    pub fn warnings_are_pending(&self) -> bool {
        self.pending.get().warnings || self.pending.get().counts
    }

    /// Statements that nobody asked for have run on its connection.
    pub fn is_disturbed_now(&self) {
        self.is_disturbed.set(true);
    }

    /// A command that the proxy has answered has emptied the list.
    pub fn forget_list(&self) {
        *self.list.borrow_mut() = None;
        self.pending.set(PendingAnswerList {
            warnings: false,
            counts: false,
            ..self.pending.get()
        });
        // Its connection still has the list of before.
        self.is_disturbed.set(true);
    }

    /// A command has ended on the connection that is ours: what only that connection knows.
    pub fn note(&self, left: &Left, tally: &Tally) {
        let before = self.pending.get();
        let (warnings, counts) = match left.list {
            List::Empty => {
                *self.list.borrow_mut() = None;
                (false, false)
            }
            List::Fresh => {
                *self.list.borrow_mut() = None;
                self.error.set(tally.error);
                (true, tally.error.is_some())
            }
            List::Kept => (before.warnings, before.counts),
            // Where there is a list put down already, the rest of it is fetched at once.
            List::Appended => (self.list.borrow().is_none(), true),
        };
        self.pending.set(PendingAnswerList {
            warnings,
            counts,
            insert_id: left.last_insert_id == LastInsertId::OnConnection,
            found_rows: left.found_rows.is_none(),
        });
        self.insert_id.set(None);
        self.found_rows.set(None);
        self.is_lost.set(false);
        self.has_others_list
            .set(self.has_others_list.get() && left.list == List::Kept);
        self.is_disturbed.set(self.has_others_list.get());
    }

    /// What was saved and not yet taken up by the session.
    pub fn take_saved(&self) -> Saved {
        Saved {
            insert_id: self.insert_id.take(),
            found_rows: self.found_rows.take(),
            is_lost: self.is_lost.take(),
        }
    }
}

/// Answers that were saved.
#[derive(Debug, Clone, Copy)]
pub struct Saved {
    /// LAST_INSERT_ID().
    pub insert_id: Option<u64>,
    /// FOUND_ROWS().
    pub found_rows: Option<u64>,
    /// Something was not, and never will be.
    pub is_lost: bool,
}
