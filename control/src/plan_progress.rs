//! Which configurations were asked for, and which has taken effect.

use tokio::sync::oneshot;

/// The plans of configurations, by number. Only the last that was asked for is applied.
#[derive(Debug, Default)]
pub(crate) struct PlanProgress {
    /// The number of the last plan that was asked for.
    requested: u64,
    /// The number of the plan that has taken effect.
    applied: u64,
    /// Senders for those who wait until that is the last one.
    awaiting: Vec<oneshot::Sender<()>>,
}

impl PlanProgress {
    /// Another configuration is asked for: the number of its plan.
    pub(crate) fn ask(&mut self) -> u64 {
        self.requested += 1;
        self.requested
    }

    /// Is this the last plan that was asked for?
    pub(crate) fn is_last(&self, number: u64) -> bool {
        number == self.requested
    }

    /// The plan of this number is applied.
    pub(crate) fn take_effect(&mut self, number: u64) {
        self.applied = number;
    }

    /// To be told when the last plan has taken effect.
    pub(crate) fn notify_when_settled(&mut self, to: oneshot::Sender<()>) {
        self.awaiting.push(to);
    }

    /// Tells those who wait for it that what was configured has taken effect.
    pub(crate) fn notify_settled(&mut self) {
        if self.applied == self.requested {
            for to in self.awaiting.drain(..) {
                // Nobody may be waiting any more.
                let _ = to.send(());
            }
        }
    }
}
