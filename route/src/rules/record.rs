//! Records the outcome of each evaluated rule, for EXPLAIN ROUTE and for rule tests.

use sql::Doubts;

use super::condition::Condition;
use super::rule::{Rule, Then};
use super::rule_index::RuleIndex;
use super::rule_list::Rules;

/// Is told the outcome of each evaluated rule. `()` ignores it, and costs nothing.
pub trait RuleRecorder {
    /// Whether every rule is to be evaluated, and not only the rules that the index finds.
    const LISTENS: bool;

    /// A rule was evaluated, with this outcome.
    fn note_outcome(&mut self, index: RuleIndex, rule: &Rule, outcome: Outcome<'_>);
}

/// The outcome of a rule's evaluation.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'r> {
    /// All conditions of the rule hold.
    Matched(Then),
    /// This condition does not hold.
    Failed(&'r Condition),
    /// It cannot be known whether the conditions hold.
    Unsure(Unsure<'r>),
}

/// A rule's treatment of a statement that is not understood and that it might match.
#[derive(Clone, Copy, Debug)]
pub enum Unsure<'r> {
    /// The statement is refused.
    Refused(Doubts),
    /// The rule does nothing: as far as the statement is understood, this condition does not hold.
    Passed(Doubts, &'r Condition),
}

impl RuleRecorder for () {
    const LISTENS: bool = false;

    fn note_outcome(&mut self, _: RuleIndex, _: &Rule, _: Outcome<'_>) {}
}

/// Keeps the outcome of each rule, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Each rule that was evaluated.
    pub rules: Vec<Seen>,
}

/// The outcome of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The rule.
    pub rule: RuleIndex,
    /// Its name.
    pub name: String,
    /// The condition that does not hold; none if the rule has matched.
    pub failed: Option<&'static str>,
    /// The outcome as text: `user, tables match; no rule behind it is asked`, `schema does not match`.
    pub why: String,
}

impl RuleRecorder for Record {
    const LISTENS: bool = true;

    fn note_outcome(&mut self, index: RuleIndex, rule: &Rule, outcome: Outcome<'_>) {
        let (failed, why) = match outcome {
            Outcome::Failed(condition) => (
                Some(condition.name()),
                format!("{condition} does not match"),
            ),
            Outcome::Matched(then) => (None, matched(rule, then)),
            Outcome::Unsure(Unsure::Refused(doubts)) => (None, refused(doubts)),
            Outcome::Unsure(Unsure::Passed(doubts, condition)) => (
                Some(condition.name()),
                format!(
                    "{condition} does not match, as far as the statement is understood: {}",
                    doubts.reason()
                ),
            ),
        };
        self.rules.push(Seen {
            rule: index,
            name: rule.name.to_string(),
            failed,
            why,
        });
    }
}

fn refused(doubts: Doubts) -> String {
    match doubts.reason() {
        reason if reason.is_empty() => "may match; the statement is refused".to_owned(),
        reason => format!(
            "may match, and the statement is refused, because it is not understood: {reason}"
        ),
    }
}

fn matched(rule: &Rule, then: Then) -> String {
    let names: Vec<_> = rule.conditions.iter().map(Condition::name).collect();
    let names = match names.is_empty() {
        true => "every statement matches".to_owned(),
        false => format!("{} match", names.join(", ")),
    };
    let then = match then {
        Then::Stop => "no rule behind it is asked",
        Then::Continue => "those behind it are asked",
        Then::DryRun => "it is a dry run: nothing is done",
    };
    format!("{names}; {then}")
}

impl Record {
    /// Returns the rules after the last evaluated one, which were not evaluated.
    pub fn unasked<'r>(&self, rules: &'r Rules) -> impl Iterator<Item = &'r Rule> {
        let from = self.rules.last().map_or(0, |seen| seen.rule.0 as usize + 1);
        rules.iter().skip(from).map(|(_, rule)| rule)
    }
}
