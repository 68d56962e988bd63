//! What belongs to one command of a client, from its packet to the end of its reply.

use std::time::Duration;

use crate::command_policy::CommandPolicy;
use crate::delivery::Delivery;
use crate::trace::Trace;
use route::Use;
use stats::statement_stats::Subject;
use stats::timing::Timing;

/// One command. A new value takes its place when the next packet has come, when a script sends a further command, and
/// while the proxy runs a command of its own for the session. Its end leaves nothing but its times. So nothing of one
/// command reaches another.
#[derive(Default)]
pub struct CurrentCommand {
    /// When it came, left, and had its reply.
    pub timing: Timing,
    /// What rules and hints want of it.
    pub policy: Option<Box<CommandPolicy>>,
    /// The statement, if it may be recorded.
    pub trace: Option<Box<Trace>>,
    /// What its statement is counted under, if it is.
    pub subject: Option<Subject>,
    /// Who gets its reply.
    pub delivery: Delivery,
    /// What its backend is used for.
    pub use_for: Use,
    /// Chance has chosen it to be profiled, as far as its text need not be looked at.
    pub is_sampled: bool,
    /// It needs an empty list of warnings.
    pub wants_clear: bool,
    /// The length of a command that has passed unread, with its headers, and the sequence id behind it.
    pub passed: Option<(u64, u8)>,
}

impl CurrentCommand {
    /// A command that has been read at this time since the process began.
    #[inline]
    pub fn arrived(now: Duration) -> Self {
        let mut timing = Timing::default();
        timing.comes(now);
        Self {
            timing,
            ..Self::default()
        }
    }

    /// A further command that a script sends for the client's one, from the end of the one before.
    #[inline]
    pub fn further(&self) -> Self {
        let mut timing = self.timing;
        timing.goes_on();
        Self {
            timing,
            ..Self::default()
        }
    }

    /// The command has ended. Its times stay: its connection goes back at its end, and a script's further command comes
    /// then.
    #[inline]
    pub fn end(&mut self) {
        *self = Self {
            timing: self.timing,
            ..Self::default()
        };
    }

    /// Lets a command of the proxy's own, whose reply nobody gets, take this one's place. It prepares a backend for this
    /// one. Returns this one.
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

    /// The command of the proxy's own is over, and the client's one goes on, which has waited for it.
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
