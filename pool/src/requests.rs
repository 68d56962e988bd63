//! The requests of sessions to a pool, and the pool's answers.

use std::rc::Rc;
use std::time::Duration;

use crate::{CloseReason, Closing, Holding, Lease, Limits, OpeningPermit, RateLimit, Ticket};

/// The limits of a key's connections.
#[derive(Debug)]
pub struct Supply {
    /// The limits in this worker.
    pub limits: Limits,
    /// The backend's rate limit in this worker, shared by the keys of one backend.
    pub rate_limit: Rc<RateLimit>,
    /// The key's parts of limits that span keys or workers; each made for this key.
    pub holdings: Vec<Holding>,
}

/// A session's request for a connection.
#[derive(Debug)]
pub struct Wish<D, F> {
    /// `FnMut(&C) -> u32`: how far a connection's state is from the session's; 0 if nothing must
    /// be restored.
    pub distance: D,
    /// `FnOnce() -> W`: makes the waiter; called only if the session has to wait.
    pub waiter: F,
    /// The longest time the session waits; with zero it is refused instead.
    pub patience: Duration,
    /// The number of sessions that wait with other keys that share the limit of waiters with this key.
    pub waiting_elsewhere: usize,
}

/// The next step of a session.
#[derive(Debug)]
#[must_use]
pub enum Verdict<C> {
    /// Use this idle connection. If it is dead before anything was sent, forget the lease and check
    /// out again.
    Take(C, Lease),
    /// Open a connection, and report the outcome.
    Open(OpeningPermit),
    /// Wait until the waiter is woken or refused.
    Wait(Ticket),
    /// Give up.
    Refuse(Refusal),
}

/// Why a session gets no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// The key was never added, or removed.
    #[error("the backend or the account is not known here")]
    Unknown,
    /// The backend is down or drained; another may serve.
    #[error("the backend takes no new work")]
    Shut,
    /// As many sessions wait as may wait.
    #[error("too many sessions wait for a connection")]
    Crowded,
    /// No connection became free in time.
    #[error("no connection became free in time")]
    TimedOut,
}

/// The next state of a connection that was released.
#[derive(Debug)]
#[must_use]
pub enum Next<C, W> {
    /// It goes straight to a waiter: hand it over.
    Wake(Wake<C, W>),
    /// It lies idle in the pool.
    Rest,
    /// It is idle for a moment, and then is closed to make room for a waiter of another key:
    /// [`next_tick`](crate::Pool::next_tick) has to be asked again.
    Linger,
    /// Close it, then report that.
    Close(C, CloseReason, Closing),
}

/// A waiter's turn. If the waiter is gone, give back or [`waive`](crate::Pool::waive) what it was granted.
#[derive(Debug)]
#[must_use = "somebody waits for this"]
pub struct Wake<C, W> {
    /// The waiter to wake.
    pub waiter: W,
    /// The connection or permit for the waiter.
    pub grant: Grant<C>,
}

/// The connection or permit with which a waiter is woken.
#[derive(Debug)]
#[must_use]
pub enum Grant<C> {
    /// A connection, lent to the waiter.
    Connection(C, Lease),
    /// The right to open a connection.
    Permit(OpeningPermit),
}
