//! Session tracking (`session_track_…`): which changes of its state a client is told of, and which changes the backend
//! has reported.

use std::rc::Rc;

use lanes::lane::SharedLane;
use lanes::lane_request::LaneRequest;
use session::state::Changes;
use session::track_settings::{self, SessionTrackSettings};
use sql::{Facts, Mention, Role, Server, Show, StatementKind, Uses};
use thin_vec::ThinVec;
use wire::Capabilities;
use wire::reply::OkPacket;
use wire::session_track::Change;

/// The session tracking settings of the client, and the changes by the last exchange.
#[derive(Default)]
pub struct Tracking {
    /// The client's settings, as its server would have them; unknown before the first connection.
    settings: Option<Rc<SessionTrackSettings>>,
    /// The client's settings that the next statement has to find on its connection, because it reads them.
    shows: Option<Rc<SessionTrackSettings>>,
    /// The connection reports only what the client wants to know.
    has_shown: bool,
    /// Settings that the client has changed, and whose values have to be asked for.
    unseen: ThinVec<Box<[u8]>>,
    /// The session has prepared a statement that sets session tracking variables.
    prepares_settings: bool,
    /// The changes by the last exchange, as the server has reported them.
    changes: Changes,
}

impl Tracking {
    /// The changes by the last exchange.
    #[inline]
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Takes over the changes of an exchange that ran elsewhere.
    pub fn set_changes(&mut self, changes: Changes) {
        self.changes = changes;
    }

    /// Clears the changes at the beginning of an exchange.
    #[inline]
    pub fn forget_changes(&mut self) {
        self.changes.clear();
    }

    /// Notes that the server announced changes for which the reply had no room.
    pub fn note_unsent_changes(&mut self) {
        self.changes.note_unsent_changes();
    }

    /// Notes a variable that the proxy has set for the client, as the only change.
    pub fn note_variable(&mut self, name: &[u8], value: &[u8]) {
        self.changes.clear();
        self.changes.variable(name, value);
        self.changes.state_changed();
    }

    /// The client's settings. On the first connection, they are those after a login.
    #[inline]
    pub fn settings_on(
        &mut self,
        login: &Rc<SessionTrackSettings>,
    ) -> &mut Rc<SessionTrackSettings> {
        self.settings.get_or_insert_with(|| Rc::clone(login))
    }

    /// The client's settings, if they are known, and the changes.
    #[inline]
    pub fn settings_and_changes(&mut self) -> (&Option<Rc<SessionTrackSettings>>, &mut Changes) {
        (&self.settings, &mut self.changes)
    }

    /// An OK packet with these changes, in the form that the client wants.
    pub fn ok(&mut self, ok: &OkPacket, client: Capabilities, changes: &[Change<'_>]) -> Vec<u8> {
        let settings = self.settings.get_or_insert_default();
        settings.ok(ok, client, changes)
    }

    /// Clears the changes before a statement on a lane. The lane knows the settings after a login.
    pub fn begin_on_lane(&mut self, lane: &SharedLane) {
        self.changes.clear();
        if self.settings.is_none() {
            self.settings = lane.track_settings();
        }
    }

    /// Exchanges the settings and changes with a lane, which uses them while it runs the session's statement.
    pub fn swap_with(&mut self, lane_request: &LaneRequest) {
        let settings = &mut lane_request.track_settings.borrow_mut();
        std::mem::swap(&mut self.settings, settings);
        std::mem::swap(&mut self.changes, &mut lane_request.changes.borrow_mut());
    }

    /// Whether settings have to be set or asked for on a connection that the session holds.
    pub fn needs_own_connection(&self) -> bool {
        self.shows.is_some() || self.has_unseen() || self.prepares_settings
    }

    /// Whether the server certainly reports no transactions to the client.
    pub fn reports_no_transactions(&self) -> bool {
        let settings = self.settings.as_ref();
        settings.is_some_and(|settings| !settings.tells_of_transactions()) && !self.has_unseen()
    }

    /// Whether the client has changed settings whose values have to be asked for.
    #[inline]
    pub fn has_unseen(&self) -> bool {
        !self.unseen.is_empty()
    }

    /// Takes the names of these settings, which the caller asks for now.
    pub fn take_unseen(&mut self) -> ThinVec<Box<[u8]>> {
        std::mem::take(&mut self.unseen)
    }

    /// Takes over the values of settings that the client had changed, from the connection's reply.
    pub fn learn(&mut self, server: Server, names: &[Box<[u8]>], row: &[Option<&[u8]>]) {
        if let Some(settings) = &mut self.settings {
            Rc::make_mut(settings).set(server, names, row);
        }
    }

    /// The settings that the connection has to have for the next statement, which reads them.
    #[inline]
    pub fn take_shown(&mut self) -> Option<Rc<SessionTrackSettings>> {
        let shows = self.shows.take()?;
        self.has_shown = true;
        Some(shows)
    }

    /// Whether the connection reports only what the client wants to know.
    pub fn has_shown(&self) -> bool {
        self.has_shown
    }

    /// Applies a SET of session tracking variables, because it holds for its own reply. Returns the former settings.
    pub fn apply_set(
        &mut self,
        login: &Rc<SessionTrackSettings>,
        facts: &Facts,
        text: &[u8],
    ) -> Option<Rc<SessionTrackSettings>> {
        let before = Rc::clone(self.settings_on(login));
        if facts.assignments.is_empty() && !facts.uses.has(Uses::VARIABLES) {
            return None;
        }
        if shows_settings(facts, text) {
            self.shows = Some(Rc::clone(&before));
        }
        let mut foreseen = SessionTrackSettings::clone(&before);
        foreseen.apply_set(facts, text);
        if foreseen != *before {
            self.settings = Some(Rc::new(foreseen));
        }
        Some(before)
    }

    /// Restores the former settings, because the SET has failed.
    pub fn undo_set(&mut self, before: Rc<SessionTrackSettings>) {
        self.settings = Some(before);
    }

    /// Goes back to the settings after a login.
    pub fn reset(&mut self) {
        self.settings = None;
        self.shows = None;
        self.unseen.clear();
        self.prepares_settings = false;
    }

    /// Notes that the connection has had the client's settings for one statement. Next, full reports are switched on
    /// again.
    pub fn note_shown(&mut self) {
        if std::mem::take(&mut self.has_shown) {
            self.unseen.push(Box::from(&b""[..]));
        }
    }

    /// Notes which of the client's `session_track_` settings a statement may have changed. `sets`: it has set variables.
    pub fn note_settings(&mut self, facts: &Facts, text: &[u8], sets: bool, is_ok: bool) {
        if sets && is_ok {
            let settings = track_settings::settings_of(facts, text, &self.changes);
            if !settings.is_empty() {
                self.unseen = settings.into();
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

/// Whether a statement may show session tracking variables: then it has to show the client's values, and not the
/// proxy's.
fn shows_settings(facts: &Facts, text: &[u8]) -> bool {
    let is_setting = |mention: &Mention| {
        let name = mention.name.name(text).to_ascii_lowercase();
        name.starts_with(b"session_track_")
    };
    facts.uses.has(Uses::VARIABLES)
        && (facts.kind == StatementKind::Show(Show::Variables)
            || facts.tables().next().is_some()
            || facts.mentions_of(Role::VariableRead).any(is_setting))
}
