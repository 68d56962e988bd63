//! A configuration's text while it is edited: settings are set, tables are added and removed. The comments and
//! the order of the file stay. A draft checks each value alone. The whole is checked as any file,
//! by loading it.

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

/// A draft, see the module.
#[derive(Clone)]
pub struct Draft {
    path: Option<PathBuf>,
    text: Zeroizing<String>,
}

impl Draft {
    /// Reads a file's text as a draft.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of_file(path: &Path) -> Result<Self, Fault> {
        Ok(Self {
            path: Some(path.to_owned()),
            text: read_text(path)?,
        })
    }

    /// A draft of a configuration that is in no file.
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

    /// The settings of the text, without a check whether they fit together.
    ///
    /// # Errors
    /// Every invalid value.
    pub fn sketch(&self) -> Result<Config, Vec<Fault>> {
        Config::sketch(self.path(), self.text())
    }
}

#[cfg(test)]
mod tests;
