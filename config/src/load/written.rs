//! The places where settings were written, for faults that are found later.

use std::collections::HashMap;

use crate::{Fault, SourceLocation};

/// Where each setting was written, and under which name, for faults that concern several settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub(super) locations: HashMap<String, (SourceLocation, String)>,
    pub(super) whole: SourceLocation,
}

impl Written {
    /// A fault of a setting, at the setting's place, or at the whole file if the setting was not written.
    pub fn fault(&self, setting: &str, text: impl Into<String>) -> Fault {
        match self.locations.get(setting) {
            Some((location, name)) => Fault::new(location.clone(), name, text),
            None => Fault::new(self.whole.clone(), setting, text),
        }
    }

    /// Whether a setting was written.
    pub(crate) fn has(&self, setting: &str) -> bool {
        self.locations.contains_key(setting)
    }

    /// A fault that concerns no single setting.
    pub(crate) fn general(&self, text: impl Into<String>) -> Fault {
        Fault::general(self.whole.clone(), text)
    }

    /// The key of a setting of a list's table.
    ///
    /// Indices of tables below other tables count through the whole list: `rule.test[7].statement`.
    pub fn of(list: &str, index: usize, key: &str) -> String {
        format!("{list}[{index}].{key}")
    }
}
