//! The time, and a worker's coarse clock: reading the coarse clock is one load, no system call and no timer.
//!
//! Idle and login limits are counted in seconds. A session notes the second of its last command, and the worker
//! checks all sessions once a second. That is cheaper than a timer for every query.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

/// The time. If tokio's clock is paused, as in simulations, it is the virtual time.
#[inline]
pub fn now() -> Instant {
    Instant::now()
}

/// Whole seconds since the clock's worker started. Clones show the same time; a clock stays on its thread.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    seconds: Rc<Cell<u32>>,
}

impl Clock {
    /// A clock that stands at 0 until [`Clock::set`] moves it.
    pub fn stopped() -> Clock {
        Clock::default()
    }

    /// A clock that runs: a task on the current thread's runtime moves it until all clones
    /// are dropped.
    pub fn start() -> Clock {
        let clock = Clock::stopped();
        let seconds = Rc::downgrade(&clock.seconds);
        tokio::task::spawn_local(async move {
            let started = now();
            let mut ticks = tokio::time::interval(Duration::from_secs(1));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            loop {
                let now = ticks.tick().await;
                let Some(seconds) = seconds.upgrade() else {
                    return;
                };
                seconds.set(now.duration_since(started).as_secs() as u32);
            }
        });
        clock
    }

    /// Seconds since the start, at most one second late; a worker may run for 136 years.
    #[inline]
    pub fn now(&self) -> u32 {
        self.seconds.get()
    }

    /// Moves the clock; for tests and simulations.
    pub fn set(&self, seconds: u32) {
        self.seconds.set(seconds);
    }
}
