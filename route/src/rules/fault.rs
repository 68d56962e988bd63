//! A fault in a rule, and its place in the configuration.

use config::{RULE, RULE_TEST, Written};

/// A fault in a rule, in one of its tests, in the hint settings, or in the profiling settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The section.
    pub spot: Spot,
    /// The setting in that section.
    pub setting: &'static str,
    /// The description of the fault.
    pub text: String,
    /// The remedy for the operator, if known.
    pub hint: Option<String>,
}

/// The section of the configuration that has the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// A rule, by its index.
    Rule(usize),
    /// A test; tests are numbered through all rules.
    Test(usize),
    /// In `[hints]`.
    Hints,
    /// In `[profiling]`.
    Profiling,
}

impl Fault {
    pub(crate) fn rule(index: usize, setting: &'static str, text: impl Into<String>) -> Self {
        Self {
            spot: Spot::Rule(index),
            setting,
            text: text.into(),
            hint: None,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the fault with file and line.
    pub fn placed(&self, written: &Written) -> config::Fault {
        let key = match self.spot {
            Spot::Rule(index) => Written::of(RULE.name, index, self.setting),
            Spot::Test(index) => Written::of(RULE_TEST.name, index, self.setting),
            Spot::Hints => format!("hints.{}", self.setting),
            Spot::Profiling => format!("profiling.{}", self.setting),
        };
        let fault = written.fault(&key, self.text.clone());
        match &self.hint {
            Some(hint) => fault.hint(hint.clone()),
            None => fault,
        }
    }
}
