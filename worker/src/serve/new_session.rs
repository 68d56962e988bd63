//! The parts that a session has from the moment its client connects.

use std::rc::Rc;
use std::sync::Arc;

use config::ListenerConfig;

use crate::worker::Worker;
use backend::settings::Settings;
use registry::worker_sessions::Registered;
use relay::relay_env::SessionContext;

/// A session whose client is about to log in.
#[derive(Clone, Copy)]
pub(super) struct NewSession<'a> {
    pub worker: &'a Rc<Worker>,
    pub registered: &'a Registered,
    pub settings: &'a Arc<Settings>,
    pub listener: &'a Arc<ListenerConfig>,
}

impl<'a> NewSession<'a> {
    /// Returns the context that the session has from its beginning.
    pub fn context(&self) -> SessionContext<'a> {
        SessionContext {
            env: &self.worker.relay,
            control: &self.registered.control,
            settings: self.settings,
        }
    }
}
