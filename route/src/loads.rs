//! One worker's statements in flight on each backend, and the backends' response times. No atomics,
//! because a worker shares nothing.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use crate::select_backend::StatementCandidate;
use crate::{Backend, BackendId, Position};

/// One worker's counts. The counts of a backend stay over all snapshots.
#[derive(Debug, Default)]
pub struct Loads {
    /// By backend id; entries are made when the worker first uses a backend.
    local: RefCell<Vec<Rc<Local>>>,
    /// Scratch memory for a choice, kept for the next one.
    pub(crate) candidates: RefCell<Vec<StatementCandidate>>,
}

/// One worker's count for one backend.
#[derive(Debug, Default)]
struct Local {
    in_flight: Cell<u32>,
    /// Nanoseconds, exponentially weighted; 0 while unknown.
    latency: Cell<u64>,
    /// The position that it was seen to have, and the era of that observation.
    reached: RefCell<Option<(u32, Position)>>,
}

/// A statement in flight; dropping this ends the count.
#[derive(Debug)]
#[must_use = "the statement is counted only while this lives"]
pub struct InFlight(Rc<Local>);

/// If the observed position has this many pieces, it is replaced by the new one; the backend's standing contains
/// the old one by then.
const PIECES_MAX: usize = 64;

/// The weight of a new response time in the average is one part in this many.
const LATENCY_PARTS: u64 = 8;

impl Loads {
    /// Counts one more statement on this backend.
    pub fn begin(&self, backend: BackendId) -> InFlight {
        let local = self.local(backend);
        local.in_flight.set(local.in_flight.get() + 1);
        InFlight(local)
    }

    /// Returns this worker's statements in flight on the backend.
    pub fn in_flight(&self, backend: BackendId) -> u32 {
        self.of(backend, |local| local.in_flight.get()).unwrap_or(0)
    }

    /// Returns the backend's recent response time; none if it was not measured.
    pub fn latency(&self, backend: BackendId) -> Option<Duration> {
        let nanoseconds = self.of(backend, |local| local.latency.get())?;
        (nanoseconds > 0).then(|| Duration::from_nanos(nanoseconds))
    }

    /// Notes that a wait on the backend has succeeded: it has this position. Its standing will show that soon.
    pub fn reached(&self, backend: &Backend, position: &Position) {
        let era = backend.standing.era();
        let local = self.local(backend.id);
        let mut reached = local.reached.borrow_mut();
        match &mut *reached {
            Some((of, before)) if *of == era && before.pieces() < PIECES_MAX => {
                before.merge(position);
            }
            other => *other = Some((era, position.clone())),
        }
    }

    /// Whether the backend is known to have this position, from this worker's waits or from its standing.
    pub fn has(&self, backend: &Backend, wanted: &Position) -> bool {
        let seen_here = |local: &Local| {
            let reached = local.reached.borrow();
            let (era, position) = reached.as_ref()?;
            Some(*era == backend.standing.era() && position.contains(wanted))
        };
        backend.standing.has(wanted) || self.of(backend.id, seen_here).flatten() == Some(true)
    }

    fn of<T>(&self, backend: BackendId, ask: impl FnOnce(&Local) -> T) -> Option<T> {
        let local = self.local.borrow();
        local.get(backend.0 as usize).map(|local| ask(local))
    }

    fn local(&self, backend: BackendId) -> Rc<Local> {
        let mut local = self.local.borrow_mut();
        let index = backend.0 as usize;
        if local.len() <= index {
            local.resize_with(index + 1, Rc::default);
        }
        Rc::clone(&local[index])
    }
}

impl InFlight {
    /// Ends the count, with the time from the last byte sent to the first byte of the reply.
    pub fn answered_in(self, latency: Duration) {
        let latency = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX).max(1);
        let before = self.0.latency.get();
        self.0.latency.set(match before {
            0 => latency,
            _ => before - before / LATENCY_PARTS + latency / LATENCY_PARTS,
        });
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.set(self.0.in_flight.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: BackendId = BackendId(1);

    #[test]
    fn a_statement_counts_while_it_is_under_way() {
        let loads = Loads::default();
        assert_eq!(loads.in_flight(ONE), 0);
        let (first, second) = (loads.begin(ONE), loads.begin(ONE));
        assert_eq!(
            (loads.in_flight(ONE), loads.in_flight(BackendId(0))),
            (2, 0)
        );
        drop(first);
        second.answered_in(Duration::from_millis(1));
        assert_eq!(loads.in_flight(ONE), 0);
    }

    #[test]
    fn a_latency_follows_the_measurements() {
        let loads = Loads::default();
        assert_eq!(loads.latency(ONE), None);
        loads.begin(ONE).answered_in(Duration::from_millis(8));
        assert_eq!(loads.latency(ONE), Some(Duration::from_millis(8)));
        loads.begin(ONE).answered_in(Duration::from_millis(16));
        assert_eq!(loads.latency(ONE), Some(Duration::from_millis(9)));
        for _ in 0..100 {
            loads.begin(ONE).answered_in(Duration::from_millis(2));
        }
        let latency = loads.latency(ONE).unwrap_or_default();
        assert!(latency < Duration::from_micros(2010), "{latency:?}");
    }
}
