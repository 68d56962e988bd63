//! The statements that run on one backend, and the transactions that wait before they begin there.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use link::failure::{Failure, FailureKind};
use pool::{QueuePlace, Span};
use tokio::sync::oneshot;
use tokio::time::timeout;
use wire::errors;

use crate::pool_env::PoolEnv;
use crate::running_limit::{RunningLimit, call, update};
use crate::sub_pool::SubPool;

/// A transaction behind this many others checks the limit half as often as the first one.
const LINE_PART: usize = 32;

/// A statement that counts as running while this value lives, or that has been admitted.
#[derive(Debug)]
pub struct RunningStatement {
    sub_pool: Rc<SubPool>,
    span: Span,
}

impl RunningStatement {
    /// Counts the first statement of a transaction. `None` if the transaction has to wait ([`wait_in_queue`]).
    #[inline]
    pub fn begin(sub_pool: &Rc<SubPool>) -> Option<Self> {
        let span = sub_pool.running.begin()?;
        Some(Self::of(sub_pool, span))
    }

    /// Counts a later statement of a transaction that has begun.
    #[inline]
    pub fn go_on(sub_pool: &Rc<SubPool>) -> Self {
        Self::of(sub_pool, sub_pool.running.go_on())
    }

    fn of(sub_pool: &Rc<SubPool>, span: Span) -> Self {
        Self {
            sub_pool: Rc::clone(sub_pool),
            span,
        }
    }

    /// Whether the statement counts at this sub-pool's backend.
    pub fn is_at(&self, sub_pool: &SubPool) -> bool {
        Arc::ptr_eq(&self.sub_pool.running, &sub_pool.running)
    }

    /// Ends the statement at the time `now`.
    #[inline]
    pub fn ends(self, now: Duration) {
        if self.sub_pool.running.is_due(now) {
            update(&self.sub_pool.running, now);
        }
    }
}

impl Drop for RunningStatement {
    #[inline]
    fn drop(&mut self) {
        self.sub_pool.running.end(self.span, call);
    }
}

/// Waits until the transaction may begin, at the latest until all running statements have run for long.
pub async fn wait_in_queue(env: &PoolEnv, sub_pool: &Rc<SubPool>) -> RunningStatement {
    let limit = &sub_pool.running;
    // The limit may still count old statements that count no more after an update.
    update(limit, env.now().0);
    if let Some(begun) = RunningStatement::begin(sub_pool) {
        return begun;
    }
    let (waiters_max, counts_for) = {
        let config = &env.settings.borrow().config.pool;
        (config.waiters_max, config.adaptive_limit_counts_for)
    };
    if limit.waiting() >= waiters_max {
        return RunningStatement::go_on(sub_pool);
    }
    let mut queued = Queued::new(limit);
    let ahead = u32::try_from(limit.ahead_of(queued.place) / LINE_PART).unwrap_or(u32::MAX);
    let patience = counts_for.saturating_mul(ahead.saturating_add(1));
    loop {
        match timeout(patience, &mut queued.called).await {
            Ok(Ok(span)) => return RunningStatement::of(sub_pool, span),
            // The limit lives as long as a transaction is in the queue.
            Ok(Err(_)) => return RunningStatement::go_on(sub_pool),
            Err(_) => update(limit, env.now().0),
        }
    }
}

/// The error of a transaction that waited too long in the queue.
pub fn queue_timed_out(sub_pool: &SubPool, patience: Duration) -> Failure {
    let name = &sub_pool.backend.name;
    let error = errors::no_turn_in_time(name, format_args!("{patience:?}"));
    Failure::saying(FailureKind::PoolExhausted, error)
}

/// A place in the queue. The transaction leaves the queue when this is dropped.
struct Queued<'a> {
    limit: &'a RunningLimit,
    place: QueuePlace,
    called: oneshot::Receiver<Span>,
}

impl<'a> Queued<'a> {
    fn new(limit: &'a RunningLimit) -> Self {
        let (call_it, called) = oneshot::channel();
        let place = limit.join_queue(call_it);
        // The last statement may have ended before the transaction was in the queue.
        limit.admit(call);
        Self {
            limit,
            place,
            called,
        }
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        // From now on an admission finds that the transaction has gone.
        self.called.close();
        if !self.limit.leave_queue(self.place)
            && let Ok(span) = self.called.try_recv()
        {
            self.limit.give_up(span, call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pool::{AdaptiveLimit, Bounds};

    fn limit(places: u32) -> RunningLimit {
        AdaptiveLimit::new(Bounds {
            min: places,
            max: places,
            counts_for: Duration::from_millis(100),
        })
    }

    #[test]
    fn a_waiter_that_left_gives_its_turn_to_the_next() {
        let limit = limit(1);
        let running = limit.go_on();
        let [first, second] = [(); 2].map(|()| Queued::new(&limit));
        let mut third = Queued::new(&limit);
        drop(first);
        limit.end(running, call);
        // The transaction was admitted, and leaves before it has noticed that.
        drop(second);
        let span = third.called.try_recv().unwrap();
        assert_eq!(limit.figures().running, 1);
        limit.end(span, call);
        drop(third);
        let figures = limit.figures();
        assert_eq!((figures.running, figures.waiting), (0, 0));
    }
}
