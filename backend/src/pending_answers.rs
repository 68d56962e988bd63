//! The answers that a session may still ask for after its last statement, and where they are kept.
//!
//! ```text
//!            statement ended                another session comes
//!   Nowhere ────────────────► OnConnection ────────────────────────► Saving ──► Saved
//! ```
//!
//! While no other session uses the connection, the answers stay on it. The next session asks for
//! them first, in the same write as its own statement, and saves them here. If the connection
//! breaks before that, the answers are lost, and the session gets an error if it asks for them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use session::state::{LastInsertId, List, StatementDiagnostics as Left};
use session::{Outcome, Tally};
use tokio::sync::Notify;
use wire::Capabilities;

use crate::diagnostics::Diagnostics;
use crate::own_reply::OwnReply;
use crate::own_reply::table;

/// One session's pending answers.
#[derive(Debug, Default)]
pub struct PendingAnswers {
    /// The answers that only the connection knows.
    pub(crate) pending: Cell<PendingAnswerList>,
    /// Grows whenever the session changes to another connection, so that an earlier connection is recognised.
    pub(crate) generation: Cell<u64>,
    insert_id: Cell<Option<u64>>,
    /// The list of warnings and errors, if it was saved.
    list: RefCell<Option<Rc<Diagnostics>>>,
    /// The number and SQLSTATE of the error that the last statement ended with.
    error: Cell<Option<(u16, [u8; 5])>>,
    found_rows: Cell<Option<u64>>,
    /// The id of the prepared statement that the client named last and that does not exist.
    pub unknown: Cell<Option<u32>>,
    /// How many questions other sessions are asking right now for this session.
    pub(crate) saving: Cell<u32>,
    /// Whether the proxy's own statements have run on the connection since the session's last statement.
    pub(crate) is_disturbed: Cell<bool>,
    /// Whether the warning list on the connection is the list of the session before: MariaDB's
    /// statements without a table leave it there.
    pub(crate) has_others_list: Cell<bool>,
    /// Whether pending answers were lost with the connection.
    is_lost: Cell<bool>,
    /// Notified when an answer arrives, when no answer will come, and when the connection is idle again.
    pub news: Notify,
}

/// One answer that only the connection knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingAnswer {
    /// The list of warnings and errors.
    Warnings,
    /// FOUND_ROWS().
    FoundRows,
    /// How many warnings and errors there were: an error may follow warnings, and the list has a maximum length.
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
    /// Returns the statement that asks for the answer. Warnings come first, because other statements
    /// make MySQL forget them. FOUND_ROWS() comes before the statements that count rows of their own.
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

/// The session whose last statement ran on a connection, until another session uses the connection.
/// When the connection closes, the answers that only the connection knows are lost.
#[derive(Debug)]
pub struct Owner {
    pub(crate) of: Rc<PendingAnswers>,
    pub(crate) generation: u64,
}

impl Owner {
    /// Whether the session may still ask for answers that only the connection knows.
    pub fn is_pending(&self) -> bool {
        self.is_current() && self.of.is_pending() && Rc::strong_count(&self.of) > 1
    }

    /// Whether the session has not used another connection since.
    pub(crate) fn is_current(&self) -> bool {
        self.of.generation.get() == self.generation
    }

    /// The session's pending answers, if it may still ask for them.
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

/// A question that another session asks for the owner. If it is dropped before it is answered, the answer is lost.
#[derive(Debug)]
pub struct Question {
    pub(crate) owner: Rc<PendingAnswers>,
    /// The owner's generation on this connection. The answer is of no use to a session that has used another
    /// connection since.
    pub(crate) generation: u64,
    /// Which answer the question is for.
    pub pending: PendingAnswer,
    pub(crate) is_answered: bool,
}

impl Question {
    /// Stores the answer.
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
        // A shutdown may have ended this question, or a KILL that was meant for the next session's statement.
        self.is_answered = match self.pending {
            PendingAnswer::Warnings => owner.list.borrow().is_some(),
            PendingAnswer::FoundRows => owner.found_rows.get().is_some(),
            PendingAnswer::InsertId => owner.insert_id.get().is_some(),
            // Without the counts, the length of the list is used.
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
            .filter(|(is_pending, _)| *is_pending)
            .map(|(_, pending)| pending)
            .collect()
    }

    /// Whether the connection must be asked for answers before it closes.
    pub fn is_pending(&self) -> bool {
        self.pending.get() != PendingAnswerList::default()
    }

    /// Whether only the connection knows the session's LAST_INSERT_ID().
    pub fn insert_id_is_pending(&self) -> bool {
        self.pending.get().insert_id
    }

    /// Whether only the connection knows the session's FOUND_ROWS().
    pub fn found_rows_are_pending(&self) -> bool {
        self.pending.get().found_rows
    }

    /// Drops the pending answers, because the session goes to another backend.
    pub fn is_left(&self) {
        self.pending.set(PendingAnswerList::default());
    }

    /// Drops the pending answers: the session's next statement uses a shared lane, which cannot be asked for them.
    pub fn note_lane(&self) {
        self.generation.set(self.generation.get() + 1);
        self.pending.set(PendingAnswerList::default());
    }

    /// Whether another session is asking for these answers right now.
    pub fn is_saving(&self) -> bool {
        self.saving.get() > 0
    }

    /// Notes that one question has ended.
    fn has_asked(&self) {
        self.saving.set(self.saving.get().saturating_sub(1));
        self.news.notify_waiters();
    }

    /// Marks the pending answers as lost, because the connection broke.
    pub fn lose(&self) {
        self.pending.set(PendingAnswerList::default());
        self.is_lost.set(true);
        self.news.notify_waiters();
    }

    /// Returns the list of warnings and errors, if it was saved.
    pub fn list(&self) -> Option<Rc<Diagnostics>> {
        self.list.borrow().clone()
    }

    /// Saves a list.
    pub fn keep_list(&self, list: Rc<Diagnostics>) {
        *self.list.borrow_mut() = Some(list);
        self.pending.set(PendingAnswerList {
            warnings: false,
            counts: false,
            ..self.pending.get()
        });
    }

    /// Whether only the connection knows the warning list.
    pub fn warnings_are_pending(&self) -> bool {
        self.pending.get().warnings || self.pending.get().counts
    }

    /// Notes that the proxy's own statements have run on the connection.
    pub fn is_disturbed_now(&self) {
        self.is_disturbed.set(true);
    }

    /// Empties the list, because a command that the proxy has answered would have emptied it.
    pub fn forget_list(&self) {
        *self.list.borrow_mut() = None;
        self.pending.set(PendingAnswerList {
            warnings: false,
            counts: false,
            ..self.pending.get()
        });
        // The connection still has the list of the statement before.
        self.is_disturbed.set(true);
    }

    /// Notes which answers only the connection knows, after a command has ended on it.
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
            // If a list is saved already, the rest of the list is fetched at once.
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

    /// Returns the saved answers that the session has not yet taken, and clears them.
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
    /// Whether an answer was lost and will never come.
    pub is_lost: bool,
}
