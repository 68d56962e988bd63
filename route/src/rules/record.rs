//! What was seen of each rule that was looked at, for those who want to know.

use super::{Condition, Rule, RuleIndex, Rules, Then};

/// Hears of each rule that is looked at. `()` does not listen, and costs nothing.
pub trait Recorder {
    /// Whether every rule is to be looked at one by one, rather than those only that an index finds.
    const LISTENS: bool;

    /// A rule was looked at.
    fn looked(&mut self, index: RuleIndex, rule: &Rule, outcome: Outcome<'_>);
}

/// What came of looking at a rule.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'r> {
    /// All of its conditions hold.
    Matched(Then),
    /// This condition does not.
    Failed(&'r Condition),
}

impl Recorder for () {
    const LISTENS: bool = false;

    fn looked(&mut self, _: RuleIndex, _: &Rule, _: Outcome<'_>) {}
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

impl Recorder for Record {
    const LISTENS: bool = true;

    fn looked(&mut self, index: RuleIndex, rule: &Rule, outcome: Outcome<'_>) {
        let (failed, why) = match outcome {
            Outcome::Failed(condition) => (
                Some(condition.name()),
                format!("{condition} does not match"),
            ),
            Outcome::Matched(then) => (None, matched(rule, then)),
        };
        self.rules.push(Seen {
            rule: index,
            name: rule.name.to_string(),
            failed,
            why,
        });
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
        Then::Watch => "it only watches",
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
