//! The variables that a replica has set.

use std::collections::HashMap;

/// How many variables a replica may set.
const VARIABLES_MAX: usize = 64;

/// The variables of a replica's session, by lower-case names with `@`.
#[derive(Default)]
pub struct Variables(HashMap<String, String>);

impl Variables {
    /// Returns the value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Sets a variable. Returns false if there are too many.
    pub fn set(&mut self, name: String, value: String) -> bool {
        if self.0.len() >= VARIABLES_MAX && !self.0.contains_key(&name) {
            return false;
        }
        self.0.insert(name, value);
        true
    }
}
