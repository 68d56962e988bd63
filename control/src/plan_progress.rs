//! Which configurations were asked for, and which has taken effect.

use tokio::sync::oneshot;

/// The plans of configurations, by number. Only the last that was asked for is applied.
#[derive(Debug, Default)]
pub(crate) struct PlanProgress {
    /// The number of the last plan that was asked for.
    requested: u64,
    /// The number of the plan that has taken effect.
    applied: u64,
    /// Senders for callers that wait until the last plan has taken effect.
    awaiting: Vec<oneshot::Sender<()>>,
}

impl PlanProgress {
    /// Counts another configuration; returns the number of its plan.
    pub(crate) fn ask(&mut self) -> u64 {
        self.requested += 1;
        self.requested
    }

    /// Whether this is the last plan that was asked for.
    pub(crate) fn is_last(&self, number: u64) -> bool {
        number == self.requested
    }

    /// Notes that the plan of this number is applied.
    pub(crate) fn take_effect(&mut self, number: u64) {
        self.applied = number;
    }

    /// Keeps a sender until the last plan has taken effect.
    pub(crate) fn notify_when_settled(&mut self, to: oneshot::Sender<()>) {
        self.awaiting.push(to);
    }

    /// Signals the waiting callers, if the last plan has taken effect.
    pub(crate) fn notify_settled(&mut self) {
        if self.applied == self.requested {
            for to in self.awaiting.drain(..) {
                // The caller may have stopped waiting.
                let _ = to.send(());
            }
        }
    }
}
