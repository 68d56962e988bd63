//! How many statements the rules let through, counted for all workers together. Only statements
//! under a limit touch this lock.

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

impl Counted {
    /// Calls a statement that has entered a gate, or the next one if that statement is gone.
    fn call(&mut self, key: u64, mut next: Option<Ticket>) {
        while let Some(Ticket(entered)) = next {
            if entered.send(()).is_ok() {
                return;
            }
            next = self.gates.leave(key);
        }
    }
}

struct Ticket(oneshot::Sender<()>);

/// Whether a statement may pass a gate.
pub enum Passage {
    /// The statement has passed.
    In(Inside),
    /// Other statements are running. The statement passes as soon as it is called.
    Waits(Waiting),
}

impl StatementLimits {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when a statement may run under the rate of its limit.
    pub fn admit(&self, limited: &Limited<'_>, now: Moment) -> Admission {
        self.counted().rates.admit(limited, now)
    }
}

/// Passes the gate, or joins the queue. `max` is how many statements may run at once.
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
            while let Some(admitted) = counted.gates.admit(key) {
                counted.call(key, Some(admitted));
            }
            Passage::Waits(Waiting {
                limits: Arc::clone(limits),
                key,
                called,
            })
        }
    }
}

/// A statement that has passed the gate; it leaves when this is dropped.
pub struct Inside {
    limits: Arc<StatementLimits>,
    key: u64,
}

impl Drop for Inside {
    fn drop(&mut self) {
        let mut counted = self.limits.counted();
        let next = counted.gates.leave(self.key);
        counted.call(self.key, next);
    }
}

/// A statement in the queue; it leaves the queue when this is dropped.
pub struct Waiting {
    limits: Arc<StatementLimits>,
    key: u64,
    called: oneshot::Receiver<()>,
}

impl Waiting {
    /// Waits until the statement is called.
    pub async fn called(&mut self) -> Inside {
        // A ticket is dropped only together with a waiting statement, so this one still exists.
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
            // The statement was called and will not run: its place goes to the next one.
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
