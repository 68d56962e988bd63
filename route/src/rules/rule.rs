//! One rule.

use std::sync::Arc;

use config::WhenUnsure;

use super::actions::Actions;
use super::condition::Condition;

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// Its name in logs, counters and explanations.
    pub name: Arc<str>,
    /// The conditions, which must all hold; the cheapest first.
    pub conditions: Box<[Condition]>,
    /// The actions for statements that match.
    pub actions: Actions,
    /// Whether later rules are evaluated after a match.
    pub then: Then,
    /// The treatment of a statement that is not understood and that the rule might match.
    pub when_unsure: WhenUnsure,
    /// The hash of its name, which is the same over reloads and in every process.
    pub(super) seed: u64,
}

/// The consequence of a match for later rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Its actions are taken, and no later rule is evaluated.
    Stop,
    /// Its actions are taken; later rules set what it does not set.
    Continue,
    /// It is counted, and nothing is done.
    DryRun,
}
