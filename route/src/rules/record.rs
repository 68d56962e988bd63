//! What was seen of each rule that was looked at, for those who want to know.

use sql::Doubts;

use super::condition::Condition;
use super::rule::{Rule, Then};
use super::rule_index::RuleIndex;
use super::rule_list::Rules;

/// Learns of each rule that is looked at. `()` does not listen, and costs nothing.
pub trait RuleRecorder {
    /// Whether every rule is to be looked at one by one, rather than those only that an index finds.
    const LISTENS: bool;

    /// A rule was evaluated, with this outcome.
    fn note_outcome(&mut self, index: RuleIndex, rule: &Rule, outcome: Outcome<'_>);
}

/// What came of looking at a rule.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'r> {
    /// All of its conditions hold.
    Matched(Then),
    /// This condition does not.
    Failed(&'r Condition),
    /// It cannot be known whether they do.
    Unsure(Unsure<'r>),
}

/// What becomes of a statement that is not understood, under a rule that it might match.
#[derive(Clone, Copy, Debug)]
pub enum Unsure<'r> {
    /// It is refused.
    Refused(Doubts),
    /// The rule does nothing: as far as the statement is understood, this condition does not hold.
    Passed(Doubts, &'r Condition),
}

impl RuleRecorder for () {
    const LISTENS: bool = false;

    fn note_outcome(&mut self, _: RuleIndex, _: &Rule, _: Outcome<'_>) {}
}

/// Keeps what was seen of each rule, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Each rule that was looked at.
    pub rules: Vec<Seen>,
}

/// What was seen of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Which.
    pub rule: RuleIndex,
    /// Its name.
    pub name: String,
    /// The condition that does not hold; none when it has matched.
    pub failed: Option<&'static str>,
    /// In words: `matches: user, tables; stops`, `passes: not of this schema`.
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
    /// The rules behind the last one that was looked at, which were not asked.
    pub fn unasked<'r>(&self, rules: &'r Rules) -> impl Iterator<Item = &'r Rule> {
        let from = self.rules.last().map_or(0, |seen| seen.rule.0 as usize + 1);
        rules.iter().skip(from).map(|(_, rule)| rule)
    }
}
