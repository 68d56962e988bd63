//! Whether a command may be sent again, by what it may have done.

use tokio::time::Instant;

use crate::target::CommandTarget;
use session::effect::Effect;

/// How often a command is sent again.
pub const RETRIES_MAX: u32 = 3;

/// Whether a command may be sent again.
#[derive(Debug, Clone, Copy)]
pub struct Repeat {
    /// What the command may have done.
    pub effect: Effect,
    /// How often it was sent again.
    pub retries: u32,
    /// How often it may be sent again.
    pub retries_max: u32,
    /// Where it goes now.
    pub command_target: CommandTarget,
    /// A server has refused it because that takes no writes.
    pub was_refused: bool,
    /// How often a server had no room for the statement that it prepares.
    pub refused_for_room: u32,
    /// How long it is sent again to a primary that has refused it because that takes no writes.
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

    /// Whether it may be sent once more.
    #[inline]
    pub fn has_tries(&self) -> bool {
        self.retries < self.retries_max
    }

    /// A server has refused it because that takes no writes.
    #[inline]
    pub fn note_refusal(&mut self) {
        self.was_refused = true;
        self.retries += 1;
        self.effect = Effect::Any;
    }

    /// It has been sent before, over a lane, and has had no answer there.
    #[inline]
    pub fn has_been_sent(&mut self, has_been: bool) {
        self.retries += u32::from(has_been);
    }
}
