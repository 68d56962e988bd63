//! What is sent before and behind one statement, and what has come of it.

use std::sync::Arc;
use std::time::Duration;

use route::rules::{By, Injection, Profiling, RuleIndex};

use backend::injected_results::Found;
use backend::rule_set::RuleSet;

/// What is sent around the current command, and what has come of it.
pub struct Injecting {
    /// What a rule has sent.
    pub injection: Arc<Injection>,
    /// Whose wish it is; none: the statement is profiled.
    pub rule: Option<RuleIndex>,
    name: Arc<str>,
    /// The rule's tag.
    pub tag: Option<Box<str>>,
    /// What the statements before it have found.
    pub before: Vec<Found>,
    /// What the statements behind it have found.
    pub after: Vec<Found>,
    /// Whether values may be told.
    pub tells_values: bool,
    /// How many statements were sent.
    pub sent: u32,
    /// How long all of that took.
    pub spent: Duration,
    /// Assignments that set back what was set.
    pub undo: Vec<(Box<str>, Vec<u8>)>,
    /// What was read has begun a transaction.
    pub has_started_transaction: bool,
    /// It has left something in the list of warnings.
    pub has_warned: bool,
}

impl Injecting {
    /// What this rule has sent around a statement.
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

    /// Around a statement that is profiled; `name`: who has chosen it.
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

    /// The rule's name, or who has chosen the statement.
    #[inline]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// It is sent again, over another connection.
    #[inline]
    pub fn begin_anew(&mut self) {
        self.before.clear();
        self.undo.clear();
        (self.has_started_transaction, self.has_warned) = (false, false);
    }
}
