//! A configuration's text while it is being changed: the file's own, whose comments and order stay, with
//! settings set and tables added and taken out. Whether the whole is right is found as for any file, by
//! loading it; here each value is looked at on its own.

mod document;
mod edit;
mod faults;
mod lists;
mod pen;
mod spelled;

use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::load::read_text;
use crate::{Config, Fault, manual};
pub use edit::Edit;

/// See the module.
#[derive(Clone)]
pub struct Draft {
    path: Option<PathBuf>,
    text: Zeroizing<String>,
}

impl Draft {
    /// A file's text.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of_file(path: &Path) -> Result<Self, Fault> {
        Ok(Self {
            path: Some(path.to_owned()),
            text: read_text(path)?,
        })
    }

    /// A configuration that stands in no file.
    pub fn of_config(config: &Config) -> Self {
        Self {
            path: None,
            text: Zeroizing::new(manual::exposed(config)),
        }
    }

    /// The file that it belongs to.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The text, secrets included.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it says, whether it fits together or not.
    ///
    /// # Errors
    /// Every value that is none.
    pub fn sketch(&self) -> Result<Config, Vec<Fault>> {
        Config::sketch(self.path(), self.text())
    }
}

#[cfg(test)]
mod tests;
