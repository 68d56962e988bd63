//! Where the admin ports look.

use std::sync::Arc;

use replication::Streams;
use worker::DataPlaneHandle;

use crate::editor::Editor;
use history::Facts;

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
