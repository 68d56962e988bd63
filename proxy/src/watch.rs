//! What a worker sees of each of its sessions, and how it tells one to end.
//!
//! A session writes a few cells as it goes; the worker's sweep reads them once a second. So neither
//! a timer nor a system call belongs to a statement.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

/// Why a worker asks a session to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ask {
    /// End when nothing is going on: no exchange, no transaction.
    Drain,
    /// It was idle for too long.
    IdleTimeout,
    /// End now.
    Stop,
}

/// One session's cells.
#[derive(Default)]
pub(crate) struct Watch {
    /// Between two exchanges?
    idle: Cell<bool>,
    /// The worker's second in which bytes last moved.
    active: Cell<u32>,
    asked: Cell<Option<Ask>>,
    waker: RefCell<Option<Waker>>,
}

impl Watch {
    /// The session notes where it stands.
    pub(crate) fn note(&self, second: u32, idle: bool) {
        self.active.set(second);
        self.idle.set(idle);
    }

    /// Seconds of idleness at `second`; 0 within an exchange or a login.
    pub(crate) fn idle_seconds(&self, second: u32) -> u32 {
        match self.idle.get() {
            true => second.saturating_sub(self.active.get()),
            false => 0,
        }
    }

    /// Asks the session to end; a stronger wish replaces a weaker one.
    pub(crate) fn ask(&self, ask: Ask) {
        if self.asked.get() < Some(ask) {
            self.asked.set(Some(ask));
            if let Some(waker) = self.waker.borrow_mut().take() {
                waker.wake();
            }
        }
    }

    /// What the session is asked, and who to wake when that changes.
    pub(crate) fn poll_asked(&self, context: &Context<'_>) -> Option<Ask> {
        let mut waker = self.waker.borrow_mut();
        if !waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(context.waker()))
        {
            *waker = Some(context.waker().clone());
        }
        self.asked.get()
    }

    /// Waits for a wish at least as strong as `ask`.
    pub(crate) async fn asked(&self, ask: Ask) -> Ask {
        poll_fn(|context| match self.poll_asked(context) {
            Some(asked) if asked >= ask => Poll::Ready(asked),
            _ => Poll::Pending,
        })
        .await
    }
}
