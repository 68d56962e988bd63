//! Chooses the primary of a cluster whose backends' roles are to be found out. Pure functions.
//!
//! ```text
//!   read-only ───────────────────────────────► replica
//!   takes writes, follows somebody ──────────► replica (and the log says so)
//!   takes writes, follows nobody ──► one of them: primary; the others: none
//!                                   (the one that was it before; else the first)
//!   down ────────────────────────────────────► none; but the primary stays it until another is
//! ```
//!
//! If two backends take writes and do not follow each other, their data would drift apart if both were used. So the
//! backends that are not chosen get no sessions until they are read-only or follow another server.

use route::{Role, Writes};

/// One backend of a cluster: the facts that decide its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    /// The configured role; `None` if the role is to be found out.
    pub configured: Option<Role>,
    /// The role up to now.
    pub role: Option<Role>,
    pub presence: Presence,
    pub writes: Writes,
    pub follows: Follows,
}

/// Whether a backend's answer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The backend is up and has answered.
    Known,
    /// The backend may be up, and has not answered yet.
    Awaited,
    /// The backend is down.
    Down,
}

/// Whether a backend follows another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follows {
    Somebody,
    Nobody,
}

/// The role of each member, in the order of the members.
pub(crate) fn settle(members: &[Member]) -> Vec<Option<Role>> {
    let primary = primary(members);
    let has_primary = primary.is_some() || members.iter().any(is_taken);
    let role = |(index, member): (usize, &Member)| match member {
        Member {
            configured: Some(role),
            ..
        } => Some(*role),
        Member {
            presence: Presence::Down,
            role,
            ..
        } => role.filter(|it| *it == Role::Primary && !has_primary),
        Member {
            presence: Presence::Awaited,
            ..
        } => member.role,
        _ if Some(index) == primary => Some(Role::Primary),
        _ if member.writes == Writes::Refused || member.follows == Follows::Somebody => {
            Some(Role::Replica)
        }
        _ => None,
    };
    members.iter().enumerate().map(role).collect()
}

/// The index of the primary among the members whose roles are to be found out.
fn primary(members: &[Member]) -> Option<usize> {
    if members.iter().any(is_taken) {
        return None;
    }
    let takes_writes = |member: &&Member| {
        member.configured.is_none()
            && member.presence == Presence::Known
            && member.writes == Writes::Taken
    };
    let numbered = || members.iter().enumerate();
    let writable = || numbered().filter(|(_, member)| takes_writes(member));
    let leading = || writable().filter(|(_, member)| member.follows == Follows::Nobody);
    let was = |(_, member): &(usize, &Member)| member.role == Some(Role::Primary);
    let chosen = leading().find(was).or_else(|| leading().next());
    // All of them follow another server: the cluster as a whole may follow another cluster. But if a backend is down,
    // the others may follow that backend.
    let are_all_here = || members.iter().all(|it| it.presence == Presence::Known);
    let chosen = chosen.or_else(|| match are_all_here() {
        true => writable().find(was).or_else(|| writable().next()),
        false => None,
    });
    chosen.map(|(index, _)| index)
}

/// Whether the member is the primary by configuration, or was the primary and has not answered since.
fn is_taken(member: &Member) -> bool {
    let was_it = member.role == Some(Role::Primary) && member.presence == Presence::Awaited;
    member.configured == Some(Role::Primary) || was_it
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIMARY: Option<Role> = Some(Role::Primary);
    const REPLICA: Option<Role> = Some(Role::Replica);

    fn auto(writes: Writes, follows: Follows) -> Member {
        Member {
            configured: None,
            role: None,
            presence: Presence::Known,
            writes,
            follows,
        }
    }

    fn leader() -> Member {
        auto(Writes::Taken, Follows::Nobody)
    }

    fn follower() -> Member {
        auto(Writes::Refused, Follows::Somebody)
    }

    fn absent(presence: Presence) -> Member {
        Member {
            presence,
            ..auto(Writes::Unknown, Follows::Nobody)
        }
    }

    fn was(role: Option<Role>, member: Member) -> Member {
        Member { role, ..member }
    }

    #[test]
    fn a_read_only_backend_is_a_replica() {
        let alone = auto(Writes::Refused, Follows::Nobody);
        assert_eq!(
            settle(&[leader(), follower(), alone]),
            [PRIMARY, REPLICA, REPLICA]
        );
    }

    #[test]
    fn a_writable_backend_that_replicates_is_a_replica_beside_a_primary() {
        let sloppy = auto(Writes::Taken, Follows::Somebody);
        assert_eq!(settle(&[sloppy, leader()]), [REPLICA, PRIMARY]);
        // The primary is down, but a backend that follows a server does not become primary for that reason.
        let down = absent(Presence::Down);
        assert_eq!(settle(&[sloppy, down]), [REPLICA, None]);
        // A cluster that follows another one has a primary.
        assert_eq!(settle(&[sloppy, follower()]), [PRIMARY, REPLICA]);
    }

    #[test]
    fn of_two_writable_backends_the_former_primary_stays_primary() {
        assert_eq!(settle(&[leader(), leader()]), [PRIMARY, None]);
        assert_eq!(settle(&[leader(), was(PRIMARY, leader())]), [None, PRIMARY]);
        // A former primary that comes back does not become primary while the new primary is there.
        let old = was(None, leader());
        assert_eq!(settle(&[old, was(PRIMARY, leader())]), [None, PRIMARY]);
    }

    #[test]
    fn a_new_primary_takes_over_when_the_old_one_gives_way() {
        let old = was(PRIMARY, follower());
        assert_eq!(settle(&[old, was(REPLICA, leader())]), [REPLICA, PRIMARY]);
        let gone = was(PRIMARY, absent(Presence::Down));
        assert_eq!(settle(&[gone, was(REPLICA, leader())]), [None, PRIMARY]);
    }

    #[test]
    fn a_primary_that_is_down_keeps_its_role_until_another_takes_over() {
        let down = was(PRIMARY, absent(Presence::Down));
        assert_eq!(settle(&[down, follower()]), [PRIMARY, REPLICA]);
        assert_eq!(settle(&[down, leader()]), [None, PRIMARY]);
        let configured = Member {
            configured: PRIMARY,
            ..absent(Presence::Down)
        };
        assert_eq!(settle(&[down, configured]), [None, PRIMARY]);
        let replica = was(REPLICA, absent(Presence::Down));
        assert_eq!(settle(&[leader(), replica]), [PRIMARY, None]);
    }

    #[test]
    fn a_backend_without_an_answer_keeps_its_role() {
        let waited_for = was(REPLICA, absent(Presence::Awaited));
        assert_eq!(settle(&[leader(), waited_for]), [PRIMARY, REPLICA]);
        assert_eq!(settle(&[absent(Presence::Awaited)]), [None]);
        let waited_for = was(PRIMARY, absent(Presence::Awaited));
        assert_eq!(settle(&[leader(), waited_for]), [None, PRIMARY]);
    }

    #[test]
    fn a_configured_primary_overrides_the_observed_roles() {
        let configured = Member {
            configured: PRIMARY,
            ..follower()
        };
        assert_eq!(
            settle(&[configured, leader(), follower()]),
            [PRIMARY, None, REPLICA]
        );
    }
}
