//! The sources of the data that the admin ports show.

use std::sync::Arc;

use replication::Streams;
use worker::DataPlaneHandle;

use crate::editor::Editor;
use crate::table_input::PortFacts;
use history::{Facts, facts_of};

/// The sources of the data.
#[derive(Clone)]
pub struct Sources {
    /// The data plane.
    pub data_plane: DataPlaneHandle,
    /// Sends changes to the owner of the configuration.
    pub editor: Editor,
    /// Where the digests' history is kept.
    pub history: Facts,
    /// The clusters that are followed.
    pub streams: Arc<Streams>,
}

impl Sources {
    /// The facts that the data plane does not have, for ports that are not open.
    pub fn facts(&self) -> PortFacts {
        PortFacts {
            events: Arc::clone(self.editor.events()),
            history: facts_of(&self.history),
            streams: Arc::clone(&self.streams),
            addresses: Vec::new(),
            clients: 0,
            http_addresses: Vec::new(),
            callers: 0,
        }
    }
}
