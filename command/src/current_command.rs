//! The state of one command of a client, from its packet to the end of its reply.

use std::time::Duration;

use crate::command_policy::CommandPolicy;
use crate::delivery::Delivery;
use crate::trace::Trace;
use route::Use;
use stats::statement_stats::Subject;
use stats::timing::Timing;

/// One command. A new value replaces it when the next packet has come, when a script sends a further command, and while
/// the proxy runs a command of its own for the session. When it ends, only its times stay. So no state of one command
/// reaches another.
#[derive(Default)]
pub struct CurrentCommand {
    /// When the command came, when it left, and when its reply came.
    pub timing: Timing,
    /// The policy that rules and hints give the command.
    pub policy: Option<Box<CommandPolicy>>,
    /// The trace of the statement, if it may be recorded.
    pub trace: Option<Box<Trace>>,
    /// The statistics entry of the statement, if it is counted.
    pub subject: Option<Subject>,
    /// Where the reply goes, and when.
    pub delivery: Delivery,
    /// Whether the command needs a backend that takes writes.
    pub use_for: Use,
    /// Chance has chosen the command for profiling; its text is not looked at for that.
    pub is_sampled: bool,
    /// The command needs an empty warning list.
    pub wants_clear: bool,
    /// The length of a command that was passed on unread, with its headers, and the sequence id after it.
    pub passed: Option<(u64, u8)>,
}

impl CurrentCommand {
    /// A command that was read at this time, counted from the start of the process.
    #[inline]
    pub fn arrived(now: Duration) -> Self {
        let mut timing = Timing::default();
        timing.comes(now);
        Self {
            timing,
            ..Self::default()
        }
    }

    /// A further command that a script sends for the client's command, after the one before has ended.
    #[inline]
    pub fn further(&self) -> Self {
        let mut timing = self.timing;
        timing.goes_on();
        Self {
            timing,
            ..Self::default()
        }
    }

    /// Ends the command. Its times stay, because its connection goes back afterwards, and because a script may send a
    /// further command then.
    #[inline]
    pub fn end(&mut self) {
        *self = Self {
            timing: self.timing,
            ..Self::default()
        };
    }

    /// Puts a command of the proxy, whose reply is discarded, in this one's place, to prepare a backend for this one.
    /// Returns this command.
    #[inline]
    pub fn begin_unheard(&mut self) -> Self {
        let unheard = Self {
            timing: self.timing,
            delivery: Delivery::Nobody,
            use_for: self.use_for,
            ..Self::default()
        };
        std::mem::replace(self, unheard)
    }

    /// Ends the proxy's command, and continues the client's command, which has waited for it.
    #[inline]
    pub fn end_unheard(&mut self, client: Self) {
        *self = Self {
            timing: self.timing,
            ..client
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> CurrentCommand {
        CurrentCommand {
            policy: Some(Box::default()),
            use_for: Use::Writes,
            wants_clear: true,
            passed: Some((9, 1)),
            ..CurrentCommand::arrived(Duration::from_secs(7))
        }
    }

    #[test]
    fn an_ended_command_leaves_only_its_times() {
        let mut command = running();
        command.end();
        assert_eq!(command.timing.read(), Duration::from_secs(7));
        assert!(command.policy.is_none() && command.passed.is_none());
        assert!(command.use_for == Use::Any && !command.wants_clear);
    }

    #[test]
    fn a_command_of_the_proxys_own_needs_the_backend_that_the_clients_command_needs() {
        let mut command = running();
        let client = command.begin_unheard();
        assert!(command.use_for == Use::Writes && command.policy.is_none());
        command.end_unheard(client);
        assert!(command.wants_clear && command.policy.is_some());
    }
}
