//! How many statements rules let through: counted for all workers together, behind one lock that only
//! statements under a limit touch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use route::Moment;
use route::rules::{Admission, Entrance, Gates, Limited, Rates};
use tokio::sync::oneshot;

/// The limits of all rules.
#[derive(Default)]
pub struct StatementLimits(Mutex<Counted>);

#[derive(Default)]
struct Counted {
    rates: Rates,
    gates: Gates<Ticket>,
}

struct Ticket(oneshot::Sender<()>);

/// Whether a statement comes through a gate.
pub enum Passage {
    /// It is in.
    In(Inside),
    /// Others are; it is in as soon as it learns of it.
    Waits(Waiting),
}

impl StatementLimits {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When a statement may go by its limit's rate.
    pub fn admit(&self, limited: &Limited<'_>, now: Moment) -> Admission {
        self.counted().rates.admit(limited, now)
    }
}

/// Goes in, or waits in the queue. `max` is how many may be in at once.
pub fn enter(limits: &Arc<StatementLimits>, key: u64, max: u32) -> Passage {
    let mut counted = limits.counted();
    match counted.gates.enter(key, max) {
        Entrance::In => Passage::In(Inside {
            limits: Arc::clone(limits),
            key,
        }),
        Entrance::Full => {
            let (ticket, called) = oneshot::channel();
            counted.gates.wait(key, Ticket(ticket));
            Passage::Waits(Waiting {
                limits: Arc::clone(limits),
                key,
                called,
            })
        }
    }
}

/// One statement inside; out when dropped.
pub struct Inside {
    limits: Arc<StatementLimits>,
    key: u64,
}

impl Drop for Inside {
    fn drop(&mut self) {
        let mut counted = self.limits.counted();
        while let Some(Ticket(next)) = counted.gates.leave(self.key) {
            if next.send(()).is_ok() {
                return;
            }
        }
    }
}

/// One in the queue; out of it when dropped.
pub struct Waiting {
    limits: Arc<StatementLimits>,
    key: u64,
    called: oneshot::Receiver<()>,
}

impl Waiting {
    /// Waits until it is called.
    pub async fn called(&mut self) -> Inside {
        // Tickets are dropped only by those that wait.
        let _ = (&mut self.called).await;
        Inside {
            limits: Arc::clone(&self.limits),
            key: self.key,
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.called.close();
        if self.called.try_recv().is_ok() {
            // It was called and has not heard it: its place goes to the next.
            drop(Inside {
                limits: Arc::clone(&self.limits),
                key: self.key,
            });
            return;
        }
        let mut counted = self.limits.counted();
        let is_gone = |ticket: &Ticket| ticket.0.is_closed();
        counted.gates.give_up(self.key, is_gone);
    }
}
