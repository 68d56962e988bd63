//! The choice of a session's backend: pure, with its reason when there is none.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::{Backend, BackendId, Dice, Health, Moment, Policy, Topology};

#[cfg(test)]
mod tests;

/// The backend that a new session goes to: by policy among those that are usable, have a place,
/// have an allowed role and were not `tried` by this session.
///
/// The session then takes its place with [`Backend::begin`]; when another worker was faster there,
/// ask again.
///
/// # Errors
/// Why no backend is left.
pub fn choose(
    topology: &Topology,
    tried: &[BackendId],
    now: Moment,
    dice: &mut Dice,
) -> Result<Arc<Backend>, NoBackend> {
    let candidates = candidates(topology, tried, now);
    let Some(first) = candidates.first() else {
        return Err(why_none(topology, tried));
    };
    let chosen = match topology.policy {
        Policy::FewestSessions => fewest_sessions(&candidates),
        Policy::RoundRobin => in_turn(&candidates, topology.backends.len(), dice),
        Policy::Weighted => weighted(&candidates, dice),
        Policy::RandomOfTwo => random_of_two(&candidates, dice),
        Policy::Ordered => candidates.iter().find(|c| c.takes_its_share(dice)),
    };
    Ok(Arc::clone(chosen.unwrap_or(first).backend))
}

/// A backend that may take the session.
struct Candidate<'a> {
    backend: &'a Arc<Backend>,
    /// Its index in the topology.
    place: usize,
    /// How far slow start has let it come, in 1 ..= [`FULL_SHARE`].
    share: u64,
}

/// A backend's share when it is not in slow start.
const FULL_SHARE: u64 = 1024;

impl Candidate<'_> {
    /// Its weight as slow start has it now.
    fn weight(&self) -> u64 {
        u64::from(self.backend.weight) * self.share
    }

    /// Would it carry less, in proportion to its weight, than `other` with this session added?
    fn is_less_loaded_than(&self, other: &Candidate<'_>) -> bool {
        let with_one_more = |c: &Candidate<'_>| u128::from(c.backend.load.sessions()) + 1;
        with_one_more(self) * u128::from(other.weight())
            < with_one_more(other) * u128::from(self.weight())
    }

    /// Always true outside slow start; in it, as often as its share.
    fn takes_its_share(&self, dice: &mut Dice) -> bool {
        self.share == FULL_SHARE || dice.below(FULL_SHARE) < self.share
    }
}

/// Those that may take the session, in order. Backends of weight zero are there only when there
/// is no other.
fn candidates<'a>(topology: &'a Topology, tried: &[BackendId], now: Moment) -> Vec<Candidate<'a>> {
    let mut candidates: Vec<_> = topology
        .backends
        .iter()
        .enumerate()
        .filter(|(_, b)| topology.roles.allow(b.role) && b.is_usable())
        .filter(|(_, b)| !b.is_full() && !tried.contains(&b.id))
        .map(|(place, backend)| Candidate {
            backend,
            place,
            share: share(backend.returned, topology.slow_start, now),
        })
        .collect();
    if candidates.iter().any(|c| c.backend.weight > 0) {
        candidates.retain(|c| c.backend.weight > 0);
    }
    candidates
}

/// Grows linearly over `slow_start` from the return on; never zero, or a lone backend's weight
/// would vanish.
fn share(returned: Option<Moment>, slow_start: Duration, now: Moment) -> u64 {
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

fn fewest_sessions<'c, 'a>(candidates: &'c [Candidate<'a>]) -> Option<&'c Candidate<'a>> {
    candidates.iter().reduce(|best, candidate| {
        if candidate.is_less_loaded_than(best) {
            candidate
        } else {
            best
        }
    })
}

/// The turn goes on behind the backend that took it, so that one which is left out does not give
/// its neighbour a double share.
fn in_turn<'c, 'a>(
    candidates: &'c [Candidate<'a>],
    round: usize,
    dice: &mut Dice,
) -> Option<&'c Candidate<'a>> {
    let turn = dice.turn(round);
    let next = candidates.iter().position(|c| c.place >= turn).unwrap_or(0);
    let (before, from_next) = candidates.split_at(next);
    let chosen = from_next
        .iter()
        .chain(before)
        .find(|c| c.takes_its_share(dice))
        .or(from_next.first())?;
    dice.turn_taken(chosen.place);
    Some(chosen)
}

fn weighted<'c, 'a>(candidates: &'c [Candidate<'a>], dice: &mut Dice) -> Option<&'c Candidate<'a>> {
    let total = candidates.iter().map(Candidate::weight).sum();
    let mut point = dice.spread_below(total);
    candidates.iter().find(|candidate| {
        let hit = point < candidate.weight();
        point = point.saturating_sub(candidate.weight());
        hit
    })
}

fn random_of_two<'c, 'a>(
    candidates: &'c [Candidate<'a>],
    dice: &mut Dice,
) -> Option<&'c Candidate<'a>> {
    let count = candidates.len();
    let one = dice.below(count as u64) as usize;
    // Drawn from the others: a step of 1 ..= count − 1 round the list.
    let step = 1 + dice.below(count.saturating_sub(1) as u64) as usize;
    let other = candidates.get((one + step) % count)?;
    let one = candidates.get(one)?;
    if other.is_less_loaded_than(one) {
        Some(other)
    } else {
        Some(one)
    }
}

/// Why no backend can take a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoBackend {
    /// There is none of an allowed role.
    NoneConfigured,
    /// None is usable; here is what was seen of each.
    AllDown(Vec<Fallen>),
    /// The session has tried all that are usable; it knows what happened there.
    AllTried,
    /// Those usable and not tried have no place left; one may become free.
    AllFull,
}

/// A backend that is down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallen {
    /// Its name.
    pub backend: String,
    /// Why it is down.
    pub cause: String,
}

impl fmt::Display for NoBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoBackend::NoneConfigured => f.write_str("No backend is configured for this session"),
            NoBackend::AllTried => f.write_str("Can't connect to MySQL server"),
            NoBackend::AllFull => f.write_str("Too many connections: all backends are full"),
            NoBackend::AllDown(fallen) => {
                f.write_str("Can't connect to MySQL server: all backends are down")?;
                for (index, Fallen { backend, cause }) in fallen.iter().enumerate() {
                    let separator = if index == 0 { ", tried " } else { "; " };
                    write!(f, "{separator}{backend}: {cause}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for NoBackend {}

/// Told when no candidate is left. A place that may become free counts more than a backend that
/// failed, and what this session saw itself more than what was seen before.
fn why_none(topology: &Topology, tried: &[BackendId]) -> NoBackend {
    let allowed = || {
        topology
            .backends
            .iter()
            .filter(|b| topology.roles.allow(b.role))
    };
    let untried = || allowed().filter(|b| !tried.contains(&b.id));
    if allowed().next().is_none() {
        NoBackend::NoneConfigured
    } else if untried().any(|b| b.is_usable()) {
        NoBackend::AllFull
    } else if untried().count() < allowed().count() {
        NoBackend::AllTried
    } else {
        NoBackend::AllDown(allowed().filter_map(|b| fallen(b)).collect())
    }
}

fn fallen(backend: &Backend) -> Option<Fallen> {
    match &backend.health {
        Health::Down { cause, .. } => Some(Fallen {
            backend: backend.name.clone(),
            cause: cause.clone(),
        }),
        Health::Up { .. } | Health::Unknown => None,
    }
}
