//! From a file and the options of the command line to a [`Config`], or to every fault in them.

mod open_secrets;
mod options;
mod reading;
pub(crate) mod written;

use std::path::Path;

pub use options::{Override, PRIMARIES, REPLICAS};
use reading::Reading;
pub(crate) use reading::read_text;
pub use written::Written;

use crate::{Config, Fault, check, model};

/// A configuration without a fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// Warnings for the log, which are no faults.
    pub warnings: Vec<Fault>,
    /// Where each setting was written, for faults that are found later.
    pub written: Written,
}

impl Config {
    /// Reads the file, if any, then the overrides, fills in the defaults and checks the whole.
    ///
    /// It also reads the files that settings name (certificates, secrets), to check that they are readable.
    ///
    /// # Errors
    /// Every fault there is, in the order of the file.
    pub fn load(path: Option<&Path>, overrides: &[Override]) -> Result<Loaded, Vec<Fault>> {
        Self::load_and_ask(path, overrides, |_, _| Vec::new())
    }

    /// Like [`Self::load`]. If settings contradict one another, `others` is asked for further faults, so that all are
    /// reported at once. If they do not, `others` is not asked: the caller must look for these faults itself.
    ///
    /// # Errors
    /// As of [`Self::load`], and the faults that `others` finds.
    pub fn load_and_ask(
        path: Option<&Path>,
        overrides: &[Override],
        others: impl FnOnce(&Self, &Written) -> Vec<Fault>,
    ) -> Result<Loaded, Vec<Fault>> {
        let mut reading = Reading::new(path);
        let whole = path.is_none_or(|path| reading.read_file(path));
        for given in overrides {
            reading.read_override(given);
        }
        reading.finish(whole, others)
    }

    /// The same for a text that may be written to a file at `path`.
    ///
    /// # Errors
    /// As of [`Self::load_and_ask`].
    pub fn load_text(
        path: Option<&Path>,
        text: &str,
        overrides: &[Override],
        others: impl FnOnce(&Self, &Written) -> Vec<Fault>,
    ) -> Result<Loaded, Vec<Fault>> {
        let mut reading = Reading::new(path);
        let whole = reading.read_text(path.unwrap_or(Path::new("")), text);
        for given in overrides {
            reading.read_override(given);
        }
        reading.finish(whole, others)
    }

    /// Reads a text's settings. It checks each setting alone, not whether the settings fit together.
    ///
    /// # Errors
    /// Every invalid value.
    pub(crate) fn sketch(path: Option<&Path>, text: &str) -> Result<Self, Vec<Fault>> {
        let mut reading = Reading::new(path);
        reading.read_text(path.unwrap_or(Path::new("")), text);
        if reading.config.workers == 0 {
            reading.config.workers = model::cores();
        }
        match reading.faults.is_empty() {
            true => Ok(reading.config),
            false => Err(reading.faults),
        }
    }
}

impl Reading {
    fn finish(
        mut self,
        whole: bool,
        others: impl FnOnce(&Config, &Written) -> Vec<Fault>,
    ) -> Result<Loaded, Vec<Fault>> {
        self.settle_backends();
        if self.config.workers == 0 {
            self.config.workers = model::cores();
        }
        if whole && self.faults.is_empty() {
            self.faults = check::faults(&self.config, &self.written);
            if !self.faults.is_empty() {
                self.faults.extend(others(&self.config, &self.written));
            }
        } else if whole {
            self.faults
                .extend(check::faults_of_files(&self.config, &self.written));
        }
        self.faults
            .sort_by(|one, other| one.location.cmp(&other.location));
        if self.faults.is_empty() {
            self.warnings
                .extend(check::warnings(&self.config, &self.written));
            self.warnings
                .sort_by(|one, other| one.location.cmp(&other.location));
            Ok(Loaded {
                config: self.config,
                warnings: self.warnings,
                written: self.written,
            })
        } else {
            Err(self.faults)
        }
    }
}
