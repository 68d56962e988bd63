//! The place of the history: the file of the settings, a file in the state directory, or memory.

use std::path::PathBuf;

use config::{HistoryStorage, StatementStatsConfig};

/// The file's name in the state directory.
const FILE: &str = "history.db";

/// The variable in which a service manager names the directories that it has created for the service, separated by
/// colons (systemd.exec(5), `StateDirectory`).
const VARIABLE: &str = "STATE_DIRECTORY";

/// The state directory of the service, if there is one.
#[derive(Debug, Clone, Default)]
pub struct StateFolder(Option<PathBuf>);

impl StateFolder {
    /// Returns the first directory in the environment variable.
    pub fn of_environment() -> Self {
        let named = std::env::var_os(VARIABLE).unwrap_or_default();
        Self::first_of(&named.to_string_lossy())
    }

    /// Returns the first of these directories, which are separated by colons.
    pub fn first_of(named: &str) -> Self {
        let first = named.split(':').next().unwrap_or_default();
        Self((!first.is_empty()).then(|| PathBuf::from(first)))
    }

    /// Returns the file of the history; none if the history is in memory.
    pub fn file(&self, config: &StatementStatsConfig) -> Option<PathBuf> {
        match config.history {
            HistoryStorage::Memory => None,
            HistoryStorage::File => {
                let own = || self.0.as_ref().map(|folder| folder.join(FILE));
                config.history_file.clone().or_else(own)
            }
        }
    }

    /// Whether the file is in the state directory and not named in the settings. Then memory may replace the file.
    pub fn is_own(&self, config: &StatementStatsConfig) -> bool {
        config.history == HistoryStorage::File && config.history_file.is_none() && self.0.is_some()
    }

    /// Stops using the state directory.
    pub fn give_up(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_go_before_the_state_directory_and_memory_before_both() {
        let of = |place, file: Option<&str>| StatementStatsConfig {
            history: place,
            history_file: file.map(PathBuf::from),
            ..StatementStatsConfig::default()
        };
        let file = |named: &str, config: &StatementStatsConfig| {
            let file = StateFolder::first_of(named).file(config);
            file.map(|file| file.display().to_string())
        };
        let set = of(HistoryStorage::File, Some("/a/h.db"));
        assert_eq!(file("/s:/t", &set).as_deref(), Some("/a/h.db"));
        let unset = of(HistoryStorage::File, None);
        assert_eq!(file("/s:/t", &unset).as_deref(), Some("/s/history.db"));
        assert_eq!(file("", &unset), None);
        assert_eq!(file("/s", &of(HistoryStorage::Memory, None)), None);
        assert!(StateFolder::first_of("/s").is_own(&unset));
        assert!(!StateFolder::first_of("/s").is_own(&set));
    }
}
