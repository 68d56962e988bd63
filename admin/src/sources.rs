//! Where the admin ports look.

use std::sync::Arc;

use replication::Streams;
use worker::DataPlaneHandle;

use crate::editor::Editor;
use crate::table_input::PortFacts;
use history::{Facts, facts_of};

/// What the admin ports show.
#[derive(Clone)]
pub struct Sources {
    /// The data plane.
    pub data_plane: DataPlaneHandle,
    /// Who keeps the configuration.
    pub editor: Editor,
    /// Where the digests' history is.
    pub history: Facts,
    /// The clusters that are followed.
    pub streams: Arc<Streams>,
}

impl Sources {
    /// What is to be known beside the data plane, of ports that are not open.
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
