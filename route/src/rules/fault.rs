//! What is wrong with a rule, and where it was written.

use config::{RULE, RULE_TEST, Written};

/// Something wrong with a rule, one of its tests, or what hints mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub spot: Spot,
    /// Which setting there.
    pub setting: &'static str,
    /// What is wrong.
    pub text: String,
    /// What to do about it, where that can be said.
    pub hint: Option<String>,
}

/// Where a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// In a rule, by its place.
    Rule(usize),
    /// In a test, counted through all rules.
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

    /// The same with file and line.
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
