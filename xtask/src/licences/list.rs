//! The file that says which licences are allowed, and what else the program is made of.

use std::path::Path;

use toml::{Table, Value};

use crate::read;

/// packaging/licences.toml.
pub struct List(Table);

impl List {
    /// Where it is, from the repository's folder.
    pub const FILE: &str = "packaging/licences.toml";

    /// Reads it.
    pub fn read(root: &Path) -> Result<Self, Vec<String>> {
        let text = read(&root.join(Self::FILE))?;
        let table = text
            .parse()
            .map_err(|error| vec![format!("{}: {error}", Self::FILE)])?;
        Ok(Self(table))
    }

    /// The licences that are allowed.
    pub fn allowed(&self) -> Vec<String> {
        let names = self.0.get("allowed").and_then(Value::as_array);
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    }

    /// The crate that has the text of another crate's licence.
    pub fn text_of(&self, package: &str) -> Option<&str> {
        self.0.get("texts")?.get(package)?.as_str()
    }

    /// The tables of the parts that are no crate.
    pub fn parts(&self) -> &[Value] {
        let parts = self.0.get("part").and_then(Value::as_array);
        parts.map_or(&[], Vec::as_slice)
    }
}
