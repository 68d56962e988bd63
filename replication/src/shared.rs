//! What all streams of a process share.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use config::{Config, ReplicationConfig};
use control::BackendClient;
use net::watch;
use route::{Backend, Topology};
use system::System;

use crate::error::StreamError;
use crate::store::Store;
use crate::transaction_changes::Origins;

/// The data that all streams of a process share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub config: Arc<Config>,
    pub topology: watch::Receiver<Arc<Topology>>,
    pub store: Rc<RefCell<Store>>,
    /// Notified when changes were written to the store.
    pub written: Arc<watch::Sender<()>>,
    pub system: System,
    /// Finds the user and the client's host of a statement in a binary log.
    pub origins: Origins,
}

impl Shared {
    /// Logs in as the account of a stream.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses the account.
    pub async fn log_in(
        &self,
        settings: &ReplicationConfig,
        backend: &Backend,
    ) -> Result<BackendClient, StreamError> {
        let account = (settings.user.as_str(), settings.password.as_ref());
        let entropy = &self.system.entropy;
        Ok(BackendClient::log_in(&self.config, account, backend, entropy).await?)
    }
}
