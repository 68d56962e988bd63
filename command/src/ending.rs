//! How a command, or one of its statements, has ended.

use session::Outcome;

use backend::exchange_outcome::Done;
use relay::outcome::After;

/// How a command, or a part of it, has ended.
pub struct Ending {
    /// The session's next state.
    pub after: After,
    /// The outcome of the reply.
    pub outcome: Outcome,
    /// The id of the next part's first packet; `None` if no part may follow.
    pub next_sequence: Option<u8>,
}

impl Ending {
    /// The end of a command that no further part follows.
    #[inline]
    pub fn last(after: After) -> Self {
        Self {
            after,
            outcome: Outcome::Err(0),
            next_sequence: None,
        }
    }

    /// The end of a part that another part may follow.
    #[inline]
    pub fn more(next_sequence: u8) -> Self {
        Self {
            after: After::Next,
            outcome: Outcome::Ok,
            next_sequence: Some(next_sequence),
        }
    }

    /// The end that the backend's reply gives.
    #[inline]
    pub fn of(done: &Done) -> Self {
        Self {
            after: After::Next,
            outcome: done.outcome,
            next_sequence: (done.outcome == Outcome::Ok).then_some(done.next_sequence),
        }
    }
}
