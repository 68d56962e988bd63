//! Whether one backend is suitable, and why not: the same for whole sessions and for statements.

use std::fmt;
use std::time::Duration;

use crate::{Backend, ClusterId, Duty, Health, Lag, Moment, Role, Roles};

/// A backend's share outside of slow start.
pub(crate) const FULL_SHARE: u64 = 1024;

/// Whether the backend has to accept writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Use {
    /// It need not: a read-only server would do.
    #[default]
    Any,
    /// It must: for a write, or for a transaction that may write.
    Writes,
}

/// Why a backend is not suitable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// It belongs to another cluster.
    OtherCluster,
    /// A rule or hint names another backend, or a tag that this one does not have.
    NotNamed,
    /// It has another role, or its role is not yet known.
    OtherRole(Option<Role>),
    /// It was tried already.
    Tried,
    /// It is down.
    Down,
    /// It is draining: it takes no new work.
    Draining,
    /// It is out of use.
    Disabled,
    /// It is a read-only primary, and a primary that accepts writes is wanted.
    ReadOnly,
    /// It is a replica that does not replicate.
    NotReplicating,
    /// It is a replica with an unknown lag.
    LagUnknown,
    /// It lags more than its limit.
    Lagging {
        /// The lag.
        lag: Lag,
        /// The limit.
        max: Duration,
    },
    /// It is not known to have the writes that must be seen, and waiting is useless or not allowed.
    Behind(Lag),
    /// The position of the writes that must be seen is unknown, or of another server family: only a primary has them.
    Incomparable,
    /// It has no free session slot.
    Full,
    /// It does not yet have the writes that must be seen, and another backend has them.
    Later,
    /// It is in another zone, and a backend in this zone is suitable.
    OtherZone,
    /// Its weight is zero, and another suitable backend's is not.
    StandsBy,
}

impl Rejection {
    /// Returns the text, with the reason if `backend` is down.
    pub fn explain(self, backend: &Backend) -> String {
        match (self, &backend.health) {
            (Rejection::Down, Health::Down { cause, .. }) => format!("{self}: {cause}"),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejection::OtherCluster => f.write_str("is in another cluster"),
            Rejection::NotNamed => f.write_str("is not the one that was named"),
            Rejection::OtherRole(Some(role)) => write!(f, "is a {role}"),
            Rejection::OtherRole(None) => f.write_str("has no role that is known yet"),
            Rejection::Tried => f.write_str("was tried"),
            Rejection::Down => f.write_str("is down"),
            Rejection::Draining => f.write_str("is draining"),
            Rejection::Disabled => f.write_str("is disabled"),
            Rejection::ReadOnly => f.write_str("is read-only"),
            Rejection::NotReplicating => f.write_str("has stopped replicating"),
            Rejection::LagUnknown => f.write_str("has a lag that is not known"),
            Rejection::Lagging { lag, max } => write!(f, "{lag}, {max:?} are allowed"),
            Rejection::Behind(Lag::Unknown) => f.write_str("has not yet what was written"),
            Rejection::Behind(lag) => write!(f, "has not yet what was written, and {lag}"),
            Rejection::Incomparable => f.write_str("may not have what was written"),
            Rejection::Full => f.write_str("is full"),
            Rejection::Later => f.write_str("has not yet what was written; another has"),
            Rejection::OtherZone => f.write_str("is in another zone"),
            Rejection::StandsBy => f.write_str("has weight zero"),
        }
    }
}

/// The requirements that sessions and statements have in common.
pub(crate) struct Terms<'a> {
    pub cluster: ClusterId,
    pub roles: Roles,
    pub tried: &'a [crate::BackendId],
    /// Backends where the session already holds a slot.
    pub seats: &'a [crate::BackendId],
    pub use_for: Use,
}

impl Terms<'_> {
    /// Whether the backend has the right cluster and role, whatever its state.
    pub(crate) fn concern(&self, backend: &Backend) -> Result<(), Rejection> {
        if backend.cluster != self.cluster {
            Err(Rejection::OtherCluster)
        } else if !self.roles.allow(backend.role) {
            Err(Rejection::OtherRole(backend.role))
        } else {
            Ok(())
        }
    }

    /// Whether the backend is suitable.
    pub(crate) fn accept(&self, backend: &Backend) -> Result<(), Rejection> {
        self.concern(backend)?;
        if self.tried.contains(&backend.id) {
            return Err(Rejection::Tried);
        }
        if backend.duty == Duty::Disabled {
            return Err(Rejection::Disabled);
        }
        if !backend.health.is_usable() {
            return Err(Rejection::Down);
        }
        if backend.duty == Duty::Draining {
            return Err(Rejection::Draining);
        }
        if self.use_for == Use::Writes && backend.is_read_only_primary() {
            return Err(Rejection::ReadOnly);
        }
        if let Some(rejection) = backend.replica_fault() {
            return Err(rejection);
        }
        match backend.is_full() && !self.seats.contains(&backend.id) {
            true => Err(Rejection::Full),
            false => Ok(()),
        }
    }
}

/// Returns a backend's share under slow start, in 1 ..= [`FULL_SHARE`]. It grows linearly for
/// `slow_start` after the return. It is never zero, because a single backend would then have no weight.
pub(crate) fn share(returned: Option<Moment>, slow_start: Duration, now: Moment) -> u64 {
    let Some(returned) = returned else {
        return FULL_SHARE;
    };
    let up_for = now.since(returned);
    if up_for >= slow_start {
        return FULL_SHARE;
    }
    let share = up_for.as_nanos() * u128::from(FULL_SHARE) / slow_start.as_nanos();
    (share as u64).max(1)
}
