//! Applies another configuration while the proxy runs.

use std::cell::RefCell;
use std::sync::Arc;

use config::{Applies, Change, Config, diff};
use control::Control;
use net::watch;
use replication::Replication;
use worker::Settings;

use crate::logging::Log;
use crate::outlets::Outlets;
use crate::snapshot::{reload_certificates, snapshot};

/// The parts that a new configuration affects.
pub struct Reloading<'a> {
    pub publish: &'a watch::Sender<Arc<Settings>>,
    /// The control plane, for backends and accounts.
    pub control: &'a Control,
    pub log: &'a Log,
    pub outlets: &'a Outlets,
    pub streams: &'a RefCell<Replication>,
}

impl Reloading<'_> {
    /// Whether this is the configuration in effect.
    pub fn is_current(&self, config: &Arc<Config>) -> bool {
        Arc::ptr_eq(&self.publish.borrow().config, config)
    }

    /// The changes in a configuration that need a restart.
    pub fn late(&self, new: &Config) -> Vec<Change> {
        let mut late = diff(&self.publish.borrow().config, new);
        late.retain(|it| it.applies == Applies::AtRestart);
        late
    }

    /// Whether a configuration could be applied.
    ///
    /// # Errors
    /// The faults of the configuration.
    pub fn check(&self, new: &Config) -> Result<(), Vec<String>> {
        let before = Arc::clone(&self.publish.borrow());
        let reloaded = Arc::new(before.config.reloaded(new));
        let told = snapshot(Arc::clone(&reloaded), Some(&before));
        told.map_err(|error| vec![error])?;
        let faulty = self.control.check(&reloaded).err();
        match faulty {
            Some(faulty) => Err(faulty.iter().map(ToString::to_string).collect()),
            None => Ok(()),
        }
    }

    /// Applies a configuration as a whole, except for changes that need a restart.
    ///
    /// # Errors
    /// The faults of the configuration; then the old one stays in effect.
    pub fn apply(&self, new: &Config) -> Result<(), Vec<String>> {
        let before = Arc::clone(&self.publish.borrow());
        let reloaded = Arc::new(before.config.reloaded(new));
        let settings =
            snapshot(Arc::clone(&reloaded), Some(&before)).map_err(|error| vec![error])?;
        reload_certificates(&settings);
        let faulty = self.control.reconfigure(Arc::clone(&reloaded)).err();
        if let Some(faulty) = faulty {
            return Err(faulty.iter().map(ToString::to_string).collect());
        }
        let keeps_history = !reloaded.replications.is_empty();
        self.outlets.origins.want(keeps_history);
        if let Err(error) = self.streams.borrow_mut().apply(&reloaded) {
            tracing::error!(%error, "the proxy cannot open the schema history and follows no cluster; correct the cause and reload");
        }
        // Published now, because a session that begins from here on must see the new accounts and the new settings.
        self.publish.send_replace(Arc::new(settings));
        self.outlets.journals.reopen();
        if let Err(error) = self.log.reload(&reloaded.log) {
            tracing::error!(%error, "reload: the proxy cannot open the log and writes to the old file");
        }
        Ok(())
    }

    /// Closes the log files, which may have been moved, and opens them again.
    ///
    /// # Errors
    /// The log cannot be opened; the log continues in the old file.
    pub fn reopen_logs(&self) -> Result<(), String> {
        self.outlets.journals.reopen();
        let opened = self.log.reopen();
        opened.map_err(|error| format!("The log cannot be opened: {error}"))
    }
}
