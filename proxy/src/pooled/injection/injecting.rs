//! What is sent before and behind one statement, and what has come of it.

use std::sync::Arc;
use std::time::Duration;

use route::rules::{By, Injection, Profiling, RuleIndex};

use backend::injected_results::Found;
use backend::rule_set::RuleSet;

/// What is sent around the command of the moment, and what has come of it.
pub(crate) struct Injecting {
    pub injection: Arc<Injection>,
    /// Whose wish it is; none: the statement is profiled.
    pub rule: Option<RuleIndex>,
    name: Arc<str>,
    pub tag: Option<Box<str>>,
    pub before: Vec<Found>,
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
    pub has_begun: bool,
    /// It has left something in the list of warnings.
    pub has_warned: bool,
}

impl Injecting {
    pub(crate) fn new(rule_set: &RuleSet, by: By<&Arc<Injection>>, tag: Option<&str>) -> Self {
        let rule = rule_set.compiled.rules.rule(by.rule);
        let name = rule.map(|rule| Arc::clone(&rule.name)).unwrap_or_default();
        Self {
            rule: Some(by.rule),
            tells_values: true,
            ..Self::of(by.value, name, tag)
        }
    }

    /// Around a statement that is profiled; `name`: who has chosen it.
    pub(crate) fn profile(profiling: &Profiling, name: Arc<str>, tag: Option<&str>) -> Self {
        Self {
            tells_values: profiling.values,
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
            has_begun: false,
            has_warned: false,
        }
    }

    /// Whether the statement is profiled.
    pub(crate) fn is_profile(&self) -> bool {
        self.rule.is_none()
    }

    /// The rule's name, or who has chosen the statement.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// It is sent again, over another connection.
    pub(super) fn begin_anew(&mut self) {
        self.before.clear();
        self.undo.clear();
        (self.has_begun, self.has_warned) = (false, false);
    }
}
