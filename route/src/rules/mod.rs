//! Rules: what the operator wants done about which statements. Pure: the statement with its facts,
//! the session, the time and a throw of dice go in; what was decided, and by which rule, comes out.
//!
//! ```text
//!  config::RuleConfig ──► compile ──► Rules ──┬─ judge(Occasion) ──► Judgement   what is to be done
//!                            │                ├─ Counters            how often each has matched
//!                            │                └─ run_tests           what the file expects of them
//!                            └─► Fault, warnings
//!  text + facts ──► Hints     what the statement says itself
//!  key + time ──► Rates, Gates     whether it may go now
//! ```
//!
//! Rules are looked at in their order. The first that matches decides, unless it lets others fill in
//! what it leaves open (`stop = false`), or only watches. Rules with digests are found by hash, so
//! that a thousand of them cost what one does; of the others a few words each say quickly that they
//! are not meant.

mod actions;
mod closely;
mod compile;
mod condition;
mod counters;
mod fault;
mod gates;
mod hints;
mod index;
mod injection;
mod judge;
mod kinds;
mod names;
mod needle;
mod occasion;
mod pattern;
mod profiling;
mod rates;
mod record;
mod rewrite;
mod rule_effects;
mod shadow;
mod tables;
mod tags;
mod trial;

use std::sync::Arc;

use config::WhenUnsure;

pub use actions::{Actions, Limit, Reply};
pub use compile::Compiled;
pub use condition::Condition;
pub use counters::{Counters, Tally};
pub use fault::{Fault, Spot};
pub use gates::{Entrance, Gates};
pub use hints::{HintRules, Hints};
pub use injection::{Injected, Injection, Purpose};
pub use judge::{By, Judgement, Limited, Matched};
pub use occasion::{Attribute, Chance, Client, LocalTime, Occasion};
pub use profiling::Profiling;
pub use rates::{Admission, KEYS_MAX, Rates};
pub use record::{Outcome, Record, RuleRecorder, Seen, Unsure};
pub use rewrite::Rewritten;
pub use rule_effects::RuleEffect;
pub use tables::Tables;
pub use tags::TAG_BYTES_MAX;

use index::Index;

/// Which of the rules, by its place in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleIndex(pub u32);

/// All rules, ready to be asked. Immutable; workers share them.
#[derive(Debug, Default)]
pub struct Rules {
    rules: Vec<Rule>,
    index: Index,
}

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
    seed: u64,
}

/// What happens when a rule has matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Its actions hold, and no rule behind it is looked at.
    Stop,
    /// Its actions hold; rules behind it fill in what it leaves open.
    Continue,
    /// It is counted, and nothing is done.
    Watch,
}

/// What must be known of a statement so that rules can be asked about it, besides its facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Needs {
    /// Its digest. Where there is none, it is made for the rules alone.
    pub digest: bool,
    /// Its query attributes.
    pub attributes: bool,
    /// The local time.
    pub time: bool,
}

impl Rules {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// In their order.
    pub fn iter(&self) -> impl Iterator<Item = (RuleIndex, &Rule)> {
        (0..).map(RuleIndex).zip(&self.rules)
    }

    /// One of them.
    pub fn rule(&self, index: RuleIndex) -> Option<&Rule> {
        self.rules.get(index.0 as usize)
    }

    /// What they look at.
    pub fn needs(&self) -> Needs {
        self.index.needs()
    }
}

#[cfg(test)]
mod tests;
