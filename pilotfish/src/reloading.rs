//! Another configuration takes effect while the proxy runs.

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

/// What a new configuration touches.
pub struct Reloading<'a> {
    pub publish: &'a watch::Sender<Arc<Settings>>,
    /// Where backends and accounts are looked after.
    pub control: &'a Control,
    pub log: &'a Log,
    pub outlets: &'a Outlets,
    pub streams: &'a RefCell<Replication>,
}

impl Reloading<'_> {
    /// Whether this is the configuration that holds.
    pub fn is_current(&self, config: &Arc<Config>) -> bool {
        Arc::ptr_eq(&self.publish.borrow().config, config)
    }

    /// What a configuration says otherwise than what runs, and what needs a restart therefore.
    pub fn late(&self, new: &Config) -> Vec<Change> {
        let mut late = diff(&self.publish.borrow().config, new);
        late.retain(|it| it.applies == Applies::AtRestart);
        late
    }

    /// Whether a configuration could take effect.
    ///
    /// # Errors
    /// What is faulty about it.
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

    /// Has a configuration take effect as a whole, but for what needs a restart.
    ///
    /// # Errors
    /// What is faulty about it; then the old one stays.
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
        // At once: who begins now is to find the new accounts and the new settings.
        self.publish.send_replace(Arc::new(settings));
        self.outlets.journals.reopen();
        if let Err(error) = self.log.reload(&reloaded.log) {
            tracing::error!(%error, "reload: the proxy cannot open the log and writes to the old file");
        }
        Ok(())
    }

    /// Has files of logs closed and opened again, which may have been moved.
    ///
    /// # Errors
    /// The log cannot be opened; the old file is written on.
    pub fn reopen_logs(&self) -> Result<(), String> {
        self.outlets.journals.reopen();
        let opened = self.log.reopen();
        opened.map_err(|error| format!("The log cannot be opened: {error}"))
    }
}
