//! How a command has ended, or one of its statements.

use session::Outcome;

use backend::exchange_outcome::Done;
use relay::outcome::After;

/// How a command has ended, or a part of it.
pub struct Ending {
    /// What the session does next.
    pub after: After,
    /// How its reply has ended.
    pub outcome: Outcome,
    /// The id of the next part's first packet; none where none may follow.
    pub next_sequence: Option<u8>,
}

impl Ending {
    /// Nothing follows.
    #[inline]
    pub fn last(after: After) -> Self {
        Self {
            after,
            outcome: Outcome::Err(0),
            next_sequence: None,
        }
    }

    /// Another part may follow.
    #[inline]
    pub fn more(next_sequence: u8) -> Self {
        Self {
            after: After::Next,
            outcome: Outcome::Ok,
            next_sequence: Some(next_sequence),
        }
    }

    /// As its backend has answered it.
    #[inline]
    pub fn of(done: &Done) -> Self {
        Self {
            after: After::Next,
            outcome: done.outcome,
            next_sequence: (done.outcome == Outcome::Ok).then_some(done.next_sequence),
        }
    }
}
