//! All rules.

use super::index::Index;
use super::needs::Needs;
use super::rule::Rule;
use super::rule_index::RuleIndex;

/// All rules, ready to be asked. Immutable; workers share them.
#[derive(Debug, Default)]
pub struct Rules {
    pub(super) rules: Vec<Rule>,
    pub(super) index: Index,
}

impl Rules {
    /// Returns the number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Iterates over the rules in their order.
    pub fn iter(&self) -> impl Iterator<Item = (RuleIndex, &Rule)> {
        (0..).map(RuleIndex).zip(&self.rules)
    }

    /// Returns the rule with this index.
    pub fn rule(&self, index: RuleIndex) -> Option<&Rule> {
        self.rules.get(index.0 as usize)
    }

    /// Returns what must be known of a statement to evaluate the rules.
    pub fn needs(&self) -> Needs {
        self.index.needs()
    }
}
