//! Decides which of a worker's compressed connections unpacks next.
//!
//! 16 KiB of frames may be 16 MiB unpacked, and the worker's other sessions wait meanwhile. So a connection unpacks a
//! few times what has arrived, and then waits in the queue of its thread. [`serve_unpack_queue`] lets the first
//! connection unpack a slice after each poll of the sockets: between two slices, all sessions whose bytes have arrived
//! are served.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use tokio::task::yield_now;

/// How many bytes may be unpacked for each byte that has arrived. Ordinary statements and results
/// do not compress better than that, so they never wait.
const PER_ARRIVED_BYTE: usize = 4;
/// How many bytes may be unpacked after each arrival, however small it is.
const PER_ARRIVAL_BYTES: usize = 16 * 1024;
/// How many bytes are unpacked in one turn: about 0.1 ms at 300 MB per second.
pub(super) const SLICE_BYTES: usize = 32 * 1024;

thread_local! {
    static QUEUE: UnpackQueue = UnpackQueue::default();
}

/// The waiting connections of one thread, in the order of their arrival.
#[derive(Default)]
struct UnpackQueue {
    waiting: RefCell<VecDeque<Weak<Waiter>>>,
    /// The servers of the queue that found it empty.
    idle_servers: RefCell<Vec<Waker>>,
    /// The number of tasks that serve the queue: none if the thread belongs to no worker, several if workers share it.
    servers: Cell<usize>,
}

/// A connection that waits for its turn.
#[derive(Default, Debug)]
struct Waiter {
    waker: Mutex<Option<Waker>>,
    has_turn: AtomicBool,
}

impl Waiter {
    fn wakes(&self, waker: &Waker) {
        let mut kept = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *kept {
            Some(kept) => kept.clone_from(waker),
            None => *kept = Some(waker.clone()),
        }
    }

    fn give_turn(&self) {
        self.has_turn.store(true, Ordering::Release);
        let mut kept = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waker) = kept.take() {
            waker.wake();
        }
    }
}

impl UnpackQueue {
    fn push(&self, waiter: &Arc<Waiter>) {
        self.waiting.borrow_mut().push_back(Arc::downgrade(waiter));
        for server in self.idle_servers.take() {
            server.wake();
        }
    }

    /// Waits for a connection, and gives it its turn.
    fn poll_waiter(&self, context: &mut Context<'_>) -> Poll<()> {
        if self.give_turn() {
            return Poll::Ready(());
        }
        let mut idle = self.idle_servers.borrow_mut();
        if !idle.iter().any(|it| it.will_wake(context.waker())) {
            idle.push(context.waker().clone());
        }
        Poll::Pending
    }

    /// Gives the first connection its turn and skips connections that are gone. False if the queue is empty.
    fn give_turn(&self) -> bool {
        let first = {
            let mut waiting = self.waiting.borrow_mut();
            std::iter::from_fn(|| waiting.pop_front()).find_map(|it| it.upgrade())
        };
        if let Some(waiter) = &first {
            waiter.give_turn();
        }
        first.is_some()
    }
}

/// Serves the queue of this thread, as long as it is polled. Each worker runs this as one of its tasks.
pub async fn serve_unpack_queue() {
    let _serving = Serving::begin();
    loop {
        poll_fn(|context| QUEUE.with(|queue| queue.poll_waiter(context))).await;
        // The runtime polls its sockets first.
        yield_now().await;
    }
}

/// Counts as a server of this thread's queue while it lives.
struct Serving;

impl Serving {
    fn begin() -> Self {
        QUEUE.with(|queue| queue.servers.update(|servers| servers + 1));
        Self
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // The thread may be ending.
        let _ = QUEUE.try_with(|queue| {
            queue.servers.update(|servers| servers - 1);
            while queue.servers.get() == 0 && queue.give_turn() {}
        });
    }
}

/// How much one connection may unpack before it waits.
#[derive(Default, Debug)]
pub(super) struct UnpackAllowance {
    bytes: usize,
    waiter: Option<Arc<Waiter>>,
}

impl UnpackAllowance {
    /// Notes that bytes have arrived.
    pub(super) fn arrived(&mut self, count: usize) {
        let more = count.saturating_mul(PER_ARRIVED_BYTE);
        self.bytes = self.bytes.max(more).max(PER_ARRIVAL_BYTES);
    }

    /// Notes that bytes were unpacked.
    pub(super) fn spend(&mut self, count: usize) {
        self.bytes = self.bytes.saturating_sub(count);
    }

    /// Waits until bytes may be unpacked; returns how many.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<usize> {
        if self.bytes == 0 {
            return self.poll_turn(context);
        }
        Poll::Ready(self.bytes)
    }

    #[cold]
    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<usize> {
        if let Some(waiter) = &self.waiter {
            // Register before the check: the turn may be given on another thread.
            waiter.wakes(context.waker());
            if !waiter.has_turn.load(Ordering::Acquire) {
                return Poll::Pending;
            }
            self.waiter = None;
            self.bytes = SLICE_BYTES;
            return Poll::Ready(self.bytes);
        }
        QUEUE.with(|queue| match queue.servers.get() {
            0 => {
                self.bytes = SLICE_BYTES;
                // Wakes this task after the runtime has polled its sockets.
                let _ = pin!(yield_now()).poll(context);
            }
            _ => {
                let waiter = Arc::<Waiter>::default();
                waiter.wakes(context.waker());
                queue.push(&waiter);
                self.waiter = Some(waiter);
            }
        });
        Poll::Pending
    }
}

#[cfg(test)]
mod tests;
