//! The choice of one statement's backend: a pure function, which can report the reason for every backend.

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

/// The requirements of one statement for its backend.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// Its session's cluster.
    pub cluster: ClusterId,
    /// The roles it may go to.
    pub roles: Roles,
    /// Where it goes if no replica is available; only used for [`Roles::Replica`].
    pub fallback: Fallback,
    /// If set, only this backend is suitable.
    pub backend: Option<BackendId>,
    /// If set, only backends with this tag are suitable.
    pub tag: Option<&'a str>,
    /// The largest lag of a replica for this statement, in addition to the configured limit.
    pub lag_max: Option<Duration>,
    /// The writes that it must see. A primary always has them.
    pub written: &'a Written,
    /// How long it may wait until a replica has applied those writes; zero: not at all.
    pub timeout_consistency: Duration,
    /// The backend of its session's last read, if reads shall stay there while that backend is suitable.
    pub sticky: Option<BackendId>,
    /// Backends where its session already holds a slot.
    pub seats: &'a [BackendId],
    /// Backends that it has tried.
    pub tried: &'a [BackendId],
    /// Whether it may write.
    pub use_for: Use,
}

impl Wish<'_> {
    /// Returns the wish of a statement for one of these roles, without other requirements.
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

/// Where a read for a replica goes if no replica is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fallback {
    /// The read goes to a primary.
    #[default]
    Primary,
    /// No backend is chosen.
    Nobody,
}

/// Where a statement goes.
#[derive(Debug, Clone, Copy)]
pub struct Placed<'t> {
    /// The chosen backend.
    pub backend: &'t Arc<Backend>,
    /// Whether the backend has the writes that the statement must see.
    pub arrival: Arrival,
    /// Whether the backend has the wished role, or is a fallback.
    pub outcome: PlacementOutcome,
}

/// Whether a backend has the writes that a statement must see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arrival {
    /// The backend has them.
    Now,
    /// Not as far as is known: [`Position::wait_statement`](crate::Position::wait_statement) runs
    /// first, and if that fails the statement goes to the primary.
    AfterWait,
}

/// Whether a statement goes to a backend as wished or to a fallback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlacementOutcome {
    /// The statement goes to a backend as wished.
    AsWished,
    /// No replica was available, so the statement goes to a primary.
    FellBack,
}

/// Is told the result for every backend during a choice. `()` ignores the results, and costs nothing.
pub trait PlacementRecorder {
    /// Receives the verdict on one backend. There are at most two rounds, the wish and the fallback, with one
    /// verdict a backend in each. The chosen backend gets a second verdict.
    fn consider(&mut self, backend: &Backend, verdict: BackendVerdict);
}

impl PlacementRecorder for () {
    fn consider(&mut self, _: &Backend, _: BackendVerdict) {}
}

/// Keeps all verdicts, in order.
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

/// The verdict on one backend, with its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Considered {
    /// The backend's id.
    pub id: BackendId,
    /// Its name.
    pub backend: String,
    /// The verdict.
    pub verdict: BackendVerdict,
    /// The verdict in words.
    pub text: String,
}

/// The verdict on a backend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BackendVerdict {
    /// The backend is not suitable.
    Rejected(Rejection),
    /// The backend is suitable.
    Fits(Score),
    /// The statement goes to this backend.
    Chosen,
}

/// The figures by which suitable backends are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// This worker's statements in flight on the backend.
    pub in_flight: u32,
    /// Its weight, reduced by slow start.
    pub weight: f64,
    /// Its response time; none if it was not measured.
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

/// A backend that is suitable for the statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatementCandidate {
    /// Its index in the topology.
    index: usize,
    id: BackendId,
    arrival: Arrival,
    vicinity: Vicinity,
    in_flight: u32,
    weight: u32,
    /// Its share under slow start, in 1 ..= [`FULL_SHARE`].
    share: u64,
}

/// Chooses the backend for a statement. Preferred, in this order: the backend of the session's last read
/// (`sticky`); backends that are known to have the writes; backends in the proxy's zone.
/// [`Topology::reads`] decides among the rest.
///
/// `loads` belong to this worker. Nothing is locked, and nothing is allocated once they know every backend.
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

/// One wish and the data that decide it.
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

    /// Whether the backend has the writes, or will soon. If a replica lags more than the statement may wait,
    /// waiting for it is useless.
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

    /// The response time that this worker has measured, or else the control plane's.
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
