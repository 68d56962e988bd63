//! The choice of one statement's backend: pure, and able to tell why for every backend there is.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::candidate::{FULL_SHARE, Terms, Use, share};
use crate::nobody::why;
use crate::{
    Backend, BackendId, ClusterId, Dice, Lag, Loads, Moment, NoBackend, Rejection, Role, Roles,
    Topology, Vicinity, Written,
};

mod pick;
#[cfg(test)]
mod tests;

/// What a statement asks for.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// Its session's cluster.
    pub cluster: ClusterId,
    /// The roles it may go to.
    pub roles: Roles,
    /// Where it goes when no replica is left for it; of no account to others.
    pub fallback: Fallback,
    /// Only this backend will do.
    pub backend: Option<BackendId>,
    /// Only backends with this tag will do.
    pub tag: Option<&'a str>,
    /// How far a replica may be behind for it, besides what is configured.
    pub lag_max: Option<Duration>,
    /// What it must see. A primary always has it.
    pub written: &'a Written,
    /// How long it may wait for a replica to have that; zero: not at all.
    pub timeout_consistency: Duration,
    /// The one that its session's last read went to, if it shall stay there as long as that will do.
    pub sticky: Option<BackendId>,
    /// Backends where its session has its place already.
    pub seats: &'a [BackendId],
    /// Backends that it has tried.
    pub tried: &'a [BackendId],
    /// What it does.
    pub use_for: Use,
}

impl Wish<'_> {
    /// A statement for one of these roles, with nothing else to ask for.
    pub fn to(cluster: ClusterId, roles: Roles) -> Wish<'static> {
        Wish {
            cluster,
            roles,
            fallback: Fallback::Nobody,
            backend: None,
            tag: None,
            lag_max: None,
            written: &Written::Nothing,
            timeout_consistency: Duration::ZERO,
            sticky: None,
            seats: &[],
            tried: &[],
            use_for: Use::Any,
        }
    }
}

/// Where a read for a replica goes when there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fallback {
    /// To a primary.
    #[default]
    Primary,
    /// Nowhere.
    Nobody,
}

/// Where a statement goes.
#[derive(Debug, Clone, Copy)]
pub struct Placed<'t> {
    /// There.
    pub backend: &'t Arc<Backend>,
    /// Whether it has what the statement must see.
    pub arrival: Arrival,
    /// Whether it is what was wished.
    pub outcome: PlacementOutcome,
}

/// Whether a backend has what a statement must see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arrival {
    /// It has.
    Now,
    /// Not as far as is known: [`Position::wait_statement`](crate::Position::wait_statement) goes in
    /// front, and when that fails the statement goes to the primary.
    AfterWait,
}

/// Whether a statement goes where it was meant to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlacementOutcome {
    /// It does.
    AsWished,
    /// No replica was left; this is a primary.
    FellBack,
}

/// Learns of every backend while a choice is made. `()` does not listen, and costs nothing.
pub trait PlacementRecorder {
    /// What was found of one. A backend is told once in each of at most two rounds: as wished, and
    /// falling back. Of those that would do one is told again, as chosen.
    fn consider(&mut self, backend: &Backend, verdict: BackendVerdict);
}

impl PlacementRecorder for () {
    fn consider(&mut self, _: &Backend, _: BackendVerdict) {}
}

/// All that was found of backends, in order.
impl PlacementRecorder for Vec<Considered> {
    fn consider(&mut self, backend: &Backend, verdict: BackendVerdict) {
        self.push(Considered {
            id: backend.id,
            backend: backend.name.clone(),
            text: match verdict {
                BackendVerdict::Rejected(rejection) => {
                    complained(rejection.explain(backend), backend)
                }
                BackendVerdict::Fits(score) => complained(score.to_string(), backend),
                BackendVerdict::Chosen => "is chosen".to_owned(),
            },
            verdict,
        });
    }
}

fn complained(text: String, backend: &Backend) -> String {
    match &backend.monitored.complaint {
        Some(complaint) => format!("{text}; {complaint}"),
        None => text,
    }
}

/// What was found of one backend.
#[derive(Debug, Clone, PartialEq)]
pub struct Considered {
    /// Which one.
    pub id: BackendId,
    /// Its name.
    pub backend: String,
    /// What.
    pub verdict: BackendVerdict,
    /// The same in words.
    pub text: String,
}

/// What was found of a backend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BackendVerdict {
    /// It will not do.
    Rejected(Rejection),
    /// It would do.
    Fits(Score),
    /// It is the one.
    Chosen,
}

/// What a backend that would do is weighed by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Statements of this worker's under way there.
    pub in_flight: u32,
    /// Its weight, as slow start has it now.
    pub weight: f64,
    /// How fast it answers, where that is measured.
    pub latency: Option<Duration>,
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in flight, weight {}", self.in_flight, self.weight)?;
        match self.latency {
            Some(latency) => write!(f, ", answers in {latency:?}"),
            None => Ok(()),
        }
    }
}

/// A backend that would do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatementCandidate {
    /// Its index in the topology.
    index: usize,
    id: BackendId,
    arrival: Arrival,
    vicinity: Vicinity,
    in_flight: u32,
    weight: u32,
    /// How far slow start has let it come, in 1 ..= [`FULL_SHARE`].
    share: u64,
}

/// The backend that a statement goes to. Of those that will do these are preferred, in this order:
/// the session's own (`sticky`); those known to have what must be seen; those in the proxy's zone.
/// What is left is decided by [`Topology::reads`].
///
/// `loads` are this worker's; nothing is allocated once they have met every backend, nor locked.
///
/// # Errors
/// Why no backend is left.
pub fn select_backend<'t>(
    topology: &'t Topology,
    wish: &Wish<'_>,
    loads: &Loads,
    now: Moment,
    dice: &mut Dice,
    recorder: &mut impl PlacementRecorder,
) -> Result<Placed<'t>, NoBackend> {
    let round = Round {
        topology,
        wish,
        loads,
        now,
    };
    if let Some(placed) = round.play(PlacementOutcome::AsWished, dice, recorder) {
        return Ok(placed);
    }
    if wish.roles != Roles::Replica || wish.fallback == Fallback::Nobody {
        return Err(round.why_none());
    }
    let fallback = Wish {
        roles: Roles::Primary,
        backend: None,
        tag: None,
        sticky: None,
        ..*wish
    };
    let falling_back = Round {
        wish: &fallback,
        ..round
    };
    let placed = falling_back.play(PlacementOutcome::FellBack, dice, recorder);
    placed.ok_or_else(|| falling_back.why_none())
}

/// One wish and all that it is judged by.
#[derive(Clone, Copy)]
struct Round<'a, 't> {
    topology: &'t Topology,
    wish: &'a Wish<'a>,
    loads: &'a Loads,
    now: Moment,
}

impl<'t> Round<'_, 't> {
    fn play(
        &self,
        outcome: PlacementOutcome,
        dice: &mut Dice,
        recorder: &mut impl PlacementRecorder,
    ) -> Option<Placed<'t>> {
        let mut candidates = self.loads.candidates.borrow_mut();
        candidates.clear();
        for (index, backend) in self.topology.backends.iter().enumerate() {
            match self.judge(backend) {
                Ok(arrival) => candidates.push(self.candidate(index, backend, arrival)),
                Err(rejection) => recorder.consider(backend, BackendVerdict::Rejected(rejection)),
            }
        }
        let own = candidates.iter().find(|c| self.wish.sticky == Some(c.id));
        if let Some(own) = own.copied() {
            candidates.retain(|c| c.id == own.id);
        }
        let mut prefer = |rejection, is_preferred: fn(&StatementCandidate) -> bool| {
            if !candidates.iter().any(is_preferred) {
                return;
            }
            candidates.retain(|c| {
                let stays = is_preferred(c);
                if !stays {
                    let backend = &self.topology.backends[c.index];
                    recorder.consider(backend, BackendVerdict::Rejected(rejection));
                }
                stays
            });
        };
        prefer(Rejection::StandsBy, |c| c.weight > 0);
        prefer(Rejection::Later, |c| c.arrival == Arrival::Now);
        prefer(Rejection::OtherZone, |c| c.vicinity == Vicinity::Near);
        for candidate in candidates.iter() {
            let backend = &self.topology.backends[candidate.index];
            recorder.consider(backend, BackendVerdict::Fits(self.score(candidate)));
        }
        let chosen = match candidates.as_slice() {
            [] => return None,
            [only] => only,
            several => self.pick(several, dice),
        };
        let backend = &self.topology.backends[chosen.index];
        recorder.consider(backend, BackendVerdict::Chosen);
        Some(Placed {
            backend,
            arrival: chosen.arrival,
            outcome,
        })
    }

    fn terms(&self) -> Terms<'_> {
        Terms {
            cluster: self.wish.cluster,
            roles: self.wish.roles,
            tried: self.wish.tried,
            seats: self.wish.seats,
            use_for: self.wish.use_for,
        }
    }

    fn judge(&self, backend: &Backend) -> Result<Arrival, Rejection> {
        let terms = self.terms();
        terms.concern(backend)?;
        let named = self.wish.backend.is_none_or(|id| id == backend.id);
        let tagged = |tag| backend.tags.iter().any(|it| it == tag);
        if !named || !self.wish.tag.is_none_or(tagged) {
            return Err(Rejection::NotNamed);
        }
        terms.accept(backend)?;
        let lag = backend.standing.lag();
        match self.wish.lag_max {
            Some(max) if backend.role != Some(Role::Primary) && lag.exceeds(Some(max)) => {
                Err(Rejection::Lagging { lag, max })
            }
            _ => self.arrival(backend),
        }
    }

    /// Waiting for a replica that is known to lag for longer than one may wait is of no use.
    fn arrival(&self, backend: &Backend) -> Result<Arrival, Rejection> {
        let wanted = match self.wish.written {
            _ if backend.role == Some(Role::Primary) => return Ok(Arrival::Now),
            Written::Nothing => return Ok(Arrival::Now),
            Written::Unknown => return Err(Rejection::Incomparable),
            Written::UpTo(wanted) => wanted,
        };
        if self.loads.has(backend, wanted) {
            return Ok(Arrival::Now);
        }
        let lag = backend.standing.lag();
        let family = backend
            .monitored
            .server
            .as_ref()
            .map(|server| server.family);
        let is_hopeless = match lag {
            Lag::Unknown => false,
            Lag::Behind(behind) => behind > self.wish.timeout_consistency,
            Lag::Stopped => true,
        };
        if family.is_some_and(|family| family != wanted.family()) {
            Err(Rejection::Incomparable)
        } else if is_hopeless || self.wish.timeout_consistency.is_zero() {
            Err(Rejection::Behind(lag))
        } else {
            Ok(Arrival::AfterWait)
        }
    }

    fn candidate(&self, index: usize, backend: &Backend, arrival: Arrival) -> StatementCandidate {
        StatementCandidate {
            index,
            id: backend.id,
            arrival,
            vicinity: backend.location.vicinity,
            in_flight: self.loads.in_flight(backend.id),
            weight: backend.weight,
            share: share(backend.returned, self.topology.slow_start, self.now),
        }
    }

    fn score(&self, candidate: &StatementCandidate) -> Score {
        Score {
            in_flight: candidate.in_flight,
            weight: candidate.weight() as f64 / FULL_SHARE as f64,
            latency: self.latency(candidate),
        }
    }

    /// As this worker has seen it, or else the control plane.
    fn latency(&self, candidate: &StatementCandidate) -> Option<Duration> {
        let backend = &self.topology.backends[candidate.index];
        let seen = self.loads.latency(candidate.id);
        seen.or_else(|| backend.standing.latency())
    }

    fn why_none(&self) -> NoBackend {
        why(self.topology, &self.terms(), |backend| {
            self.judge(backend).err()
        })
    }
}
