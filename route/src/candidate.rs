//! Whether one backend will do, and why not: the same for sessions as a whole and for statements.

use std::fmt;
use std::time::Duration;

use crate::{Backend, ClusterId, Duty, Health, Lag, Moment, Role, Roles};

/// A backend's share when it is not in slow start.
pub(crate) const FULL_SHARE: u64 = 1024;

/// What a backend is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Use {
    /// For something that a server that is read-only does as well.
    #[default]
    Any,
    /// For a write, or a transaction that may write.
    Writes,
}

/// Why a backend will not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// It belongs to another cluster.
    OtherCluster,
    /// Another backend was named, or a tag that it has not.
    NotNamed,
    /// It has another role, or none that is known yet.
    OtherRole(Option<Role>),
    /// It was tried already.
    Tried,
    /// It is down.
    Down,
    /// It takes nothing new.
    Draining,
    /// It is out of use.
    Disabled,
    /// It is a primary that is read-only, and a primary that takes writes is wanted.
    ReadOnly,
    /// It is a replica that does not replicate.
    NotReplicating,
    /// It is a replica, and nobody knows how far it lags.
    LagUnknown,
    /// It lags more than it may.
    Lagging {
        /// So much.
        lag: Lag,
        /// So much is allowed.
        max: Duration,
    },
    /// It is not known to have what must be seen, and waiting for it is of no use or not allowed.
    Behind(Lag),
    /// What must be seen cannot be named, so only a primary has it for certain.
    Incomparable,
    /// All its places are taken.
    Full,
    /// It has not yet what must be seen, and another has.
    Later,
    /// It is in another zone, and one in this zone would do.
    OtherZone,
    /// Its weight is zero, and another's is not.
    StandsBy,
}

impl Rejection {
    /// In words, with the cause for which `backend` is down.
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

/// What is asked of a backend by all that goes there.
pub(crate) struct Terms<'a> {
    pub cluster: ClusterId,
    pub roles: Roles,
    pub tried: &'a [crate::BackendId],
    /// Where a place is held already.
    pub seats: &'a [crate::BackendId],
    pub use_for: Use,
}

impl Terms<'_> {
    /// Is the backend one of those that are asked for, whatever its state?
    pub(crate) fn concern(&self, backend: &Backend) -> Result<(), Rejection> {
        if backend.cluster != self.cluster {
            Err(Rejection::OtherCluster)
        } else if !self.roles.allow(backend.role) {
            Err(Rejection::OtherRole(backend.role))
        } else {
            Ok(())
        }
    }

    /// Will it do?
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

/// How far slow start has let a backend come, in 1 ..= [`FULL_SHARE`]. It grows linearly over
/// `slow_start` from the return on; never zero, or a lone backend's weight would vanish.
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
