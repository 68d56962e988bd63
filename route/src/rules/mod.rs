//! Rules: the operator's actions for statements that meet conditions. Pure functions: the statement with its
//! facts, the session, the time and random numbers are the input; the decisions, each with its rule, the output.
//!
//! ```text
//!  config::RuleConfig ──► compile ──► Rules ──┬─ judge(Occasion) ──► Judgement   what is to be done
//!                            │                ├─ Counters            how often each has matched
//!                            │                └─ run_tests           what the file expects of them
//!                            └─► Fault, warnings
//!  text + facts ──► Hints     the routing hints in the statement's comments
//!  key + time ──► Rates, Gates     whether it may go now
//! ```
//!
//! Rules are evaluated in their order. The first rule that matches decides, unless it lets later rules set
//! what it does not set (`stop = false`), or is only counted (`dry_run`). Rules with digests are found by hash, so
//! that a thousand of them cost as much as one. The other rules have a small prefilter each, which quickly
//! excludes most of them.

mod actions;
mod closely;
mod compile;
mod condition;
mod counters;
mod digest_entry;
mod fault;
mod gates;
mod hints;
mod index;
mod injection;
mod judge;
mod kinds;
mod names;
mod needle;
mod needs;
mod occasion;
mod pattern;
mod profiling;
mod rates;
mod record;
mod rewrite;
mod rule;
mod rule_effects;
mod rule_index;
mod rule_list;
mod shadow;
mod tables;
mod tags;
mod trial;

pub use actions::{Actions, Limit, Reply, RuleRoute};
pub use compile::Compiled;
pub use condition::Condition;
pub use counters::{Counters, Tally};
pub use fault::{Fault, Spot};
pub use gates::{Entrance, Gates};
pub use hints::{HintRules, Hints};
pub use injection::{Injected, Injection, Purpose};
pub use judge::{By, JudgedRoute, Judgement, Limited, Matched, SessionOrders};
pub use needs::Needs;
pub use occasion::{Attribute, Chance, Client, LocalTime, Occasion};
pub use profiling::Profiling;
pub use rates::{Admission, KEYS_MAX, Rates};
pub use record::{Outcome, Record, RuleRecorder, Seen, Unsure};
pub use rewrite::Rewritten;
pub use rule::{Rule, Then};
pub use rule_effects::RuleEffect;
pub use rule_index::RuleIndex;
pub use rule_list::Rules;
pub use tables::Tables;
pub use tags::TAG_BYTES_MAX;

#[cfg(test)]
mod tests;
