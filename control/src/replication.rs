//! The state of one backend's replication, the lag that follows from it, and the log lines about it.
//! No socket, no clock.

use std::sync::Arc;
use std::time::Duration;

use route::{Lag, Moment, Position, Role, Server, Standing, Writes};

use crate::failure::Failure;
use crate::question::{Answer, Following, Group, Thread};

/// The replication state of one backend.
#[derive(Debug)]
pub(crate) struct Replication {
    pub server: Option<Server>,
    pub writes: Writes,
    pub standing: Arc<Standing>,
    /// What the proxy could not find out and why, with the statement that would help.
    pub complaint: Option<String>,
    /// `None` if the backend has not answered since it came up.
    following: Option<Following>,
    /// The backend followed another server, and has not been a primary since.
    has_followed: bool,
    /// The backend is a member of a group of servers that replicate.
    pub is_member: bool,
    /// The positions from the last answer, until `take_position` takes them.
    positions: Option<Positions>,
    /// When the backend last told its lag, and the lag.
    reported_lag: Option<(Moment, Lag)>,
    /// Whether the replica has lost its source without the source being known to be down.
    lost: Lost,
    /// How long the replica has been cut off while its primary counted as up.
    cut_off: Option<CutOff>,
    logged: LoggedReplication,
}

/// The time for which a replica could not reach a primary that counted as up. If the primary turns out to be down, it
/// may have been down all that time, or may have written up to the end of it.
#[derive(Debug, Clone, Copy)]
struct CutOff {
    /// The replica's lag before it was cut off.
    lag: Lag,
    since: Moment,
    until: Moment,
}

/// A backend's positions: one as a primary tells it, one as a replica tells it.
#[derive(Debug)]
struct Positions {
    executed: Option<Position>,
    applied: Option<Position>,
}

/// For how long a replica has had no source to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    No,
    /// Since the last answer; by the next answer the proxy knows whether the primary is down.
    Lately,
    Yes,
}

/// The last state of the replication that the log was told.
#[derive(Debug, Default, PartialEq, Eq)]
struct LoggedReplication {
    failure: Option<Failing>,
    /// The backend did not answer the last question. The log learns of it only if the next question stays without an
    /// answer too, because for a backend that went down "it is down" is enough.
    is_silent: bool,
    missing: bool,
    writable: bool,
    without_source: bool,
    stopped: bool,
    lagging: bool,
}

/// Why the replication state of a backend is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failing {
    /// The monitor account lacks the privilege to ask.
    NotAllowed,
    /// The backend does not answer.
    Silent,
}

/// Whether a primary of the cluster is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrimaryHealth {
    Up,
    Down,
}

/// Which backend to probe after an answer about replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Suspicion {
    /// No backend.
    None,
    /// The primary: a replica cannot reach its source.
    Primary,
    /// The backend itself: it did not answer.
    Backend,
}

impl Replication {
    /// The state of a backend that was never asked.
    pub(crate) fn new() -> Replication {
        Replication {
            server: None,
            writes: Writes::Unknown,
            standing: Arc::default(),
            complaint: None,
            following: None,
            has_followed: false,
            is_member: false,
            positions: None,
            reported_lag: None,
            lost: Lost::No,
            cut_off: None,
            logged: LoggedReplication::default(),
        }
    }

    /// Forgets all answers. After a restart the server may have less data, or may be another server.
    pub(crate) fn forget(&mut self) {
        self.writes = Writes::Unknown;
        self.following = None;
        self.positions = None;
        self.reported_lag = None;
        self.is_found();
        self.logged.is_silent = false;
        self.complaint = None;
        self.standing.forget();
    }

    /// Assumes the worst lag for a backend that has come back and has not told its lag yet.
    pub(crate) fn presume_behind(&mut self) {
        self.standing.set_lag(Lag::Stopped);
    }

    /// Whether the backend has answered since it came up.
    pub(crate) fn has_answered(&self) -> bool {
        self.following.is_some()
    }

    /// Whether the backend has answered the last question.
    pub(crate) fn answers(&self) -> bool {
        self.has_answered() && !self.logged.is_silent && self.logged.failure.is_none()
    }

    /// Whether the backend follows another server, or tries to.
    pub(crate) fn follows(&self) -> bool {
        match self.following {
            Some(Following::Somebody {
                applier, receiver, ..
            }) => applier != Thread::Stopped || receiver != Thread::Stopped,
            Some(Following::Nobody | Following::Untold { .. }) | None => false,
        }
    }

    /// Takes in an answer.
    pub(crate) fn answered(
        &mut self,
        answer: Answer,
        primary: PrimaryHealth,
        (backend, role): (&str, Option<Role>),
        now: Moment,
    ) -> Suspicion {
        self.logged.is_silent = false;
        if self.logged.failure.take().is_some() {
            tracing::info!(
                kind = "replication_status_known",
                backend,
                "backend tells of its replication again"
            );
        }
        self.server = Some(answer.server);
        self.writes = answer.writes;
        self.standing.set_latency(answer.latency);
        self.note_following(&answer.following, role);
        self.is_member = answer.group != Group::None;
        let lag = match answer.group {
            Group::OutOfStep(_) => Lag::Stopped,
            Group::None | Group::InStep | Group::Untold(_) => {
                self.lag(&answer.following, primary, now)
            }
        };
        self.standing.set_lag(lag);
        self.reported_lag = Some((now, lag));
        self.complaint = self.complaint_of(&answer.following, &answer.group);
        self.following = Some(answer.following);
        self.positions = Some(Positions {
            executed: answer.executed,
            applied: answer.applied,
        });
        match self.lost {
            Lost::Lately => Suspicion::Primary,
            Lost::No | Lost::Yes => Suspicion::None,
        }
    }

    /// Notes that the backend follows a server. A backend that did, and is no primary, should still follow one.
    fn note_following(&mut self, following: &Following, role: Option<Role>) {
        match following {
            _ if role == Some(Role::Primary) => self.has_followed = false,
            Following::Somebody { .. } => self.has_followed = true,
            Following::Nobody | Following::Untold { .. } => (),
        }
    }

    /// What the answer leaves unknown, or why replication does not run.
    fn complaint_of(&self, following: &Following, group: &Group) -> Option<String> {
        let of_group = match group {
            Group::OutOfStep(state) => {
                Some(format!("it is no working member of its group: {state}"))
            }
            Group::Untold(grant) => Some(format!(
                "its state in its group is not known, what helps is {grant}"
            )),
            Group::None | Group::InStep => None,
        };
        of_group.or_else(|| match following {
            Following::Untold {
                missing: Some(grant),
            } => Some(format!("its lag is not known, what helps is {grant}")),
            Following::Untold { missing: None } => {
                Some("its lag is not known, it gives an error for the question".to_owned())
            }
            Following::Nobody if self.has_followed => {
                Some("it followed another server, and follows none now".to_owned())
            }
            Following::Nobody | Following::Somebody { .. } => None,
        })
    }

    /// Notes that the backend could not be asked. A backend that does not answer may hang in its replication, so the
    /// time of silence is added to its lag. If only the account is to blame, the lag is unknown.
    pub(crate) fn unanswered(
        &mut self,
        failure: &Failure,
        backend: &str,
        now: Moment,
    ) -> Suspicion {
        let failing = match failure.is_missing_privilege() {
            true => Failing::NotAllowed,
            false => Failing::Silent,
        };
        match (failing, self.reported_lag) {
            (Failing::NotAllowed, _) => self.standing.set_lag(Lag::Unknown),
            (Failing::Silent, Some((then, Lag::Behind(lag)))) => {
                self.standing.set_lag(Lag::Behind(lag + now.since(then)));
            }
            (Failing::Silent, _) => (),
        }
        self.log_failure(failing, failure, backend);
        match failing {
            Failing::NotAllowed => Suspicion::None,
            Failing::Silent => Suspicion::Backend,
        }
    }

    /// The lag. A replica that has no source because the primary is down falls behind no further, so it keeps the lag
    /// that it had.
    fn lag(&mut self, following: &Following, primary: PrimaryHealth, now: Moment) -> Lag {
        let (applier, behind) = match following {
            Following::Nobody if self.has_followed => {
                self.is_found();
                return Lag::Stopped;
            }
            Following::Untold { .. } | Following::Nobody => {
                self.is_found();
                return Lag::Unknown;
            }
            Following::Somebody {
                applier, behind, ..
            } => (applier, behind),
        };
        if let Some(behind) = behind {
            self.is_found();
            return Lag::Behind(*behind);
        }
        if *applier == Thread::Stopped {
            self.is_found();
            return Lag::Stopped;
        }
        self.lost = match self.lost {
            Lost::No => Lost::Lately,
            Lost::Lately | Lost::Yes => Lost::Yes,
        };
        let (then, before) = self.reported_lag.unwrap_or((now, Lag::Unknown));
        match (self.lost, primary) {
            (Lost::Lately, _) => before,
            (_, PrimaryHealth::Down) => self.cut_off.take().map_or(before, CutOff::lag),
            (_, PrimaryHealth::Up) => {
                let begun = CutOff {
                    lag: before,
                    since: then,
                    until: now,
                };
                self.cut_off.get_or_insert(begun).until = now;
                Lag::Stopped
            }
        }
    }

    /// Notes that the replica is not cut off: it has its source, or follows no server.
    fn is_found(&mut self) {
        self.lost = Lost::No;
        self.cut_off = None;
    }

    /// Publishes the position of the last answer, by role: a replica's own transactions exist on no other server, so
    /// they do not count.
    pub(crate) fn take_position(&mut self, role: Option<Role>) {
        let Some(Positions { executed, applied }) = self.positions.take() else {
            return;
        };
        self.standing.set_position(match role {
            Some(Role::Primary) => executed,
            Some(Role::Replica) | None => applied,
        });
    }

    /// Tells the log once of each change in an answer, for a backend of this role.
    pub(crate) fn log_changes(
        &mut self,
        backend: &str,
        role: Option<Role>,
        lag_max: Option<Duration>,
    ) {
        let Some(following) = self.following.clone() else {
            return;
        };
        self.log_missing(backend, &following);
        self.log_writes(backend, role);
        if role == Some(Role::Primary) {
            (
                self.logged.without_source,
                self.logged.stopped,
                self.logged.lagging,
            ) = Default::default();
            return;
        }
        self.log_following(backend, role, &following);
        self.log_lag(backend, lag_max);
    }

    fn log_failure(&mut self, failing: Failing, failure: &Failure, backend: &str) {
        let is_first = !std::mem::replace(&mut self.logged.is_silent, true);
        if failing == Failing::Silent && is_first {
            return;
        }
        self.complaint = Some(format!("cannot be asked about replication: {failure}"));
        if self.logged.failure.replace(failing) == Some(failing) {
            return;
        }
        let cause = failure.to_string();
        match failing {
            Failing::NotAllowed => tracing::warn!(
                kind = "replication_status_denied",
                backend,
                cause,
                "the monitor account may not read the replication status: the backend keeps its role, \
                 and the proxy does not limit its lag, which is not known"
            ),
            Failing::Silent => tracing::warn!(
                backend,
                cause,
                "backend does not give its replication status: it keeps its role, and the proxy adds \
                 the time since its last answer to its lag"
            ),
        }
    }

    fn log_missing(&mut self, backend: &str, following: &Following) {
        let Following::Untold { missing } = following else {
            if std::mem::take(&mut self.logged.missing) {
                tracing::info!(
                    kind = "lag_known",
                    backend,
                    "the monitor account may ask about lag"
                );
            }
            return;
        };
        if !std::mem::replace(&mut self.logged.missing, true) {
            let missing = missing.as_deref();
            tracing::warn!(
                kind = "lag_unknown",
                backend,
                missing,
                "the monitor account may not read the lag, and the proxy does not limit it: the field missing has the statement that helps"
            );
        }
    }

    fn log_writes(&mut self, backend: &str, role: Option<Role>) {
        let is_strange = matches!(
            (role, self.writes),
            (Some(Role::Primary), Writes::Refused) | (Some(Role::Replica), Writes::Taken)
        );
        if std::mem::replace(&mut self.logged.writable, is_strange) || !is_strange {
            return;
        }
        match role {
            Some(Role::Primary) => {
                tracing::warn!(
                    backend,
                    "primary is read-only: writes wait, then fail; make it writable or promote another server"
                );
            }
            _ => tracing::warn!(
                backend,
                "replica takes writes: set read_only there (super_read_only on MySQL)"
            ),
        }
    }

    fn log_following(&mut self, backend: &str, role: Option<Role>, following: &Following) {
        let follows_nobody =
            *following == Following::Nobody && role == Some(Role::Replica) && !self.is_member;
        if !std::mem::replace(&mut self.logged.without_source, follows_nobody) && follows_nobody {
            tracing::warn!(
                kind = "replica_without_source",
                backend,
                "replica replicates from no server: its lag is not known"
            );
        }
        let (applier, receiver) = match following {
            Following::Somebody {
                applier, receiver, ..
            } => (*applier, *receiver),
            _ => (Thread::Stopped, Thread::Stopped),
        };
        let is_stopped = self.standing.lag() == Lag::Stopped;
        match (
            std::mem::replace(&mut self.logged.stopped, is_stopped),
            is_stopped,
        ) {
            (false, true) => {
                tracing::warn!(
                    kind = "replication_stopped",
                    backend,
                    %applier,
                    %receiver,
                    cause = self.complaint,
                    "replica gets no reads: its replication does not run"
                );
            }
            (true, false) => tracing::info!(
                kind = "replication_running",
                backend,
                "replica is used again: its replication runs"
            ),
            _ => (),
        }
    }

    fn log_lag(&mut self, backend: &str, lag_max: Option<Duration>) {
        let lag = self.standing.lag();
        let is_lagging = self.standing.is_lagging(lag_max);
        match (
            std::mem::replace(&mut self.logged.lagging, is_lagging),
            is_lagging,
        ) {
            (false, true) => {
                let max = lag_max.unwrap_or_default();
                tracing::warn!(
                    kind = "replica_left_out",
                    backend,
                    ?max,
                    lag = %lag,
                    "replica gets no reads: it {lag}"
                );
            }
            (true, false) => tracing::info!(backend, "replica is used again: it {lag}"),
            _ => (),
        }
    }
}

impl CutOff {
    /// The most that the replica can be behind a primary that has been down since.
    fn lag(self) -> Lag {
        match self.lag {
            Lag::Behind(behind) => Lag::Behind(behind + self.until.since(self.since)),
            lag => lag,
        }
    }
}
