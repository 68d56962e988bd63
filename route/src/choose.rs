//! The choice of a session's backend: a pure function, which returns the reason if there is no backend.

use std::sync::Arc;

use crate::candidate::{FULL_SHARE, Terms, Use, share};
use crate::nobody::why_none;
use crate::{
    Backend, BackendId, ClusterId, Dice, Moment, NoBackend, Policy, Roles, Topology, Vicinity,
};

#[cfg(test)]
mod tests;

/// The requirements of a whole session for its backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole<'a> {
    /// Its cluster.
    pub cluster: ClusterId,
    /// The roles it may go to.
    pub roles: Roles,
    /// Backends that it has tried.
    pub tried: &'a [BackendId],
    /// Whether it may write next.
    pub use_for: Use,
}

/// Chooses the backend of a new session. A candidate is usable, has a free slot and an allowed role,
/// does not lag too much, and was not `tried` by this session. Candidates in the proxy's own zone are
/// preferred. The policy decides among them.
///
/// The session then takes its slot with [`Backend::begin`]. If another worker has taken the last slot,
/// call this function again.
///
/// # Errors
/// Why no backend is left.
pub fn choose(
    topology: &Topology,
    whole: &Whole<'_>,
    now: Moment,
    dice: &mut Dice,
) -> Result<Arc<Backend>, NoBackend> {
    let terms = Terms {
        cluster: whole.cluster,
        roles: whole.roles,
        tried: whole.tried,
        seats: &[],
        use_for: whole.use_for,
    };
    let candidates = candidates(topology, &terms, now);
    let Some(first) = candidates.first() else {
        return Err(why_none(topology, &terms));
    };
    let chosen = match topology.policy {
        Policy::FewestSessions => fewest_sessions(&candidates),
        Policy::RoundRobin => {
            round_robin(&candidates, topology.backends.len(), whole.cluster, dice)
        }
        Policy::Weighted => weighted(&candidates, dice),
        Policy::RandomOfTwo => random_of_two(&candidates, dice),
        Policy::Ordered => candidates.iter().find(|c| c.takes_its_share(dice)),
    };
    Ok(Arc::clone(chosen.unwrap_or(first).backend))
}

/// Returns why no backend of a cluster is suitable; none if one is.
pub fn vacancy(
    topology: &Topology,
    cluster: ClusterId,
    roles: Roles,
    use_for: Use,
) -> Option<NoBackend> {
    let terms = Terms {
        cluster,
        roles,
        tried: &[],
        seats: &[],
        use_for,
    };
    let mut backends = topology.backends.iter();
    let is_there = backends.any(|backend| terms.accept(backend).is_ok());
    (!is_there).then(|| why_none(topology, &terms))
}

/// A backend that may take the session.
struct SessionCandidate<'a> {
    backend: &'a Arc<Backend>,
    /// Its index in the topology.
    place: usize,
    /// Its share under slow start, in 1 ..= [`FULL_SHARE`].
    share: u64,
}

impl SessionCandidate<'_> {
    /// Its weight, reduced by slow start.
    fn weight(&self) -> u64 {
        u64::from(self.backend.weight) * self.share
    }

    /// Whether it would carry less than `other` in proportion to its weight, with this session added to either.
    fn is_less_loaded_than(&self, other: &SessionCandidate<'_>) -> bool {
        let with_one_more = |c: &SessionCandidate<'_>| u128::from(c.backend.load.sessions()) + 1;
        with_one_more(self) * u128::from(other.weight())
            < with_one_more(other) * u128::from(self.weight())
    }

    /// Always true outside slow start. During slow start, true as often as its share says.
    fn takes_its_share(&self, dice: &mut Dice) -> bool {
        self.share == FULL_SHARE || dice.below(FULL_SHARE) < self.share
    }
}

/// Returns the backends that may take the session, in order. Backends of weight zero or of other zones are
/// included only if there are no others.
fn candidates<'a>(
    topology: &'a Topology,
    terms: &Terms<'_>,
    now: Moment,
) -> Vec<SessionCandidate<'a>> {
    let mut candidates: Vec<_> = topology
        .backends
        .iter()
        .enumerate()
        .filter(|(_, backend)| terms.accept(backend).is_ok())
        .map(|(place, backend)| SessionCandidate {
            backend,
            place,
            share: share(backend.returned, topology.slow_start, now),
        })
        .collect();
    prefer(&mut candidates, |c| !c.backend.is_read_only_primary());
    prefer(&mut candidates, |c| c.backend.weight > 0);
    prefer(&mut candidates, |c| {
        c.backend.location.vicinity == Vicinity::Near
    });
    candidates
}

/// Removes all candidates that are not preferred, if there are preferred ones.
fn prefer<T>(candidates: &mut Vec<T>, is_preferred: impl Fn(&T) -> bool) {
    if candidates.iter().any(&is_preferred) {
        candidates.retain(is_preferred);
    }
}

fn fewest_sessions<'c, 'a>(
    candidates: &'c [SessionCandidate<'a>],
) -> Option<&'c SessionCandidate<'a>> {
    candidates.iter().reduce(|best, candidate| {
        if candidate.is_less_loaded_than(best) {
            candidate
        } else {
            best
        }
    })
}

/// The next turn begins after the chosen backend. So a backend that is left out does not give its
/// neighbour a double share.
fn round_robin<'c, 'a>(
    candidates: &'c [SessionCandidate<'a>],
    round: usize,
    cluster: ClusterId,
    dice: &mut Dice,
) -> Option<&'c SessionCandidate<'a>> {
    let turn = dice.next_index(cluster, round);
    let next = candidates.iter().position(|c| c.place >= turn).unwrap_or(0);
    let (before, from_next) = candidates.split_at(next);
    let chosen = from_next
        .iter()
        .chain(before)
        .find(|c| c.takes_its_share(dice))
        .or(from_next.first())?;
    dice.set_last_index(cluster, chosen.place);
    Some(chosen)
}

fn weighted<'c, 'a>(
    candidates: &'c [SessionCandidate<'a>],
    dice: &mut Dice,
) -> Option<&'c SessionCandidate<'a>> {
    let total = candidates.iter().map(SessionCandidate::weight).sum();
    let mut point = dice.spread_below(total);
    candidates.iter().find(|candidate| {
        let hit = point < candidate.weight();
        point = point.saturating_sub(candidate.weight());
        hit
    })
}

fn random_of_two<'c, 'a>(
    candidates: &'c [SessionCandidate<'a>],
    dice: &mut Dice,
) -> Option<&'c SessionCandidate<'a>> {
    let count = candidates.len();
    let one = dice.below(count as u64) as usize;
    // The second one is drawn from the other candidates: a step of 1 ..= count − 1 round the list.
    let step = 1 + dice.below(count.saturating_sub(1) as u64) as usize;
    let other = candidates.get((one + step) % count)?;
    let one = candidates.get(one)?;
    if other.is_less_loaded_than(one) {
        Some(other)
    } else {
        Some(one)
    }
}
