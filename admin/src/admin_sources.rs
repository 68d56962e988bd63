//! What is seen through the admin ports.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use replication::Streams;
use worker::DataPlaneHandle;

use crate::authenticator::Authenticator;
use crate::editor::Editor;
use crate::sources::Sources;
use crate::table_input::PortFacts;
use history::History;

/// What is seen through the ports.
#[derive(Clone)]
pub struct AdminSources {
    /// Where they look.
    pub sources: Sources,
    /// The ports' own counts, while the ports are open.
    ports: OpenPorts,
}

/// Set when the ports open.
type OpenPorts = Arc<Mutex<Weak<Authenticator>>>;

impl AdminSources {
    /// All that there is to see.
    pub fn new(
        data_plane: &DataPlaneHandle,
        editor: &Editor,
        history: &History,
        streams: &Arc<Streams>,
    ) -> Self {
        Self {
            sources: Sources {
                data_plane: data_plane.clone(),
                editor: editor.clone(),
                history: Arc::clone(history.facts()),
                streams: Arc::clone(streams),
            },
            ports: Arc::default(),
        }
    }

    /// What is to be known of the ports themselves, and beside the data plane. Ports that are not open have no
    /// address and no connection.
    pub fn facts(&self) -> PortFacts {
        match self.open_ports().upgrade() {
            Some(authenticator) => authenticator.facts(),
            None => self.sources.facts(),
        }
    }

    pub(crate) fn open_ports(&self) -> MutexGuard<'_, Weak<Authenticator>> {
        self.ports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
