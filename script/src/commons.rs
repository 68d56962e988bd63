//! What all interpreters of a process have together, and what is known of its scripts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use system::Clock;

use crate::dictionary::Dictionary;
use crate::metrics::Metrics;

/// See the module.
#[derive(Debug)]
pub struct Commons {
    /// `pilotfish.shared`.
    pub dictionary: Arc<Dictionary>,
    /// What scripts count.
    pub metrics: Arc<Metrics>,
    files: Mutex<BTreeMap<PathBuf, FileFacts>>,
}

/// What has become of a script so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileFacts {
    /// Sessions for which its body has run.
    pub sessions: u64,
    /// Sessions that were refused since it could not be read or its body has raised an error.
    pub refused: u64,
    /// Hooks and timers of its that have ended with an error.
    pub faults: u64,
    /// The last error.
    pub last_fault: String,
}

impl Commons {
    /// For interpreters whose dictionary takes so many bytes. By this clock its entries expire.
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
        // A panic while it was locked leaves whole facts only.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileFacts {
    pub(crate) fn failed(&mut self, cause: &str) {
        self.faults += 1;
        cause.clone_into(&mut self.last_fault);
    }
}
