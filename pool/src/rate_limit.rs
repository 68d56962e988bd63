//! How fast connections to a backend are opened: a token bucket whose rate grows after the backend's return.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

/// Limits how many connections to one backend one worker opens in a second: after a restart, a
/// storm would hit a server whose caches are cold.
///
/// The keys of one backend in one pool share one rate limit (an `Rc`). Those that wait for it are served
/// in the order in which they began to wait.
#[derive(Debug)]
pub struct RateLimit {
    opens_per_second: f64,
    burst: f64,
    ramp: Duration,
    state: RefCell<RateState>,
}

#[derive(Debug)]
struct RateState {
    tokens: f64,
    filled_at: Duration,
    /// When the backend came back.
    returned_at: Option<Duration>,
    /// The sub-pools that wait, by arrival.
    line: VecDeque<usize>,
}

/// The part of its rate that a backend gets at its return.
const FIRST_SHARE: f64 = 0.1;

/// The shortest pause before the next try, because timers are no finer.
const PAUSE_MIN: Duration = Duration::from_millis(1);

/// Sums of fractions reach a whole token only nearly.
const NEARLY: f64 = 1e-6;

impl RateLimit {
    /// `opens_per_second` in the long run, `burst` at once (both at least 1). After a return the
    /// rate grows from a tenth to the whole over `ramp`.
    pub fn new(opens_per_second: u32, burst: u32, ramp: Duration) -> RateLimit {
        RateLimit {
            opens_per_second: f64::from(opens_per_second.max(1)),
            burst: f64::from(burst.max(1)),
            ramp,
            state: RefCell::new(RateState {
                tokens: f64::from(burst.max(1)),
                filled_at: Duration::ZERO,
                returned_at: None,
                line: VecDeque::new(),
            }),
        }
    }

    /// The backend has come back: one connection now, the rest along the ramp.
    pub fn begin_ramp(&self, now: Duration) {
        if self.ramp.is_zero() {
            return;
        }
        let mut state = self.state.borrow_mut();
        state.returned_at = Some(now);
        state.filled_at = now;
        state.tokens = 1.0;
    }

    /// Whether `sub_pool` may open one connection after those in the queue before it have opened theirs.
    pub(crate) fn is_ready(&self, sub_pool: usize, now: Duration) -> bool {
        self.fill(now);
        let state = self.state.borrow();
        state.tokens + NEARLY >= state.needed(sub_pool)
    }

    /// When `sub_pool` may try again, if the queue moves on as it should.
    pub(crate) fn ready_at(&self, sub_pool: usize, now: Duration) -> Duration {
        self.fill(now);
        let state = self.state.borrow();
        let missing = state.needed(sub_pool) - state.tokens;
        if missing <= NEARLY {
            return now;
        }
        let seconds = missing / (self.opens_per_second * self.share(&state, now));
        let pause = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        now.saturating_add(pause.max(PAUSE_MIN))
    }

    /// One connection is being opened.
    pub(crate) fn spend(&self) {
        self.state.borrow_mut().tokens -= 1.0;
    }

    /// The connection is not opened, after all.
    pub(crate) fn refund(&self) {
        let mut state = self.state.borrow_mut();
        state.tokens = (state.tokens + 1.0).min(self.burst);
    }

    pub(crate) fn join_queue(&self, sub_pool: usize) {
        let mut state = self.state.borrow_mut();
        if !state.line.contains(&sub_pool) {
            state.line.push_back(sub_pool);
        }
    }

    pub(crate) fn leave_queue(&self, sub_pool: usize) {
        let mut state = self.state.borrow_mut();
        if !state.line.is_empty() {
            state.line.retain(|waiting| *waiting != sub_pool);
        }
    }

    pub(crate) fn is_queued(&self, sub_pool: usize) -> bool {
        self.state.borrow().line.contains(&sub_pool)
    }

    fn fill(&self, now: Duration) {
        let mut state = self.state.borrow_mut();
        let share = self.share(&state, now);
        let passed = now.saturating_sub(state.filled_at).as_secs_f64();
        let most = (self.burst * share).max(1.0);
        let filled = state.tokens + passed * self.opens_per_second * share;
        state.tokens = filled.min(most);
        state.filled_at = now.max(state.filled_at);
    }

    fn share(&self, state: &RateState, now: Duration) -> f64 {
        match state.returned_at {
            Some(returned) if now < returned.saturating_add(self.ramp) => {
                let passed = now.saturating_sub(returned).as_secs_f64();
                (passed / self.ramp.as_secs_f64()).max(FIRST_SHARE)
            }
            _ => 1.0,
        }
    }
}

impl RateState {
    /// Tokens that must be there for `sub_pool` to have one: its own and one for each before it.
    fn needed(&self, sub_pool: usize) -> f64 {
        let before = self.line.iter().position(|waiting| *waiting == sub_pool);
        before.unwrap_or(self.line.len()) as f64 + 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn opens(rate_limit: &RateLimit, sub_pool: usize, now: Duration) -> usize {
        let mut opens = 0;
        while rate_limit.is_ready(sub_pool, now) {
            rate_limit.spend();
            opens += 1;
        }
        opens
    }

    #[test]
    fn a_burst_is_followed_by_the_rate() {
        let rate_limit = RateLimit::new(10, 3, Duration::ZERO);
        assert_eq!(opens(&rate_limit, 0, MS), 3);
        assert_eq!(opens(&rate_limit, 0, 99 * MS), 0);
        assert_eq!(opens(&rate_limit, 0, 101 * MS), 1);
        assert_eq!(opens(&rate_limit, 0, 10_000 * MS), 3);
    }

    #[test]
    fn the_rate_limit_returns_the_time_of_the_next_allowed_opening() {
        let rate_limit = RateLimit::new(10, 1, Duration::ZERO);
        rate_limit.spend();
        assert_eq!(rate_limit.ready_at(0, Duration::ZERO), 100 * MS);
        assert!(rate_limit.is_ready(0, 100 * MS));
    }

    #[test]
    fn the_first_waiter_opens_first() {
        let rate_limit = RateLimit::new(10, 2, Duration::ZERO);
        assert_eq!(opens(&rate_limit, 0, MS), 2);
        rate_limit.join_queue(7);
        assert_eq!(opens(&rate_limit, 0, 101 * MS), 0, "the token is 7's");
        assert_eq!(opens(&rate_limit, 7, 101 * MS), 1);
        rate_limit.leave_queue(7);
        assert_eq!(opens(&rate_limit, 0, 201 * MS), 1);
    }

    #[test]
    fn after_a_return_the_rate_grows() {
        let rate_limit = RateLimit::new(100, 100, 1000 * MS);
        rate_limit.begin_ramp(MS);
        let first = opens(&rate_limit, 0, MS);
        let early: usize = (0..10)
            .map(|i| opens(&rate_limit, 0, MS * (10 + 10 * i)))
            .sum();
        let late: usize = (0..10)
            .map(|i| opens(&rate_limit, 0, MS * (900 + 10 * i)))
            .sum();
        assert_eq!(first, 1);
        assert!(early <= 2, "{early}");
        assert!(late >= 8, "{late}");
    }
}
