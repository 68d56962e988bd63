//! How many statements may run on one server at once: a limit that adapts itself, and the queue of waiting
//! transactions.
//!
//! ```text
//!   a transaction begins ── fewer run than the limit ──► it runs ── its statement ends ──► the first in the queue runs
//!                       └── as many run, or some wait ──► it waits in the queue ──────────────────────▲
//!   a transaction goes on ───────────────────────────► it runs, whatever the limit says
//! ```
//!
//! Only a transaction that begins has to wait; one that has begun has locks that others may wait for. A statement
//! that runs for longer than [`Bounds::counts_for`] is not counted any more: it reads much or waits itself, and
//! transactions behind it must not wait for ever. The limit follows the throughput ([`Climb`]).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

mod climb;
#[cfg(test)]
mod tests;

pub use climb::Climb;

/// The bounds of the limit, and which statements count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The limit is never below this.
    pub min: u32,
    /// The limit is never above this.
    pub max: u32,
    /// A statement that has run for longer (at most twice as long) is not counted. The limit is updated so often.
    pub counts_for: Duration,
}

/// When a statement began, as far as it has to be known: in which span of [`Bounds::counts_for`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a statement that has begun has to end"]
pub struct Span(u32);

/// A place in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePlace(u64);

/// The figures of a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LimitFigures {
    /// The limit.
    pub limit: u32,
    /// Statements that run and count.
    pub running: u32,
    /// Transactions in the queue.
    pub waiting: u32,
    /// Transactions that have waited in the queue since the start.
    pub waited: u64,
}

/// The spans with counts of their own: this one, the one before, and the next.
const SPANS: usize = 3;

/// One server's limit, shared by all workers. `W` is a waiting transaction; when it is admitted, it gets the span
/// in which it begins.
#[derive(Debug)]
pub struct AdaptiveLimit<W> {
    counts: RunningCounts,
    queue: Mutex<WaitQueue<W>>,
}

/// The values that each statement changes, apart from the rest.
#[derive(Debug)]
#[repr(align(128))]
struct RunningCounts {
    running: [AtomicI32; SPANS],
    span: AtomicU32,
    limit: AtomicU32,
    waiting: AtomicU32,
    ended: AtomicU64,
    /// When the limit is updated next, in microseconds.
    due: AtomicU64,
}

#[derive(Debug)]
struct WaitQueue<W> {
    waiting: VecDeque<(u64, W)>,
    /// All transactions that ever waited in the queue.
    waited: u64,
    bounds: Bounds,
    climb: Climb,
    looked_at: Duration,
    ended_then: u64,
}

impl<W> AdaptiveLimit<W> {
    /// A limit within these bounds.
    pub fn new(bounds: Bounds) -> Self {
        let climb = Climb::new(bounds.min, bounds.max);
        Self {
            counts: RunningCounts {
                running: Default::default(),
                // The span before is another slot.
                span: AtomicU32::new(1),
                limit: AtomicU32::new(climb.limit()),
                waiting: AtomicU32::new(0),
                ended: AtomicU64::new(0),
                due: AtomicU64::new(0),
            },
            queue: Mutex::new(WaitQueue {
                waiting: VecDeque::new(),
                waited: 0,
                bounds,
                climb,
                looked_at: Duration::ZERO,
                ended_then: 0,
            }),
        }
    }

    /// Changes the bounds; the limit moves within them.
    pub fn set_bounds(&self, bounds: Bounds) {
        let mut queue = self.queue();
        if queue.bounds != bounds {
            queue.bounds = bounds;
            queue.climb.set_bounds(bounds.min, bounds.max);
            self.publish(&queue);
        }
    }

    /// Returns the limit's figures.
    pub fn figures(&self) -> LimitFigures {
        let waited = self.queue().waited;
        LimitFigures {
            limit: self.counts.limit.load(Ordering::Relaxed),
            running: self.running(),
            waiting: self.counts.waiting.load(Ordering::Relaxed),
            waited,
        }
    }

    /// A transaction begins. None: it has to [wait in the queue](Self::join_queue).
    #[inline]
    pub fn begin(&self) -> Option<Span> {
        let is_free = self.counts.waiting.load(Ordering::SeqCst) == 0 && self.has_room();
        is_free.then(|| self.go_on())
    }

    /// A statement begins, whatever the limit says: its transaction has begun already.
    #[inline]
    pub fn go_on(&self) -> Span {
        let span = self.counts.span.load(Ordering::Relaxed);
        self.count_in(span).fetch_add(1, Ordering::SeqCst);
        Span(span)
    }

    /// A statement has ended. `admit` gets the transactions whose turn it is now, and returns whether they were still
    /// there.
    #[inline]
    pub fn end(&self, span: Span, admit: impl FnMut(W, Span) -> bool) {
        self.counts.ended.fetch_add(1, Ordering::Relaxed);
        self.forget(span);
        if self.counts.waiting.load(Ordering::SeqCst) > 0 {
            self.admit(admit);
        }
    }

    /// A transaction that was to begin does not: its place goes to the next.
    pub fn give_up(&self, span: Span, admit: impl FnMut(W, Span) -> bool) {
        self.forget(span);
        self.admit(admit);
    }

    /// Waits in the queue, behind all others. Call [`admit`](Self::admit) once afterwards, because the last statement
    /// may have ended meanwhile.
    pub fn join_queue(&self, waiter: W) -> QueuePlace {
        let mut queue = self.queue();
        queue.waited += 1;
        let place = queue.waited;
        queue.waiting.push_back((place, waiter));
        self.publish(&queue);
        QueuePlace(place)
    }

    /// Leaves the queue. False: the transaction was admitted, and its span has to be [given up](Self::give_up).
    pub fn leave_queue(&self, place: QueuePlace) -> bool {
        let mut queue = self.queue();
        let found = queue.waiting.binary_search_by_key(&place.0, |(it, _)| *it);
        let taken = found.ok().and_then(|at| queue.waiting.remove(at));
        self.publish(&queue);
        taken.is_some()
    }

    /// How many transactions wait in the queue.
    pub fn waiting(&self) -> usize {
        self.counts.waiting.load(Ordering::Relaxed) as usize
    }

    /// How many transactions wait before this one.
    pub fn ahead_of(&self, place: QueuePlace) -> usize {
        let queue = self.queue();
        let found = queue.waiting.binary_search_by_key(&place.0, |(it, _)| *it);
        found.unwrap_or(0)
    }

    /// Admits the transactions in the queue whose turn it is.
    pub fn admit(&self, mut admit: impl FnMut(W, Span) -> bool) {
        while let Some((waiter, span)) = self.next() {
            if !admit(waiter, span) {
                self.forget(span);
            }
        }
    }

    /// Whether [`update`](Self::update) has something to do now.
    #[inline]
    pub fn is_due(&self, now: Duration) -> bool {
        micros(now) >= self.counts.due.load(Ordering::Relaxed)
    }

    /// Stops counting old statements and moves the limit, once in [`Bounds::counts_for`]; more frequent calls do
    /// nothing. Afterwards waiting transactions are to be [admitted](Self::admit).
    pub fn update(&self, now: Duration) {
        let mut queue = self.queue();
        if !self.is_due(now) {
            return;
        }
        let ended = self.counts.ended.load(Ordering::Relaxed);
        let took = now.saturating_sub(queue.looked_at);
        let done = ended - queue.ended_then;
        let is_short = took < queue.bounds.counts_for * 3;
        queue.looked_at = now;
        queue.ended_then = ended;
        let due = now.saturating_add(queue.bounds.counts_for);
        self.counts.due.store(micros(due), Ordering::Relaxed);
        // After a time without statements nothing is known.
        match is_short && !queue.waiting.is_empty() {
            true => queue.climb.note(done, took),
            false => queue.climb.pause(),
        }
        self.begin_span();
        self.publish(&queue);
    }

    fn next(&self) -> Option<(W, Span)> {
        let mut queue = self.queue();
        if !self.has_room() {
            return None;
        }
        let (_, waiter) = queue.waiting.pop_front()?;
        self.publish(&queue);
        Some((waiter, self.go_on()))
    }

    /// From now on, statements that began before the last span are not counted.
    fn begin_span(&self) {
        let next = self.counts.span.load(Ordering::Relaxed).wrapping_add(1);
        self.count_in(next).store(0, Ordering::SeqCst);
        self.counts.span.store(next, Ordering::SeqCst);
    }

    fn forget(&self, span: Span) {
        let age = self
            .counts
            .span
            .load(Ordering::Relaxed)
            .wrapping_sub(span.0);
        if age <= 1 {
            self.count_in(span.0).fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn has_room(&self) -> bool {
        self.running() < self.counts.limit.load(Ordering::Relaxed)
    }

    /// The sum of two spans. When a span begins at this moment, a count may be wrong by a few until it is reset.
    fn running(&self) -> u32 {
        let span = self.counts.span.load(Ordering::Relaxed);
        let of = |span| self.count_in(span).load(Ordering::SeqCst);
        let all = of(span).saturating_add(of(span.wrapping_sub(1)));
        u32::try_from(all).unwrap_or(0)
    }

    fn count_in(&self, span: u32) -> &AtomicI32 {
        &self.counts.running[span as usize % SPANS]
    }

    fn publish(&self, queue: &WaitQueue<W>) {
        let waiting = u32::try_from(queue.waiting.len()).unwrap_or(u32::MAX);
        self.counts.waiting.store(waiting, Ordering::SeqCst);
        let limit = queue.climb.limit();
        self.counts.limit.store(limit, Ordering::Relaxed);
    }

    fn queue(&self) -> MutexGuard<'_, WaitQueue<W>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
