//! One rule.

use std::sync::Arc;

use config::WhenUnsure;

use super::actions::Actions;
use super::condition::Condition;

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// What logs, counters and explanations call it.
    pub name: Arc<str>,
    /// What must hold, the cheapest first.
    pub conditions: Box<[Condition]>,
    /// What is done.
    pub actions: Actions,
    /// What becomes of the rules behind it once it has matched.
    pub then: Then,
    /// What becomes of a statement that is not understood and that it might match.
    pub when_unsure: WhenUnsure,
    /// Stays with the name, over reloads and in every process.
    pub(super) seed: u64,
}

/// What happens when a rule has matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Its actions hold, and no rule behind it is looked at.
    Stop,
    /// Its actions hold; rules behind it fill in what it leaves open.
    Continue,
    /// It is counted, and nothing is done.
    DryRun,
}
