//! How a backend's answers about its replication change its state.

use route::{Health, Moment, Role, Writes};

use super::published::ReplicationView;
use super::settings::{Questions, Rhythm};
use super::{BackendMonitor, Change};
use crate::failure::Failure;
use crate::question::{Answer, Following};
use crate::replication::{PrimaryHealth, Suspicion};
use crate::roles::{Follows, Member, Presence};

impl BackendMonitor {
    /// Whether the backend is asked about its replication.
    pub(super) fn is_questioned(&self) -> bool {
        self.settings.questions != Questions::Spared
    }

    /// Whether the lag matters: there is another backend in the cluster, or the role is to be found out.
    pub(super) fn needs_lag(&self) -> bool {
        self.settings.questions == Questions::Asked
    }

    /// Notes that the server refused a write because it is read-only. This holds until the next answer, which is due
    /// now.
    pub(crate) fn writes_refused(&mut self, now: Moment) -> Change {
        if !self.is_questioned() || !self.is_usable() || self.replication.writes == Writes::Refused
        {
            return Change::None;
        }
        self.replication.writes = Writes::Refused;
        self.schedules.questions.schedule(now);
        Change::Visible
    }

    /// What is wrong with the backend although it is up; a text for people.
    pub(super) fn complaint(&self) -> Option<String> {
        let rivals = || {
            let rivals = self.rivals.join(", ");
            format!(
                "it takes writes, and so does {rivals}, and they do not replicate from each other: \
                 backend.independent says that this is meant"
            )
        };
        let of_rivals = (!self.rivals.is_empty()).then(rivals);
        self.replication.complaint.clone().or(of_rivals)
    }

    /// Makes a question due at once, if the backend is asked at all.
    pub(super) fn ask_soon(&mut self, now: Moment) {
        match self.is_questioned() {
            true => self.schedules.questions.schedule(now),
            false => self.schedules.questions.reschedule(None),
        }
    }

    /// Whether the role is still to be found out, and may be at any moment.
    pub(crate) fn is_role_awaited(&self) -> bool {
        let is_open = self.settings.role.is_none() && self.needs_lag();
        is_open && self.is_usable() && !self.replication.has_answered() && !self.was_questioned
    }

    /// Whether the first probe, or the first answer about replication, is still to come.
    pub(crate) fn is_awaited(&self) -> bool {
        let is_silent = !self.replication.has_answered() && !self.was_questioned;
        self.health == Health::Unknown || (self.is_questioned() && self.is_usable() && is_silent)
    }

    /// Takes in the result of a question.
    pub(crate) fn replied(
        &mut self,
        answer: Result<Answer, Failure>,
        primary: PrimaryHealth,
        now: Moment,
        rhythm: &Rhythm,
    ) -> Suspicion {
        self.schedules.questions.end();
        let up_since = self.up_since();
        let is_outdated = self
            .schedules
            .questions
            .began()
            .is_some_and(|began| began < up_since);
        if !self.is_usable() || is_outdated {
            // The backend went down or moved in the meantime, so the answer does not count.
            self.ask_soon(now);
            return Suspicion::None;
        }
        self.was_questioned = true;
        self.ask_later(&answer, now, rhythm);
        match answer {
            _ if !self.is_questioned() => Suspicion::None,
            Ok(answer) => {
                let answer = match self.needs_lag() {
                    true => answer,
                    false => answer.of_writes(),
                };
                // A backend that takes writes and follows no server may be the new primary, if the role is to be found
                // out.
                let is_free =
                    answer.writes == Writes::Taken && answer.following == Following::Nobody;
                let role = match self.settings.role {
                    None if is_free => Some(Role::Primary),
                    _ => self.role,
                };
                let of = (&*self.name, role);
                self.replication.answered(answer, primary, of, now)
            }
            Err(failure) => self.replication.unanswered(&failure, &self.name, now),
        }
    }

    /// Schedules the next question. After a refused login it comes no sooner than the next probe, because servers log
    /// and count refused logins, and may block the host.
    fn ask_later(&mut self, answer: &Result<Answer, Failure>, now: Moment, rhythm: &Rhythm) {
        let is_refused = answer
            .as_ref()
            .is_err_and(|failure| failure.is_missing_privilege());
        let least = rhythm.monitor_interval.filter(|_| is_refused);
        let interval = rhythm.replication_interval.filter(|_| self.is_questioned());
        let wait = interval.map(|interval| interval.max(least.unwrap_or_default()));
        self.schedules
            .questions
            .reschedule(wait.map(|wait| now + wait));
    }

    /// Whether the backend has told of its replication since it came up.
    pub(crate) fn has_answered(&self) -> bool {
        self.is_usable() && self.needs_lag() && self.replication.has_answered()
    }

    /// Whether the backend has answered the monitor account's last question.
    pub(super) fn is_monitored(&self) -> bool {
        self.is_questioned() && self.is_usable() && self.replication.answers()
    }

    /// Whether the backend gets the writes of other servers: it follows a server, or belongs to a group.
    pub(crate) fn replicates(&self) -> bool {
        self.replication.follows() || self.replication.is_member
    }

    /// The facts about the backend that decide the roles of its cluster.
    pub(crate) fn member(&self) -> Member {
        Member {
            configured: self.settings.role,
            role: self.role,
            presence: match (self.is_usable(), self.replication.has_answered()) {
                (false, _) => Presence::Down,
                (true, true) => Presence::Known,
                (true, false) => Presence::Awaited,
            },
            writes: self.replication.writes,
            follows: match self.replication.follows() {
                true => Follows::Somebody,
                false => Follows::Nobody,
            },
        }
    }

    /// Sets the role, and tells the log what has changed.
    pub(crate) fn settle(&mut self, role: Option<Role>) -> Change {
        let was = std::mem::replace(&mut self.role, role);
        self.log_role(was);
        self.replication.take_position(role);
        let (max, back) = (self.settings.lag_max, self.settings.lag_return);
        self.replication.standing.limit_lag(max, back);
        self.replication
            .log_changes(&self.name, self.role, self.settings.lag_max);
        let published = ReplicationView {
            role,
            server: self.replication.server.clone(),
            writes: self.replication.writes,
            is_left_out: self.backend().is_left_out(),
            is_monitored: self.is_monitored(),
            complaint: self.complaint(),
        };
        match self.published.as_ref() == Some(&published) {
            true => Change::None,
            false => {
                self.published = Some(published);
                Change::Visible
            }
        }
    }

    fn log_role(&self, was: Option<Role>) {
        if was == self.role || self.settings.role.is_some() {
            return;
        }
        let shown = |role: Option<Role>| role.map_or("unknown".to_owned(), |it| it.to_string());
        let (role, was) = (shown(self.role), shown(was));
        tracing::info!(backend = self.name, role, was, "backend has another role");
    }
}
