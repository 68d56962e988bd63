//! The data that all interpreters of a process share, and the facts about its scripts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use system::Clock;

use crate::dictionary::Dictionary;
use crate::metrics::Metrics;

/// The shared data, see the module.
#[derive(Debug)]
pub struct Commons {
    /// `pilotfish.shared`.
    pub dictionary: Arc<Dictionary>,
    /// The metrics of scripts.
    pub metrics: Arc<Metrics>,
    files: Mutex<BTreeMap<PathBuf, FileFacts>>,
}

/// The history of a script file so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileFacts {
    /// Sessions for which the script's body has run.
    pub sessions: u64,
    /// Sessions that were refused because the script could not be read, or its body has raised an error.
    pub refused: u64,
    /// Calls of the script's hooks and timers that have ended with an error.
    pub faults: u64,
    /// The last error.
    pub last_fault: String,
}

impl Commons {
    /// Shared data with a dictionary of at most this many bytes. The entries expire by this clock.
    pub fn new(dictionary_bytes_max: usize, clock: Clock) -> Self {
        Self {
            dictionary: Arc::new(Dictionary::new(dictionary_bytes_max, clock)),
            metrics: Arc::default(),
            files: Mutex::default(),
        }
    }

    /// The scripts that sessions have run, by name.
    pub fn files(&self) -> Vec<(PathBuf, FileFacts)> {
        let files = self.lock();
        let pairs = files.iter();
        pairs.map(|(file, it)| (file.clone(), it.clone())).collect()
    }

    pub(crate) fn note(&self, file: &Path, note: impl FnOnce(&mut FileFacts)) {
        let mut files = self.lock();
        match files.get_mut(file) {
            Some(facts) => note(facts),
            None => note(files.entry(file.to_owned()).or_default()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, FileFacts>> {
        // A panic under the lock leaves no half-made facts.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileFacts {
    pub(crate) fn failed(&mut self, cause: &str) {
        self.faults += 1;
        cause.clone_into(&mut self.last_fault);
    }
}
