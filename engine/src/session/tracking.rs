//! What a client is told of changes of its session state (`session_track_…`), and what the backend has told.

use std::rc::Rc;

use session::state::Changes;

use sql::Facts;

use ::session::track_settings::{self, SessionTrackSettings};

/// What the client wants to be told of changes, and what has changed.
#[derive(Default)]
pub(crate) struct Tracking {
    /// What a server would tell the client; unknown before the first connection.
    pub settings: Option<Rc<SessionTrackSettings>>,
    /// The settings that the next statement has to see on its connection, because it reads them.
    pub shows: Option<Rc<SessionTrackSettings>>,
    /// The connection tells what the client wants to hear, and no more.
    pub has_shown: bool,
    /// Settings that the client has changed, and whose values have to be asked for.
    pub unseen: Vec<Box<[u8]>>,
    /// The session has prepared a statement that sets what the client is told.
    pub prepares_settings: bool,
    /// What the last exchange has changed, as the server told it.
    pub changes: Changes,
}

impl Tracking {
    /// The connection told what the client wants to hear for one statement. From now on it tells the proxy all again.
    pub(crate) fn note_shown(&mut self) {
        if std::mem::take(&mut self.has_shown) {
            self.unseen.push(Box::from(&b""[..]));
        }
    }

    /// Notes which of the client's `session_track_` settings a statement may have changed. `sets`: it has set variables.
    pub(crate) fn note_settings(&mut self, facts: &Facts, text: &[u8], sets: bool, is_ok: bool) {
        if sets && is_ok {
            let settings = track_settings::settings_of(facts, text, &self.changes);
            if !settings.is_empty() {
                self.unseen = settings;
            }
        }
        if track_settings::prepares_settings(facts, text) {
            self.prepares_settings = true;
        }
        if self.prepares_settings && is_ok && track_settings::runs_prepared(facts) {
            self.unseen.push(Box::from(track_settings::ANY));
        }
    }
}
