//! The statements that are sent before and after one statement, and their results.

use std::sync::Arc;
use std::time::Duration;

use route::rules::{By, Injection, Profiling, RuleIndex};

use backend::injected_results::Found;
use backend::rule_set::RuleSet;

/// The statements that are sent around the current command, and their results.
pub struct Injecting {
    /// The statements that are sent.
    pub injection: Arc<Injection>,
    /// The rule that wants this. `None`: the statement is profiled.
    pub rule: Option<RuleIndex>,
    name: Arc<str>,
    /// The rule's tag.
    pub tag: Option<Box<str>>,
    /// The results of the statements before it.
    pub before: Vec<Found>,
    /// The results of the statements after it.
    pub after: Vec<Found>,
    /// Whether the report may contain values.
    pub tells_values: bool,
    /// The number of statements that were sent.
    pub sent: u32,
    /// The time that all of these took.
    pub spent: Duration,
    /// The assignments that set variables back.
    pub undo: Vec<(Box<str>, Vec<u8>)>,
    /// An injected read has begun a transaction.
    pub has_started_transaction: bool,
    /// An injected statement has left entries in the warning list.
    pub has_warned: bool,
}

impl Injecting {
    /// The statements that this rule sends around a statement.
    #[inline]
    pub fn new(rule_set: &RuleSet, by: By<&Arc<Injection>>, tag: Option<&str>) -> Self {
        let rule = rule_set.compiled.rules.rule(by.rule);
        let name = rule.map(|rule| Arc::clone(&rule.name)).unwrap_or_default();
        Self {
            rule: Some(by.rule),
            tells_values: true,
            ..Self::of(by.value, name, tag)
        }
    }

    /// The statements around a statement that is profiled; `name`: what has chosen the statement.
    #[inline]
    pub fn profile(profiling: &Profiling, name: Arc<str>, tag: Option<&str>) -> Self {
        Self {
            tells_values: profiling.include_values,
            ..Self::of(&profiling.injection, name, tag)
        }
    }

    fn of(injection: &Arc<Injection>, name: Arc<str>, tag: Option<&str>) -> Self {
        Self {
            injection: Arc::clone(injection),
            rule: None,
            name,
            tag: tag.map(Box::from),
            before: Vec::new(),
            after: Vec::new(),
            tells_values: false,
            sent: 0,
            spent: Duration::ZERO,
            undo: Vec::new(),
            has_started_transaction: false,
            has_warned: false,
        }
    }

    /// Whether the statement is profiled.
    #[inline]
    pub fn is_profile(&self) -> bool {
        self.rule.is_none()
    }

    /// The rule's name, or the name of what has chosen the statement.
    #[inline]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Begins anew, because the command is sent again over another connection.
    #[inline]
    pub fn begin_anew(&mut self) {
        self.before.clear();
        self.undo.clear();
        (self.has_started_transaction, self.has_warned) = (false, false);
    }
}
