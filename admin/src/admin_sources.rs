//! The data that the admin ports show.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use replication::Streams;
use worker::DataPlaneHandle;

use crate::authenticator::Authenticator;
use crate::editor::Editor;
use crate::sources::Sources;
use crate::table_input::PortFacts;
use history::History;

/// The data that the admin ports show, with the ports' own counts.
#[derive(Clone)]
pub struct AdminSources {
    /// The data of the proxy.
    pub sources: Sources,
    /// The ports' own counts, while the ports are open.
    ports: OpenPorts,
}

/// Set when the ports open.
type OpenPorts = Arc<Mutex<Weak<Authenticator>>>;

impl AdminSources {
    /// The data sources, before the ports open.
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

    /// The facts about the ports themselves, and others that the data plane does not have. Closed ports have no
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
