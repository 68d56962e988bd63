//! What a client is told of changes of its session state (`session_track_…`), and what the backend has told.

use std::rc::Rc;

use session::state::Changes;

use super::session_track_settings::Sight;

/// What the client wants to be told of changes, and what has changed.
#[derive(Default)]
pub(crate) struct Tracking {
    /// What a server would tell the client; unknown before the first connection.
    pub settings: Option<Rc<Sight>>,
    /// The settings that the next statement has to see on its connection, because it reads them.
    pub shows: Option<Rc<Sight>>,
    /// The connection tells what the client wants to hear, and no more.
    pub has_shown: bool,
    /// Settings that the client has changed, and whose values have to be asked for.
    pub unseen: Vec<Box<[u8]>>,
    /// The session has prepared a statement that sets what the client is told.
    pub prepares_settings: bool,
    /// What the last exchange has changed, as the server told it.
    pub changes: Changes,
}
