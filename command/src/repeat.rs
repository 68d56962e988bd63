//! Whether a command may be sent again, by what it may have done.

use tokio::time::Instant;

use crate::target::CommandTarget;
use session::effect::Effect;

/// The maximum number of times that a command is sent again.
pub const RETRIES_MAX: u32 = 3;

/// Whether a command may be sent again.
#[derive(Debug, Clone, Copy)]
pub struct Repeat {
    /// The effect that the command may have had.
    pub effect: Effect,
    /// The number of times that it has been sent again.
    pub retries: u32,
    /// The maximum number of times that it may be sent again.
    pub retries_max: u32,
    /// The target of the next try.
    pub command_target: CommandTarget,
    /// A server has refused the command because that server takes no writes.
    pub was_refused: bool,
    /// How often a server had no room for the prepared statement of the command.
    pub refused_for_room: u32,
    /// Until when the command is sent again to a primary that takes no writes.
    pub refused_until: Option<Instant>,
}

impl Repeat {
    /// A command that has not been sent yet.
    #[inline]
    pub fn of(effect: Effect, command_target: CommandTarget) -> Self {
        Self {
            effect,
            retries: 0,
            retries_max: RETRIES_MAX,
            command_target,
            was_refused: false,
            refused_for_room: 0,
            refused_until: None,
        }
    }

    /// Whether the command may be sent once more.
    #[inline]
    pub fn has_tries(&self) -> bool {
        self.retries < self.retries_max
    }

    /// Notes that a server has refused the command because that server takes no writes.
    #[inline]
    pub fn note_refusal(&mut self) {
        self.was_refused = true;
        self.retries += 1;
        self.effect = Effect::Any;
    }

    /// Notes whether the command has been sent over a lane, without an answer.
    #[inline]
    pub fn has_been_sent(&mut self, has_been: bool) {
        self.retries += u32::from(has_been);
    }
}
