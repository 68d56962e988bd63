//! Which of a worker's compressed connections unpacks next.
//!
//! 16 KiB of frames may be 16 MiB unpacked. The other sessions of the worker wait meanwhile, so a connection unpacks a few
//! times what has arrived, and then waits in the queue of its thread. [`serve_unpack_queue`] lets the first one unpack a slice
//! after each look at the sockets: all sessions whose bytes have come are served between two slices.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use tokio::task::yield_now;

/// So many bytes may be unpacked for each byte that has arrived. Ordinary statements and results are not smaller packed, and so
/// never wait.
const PER_ARRIVED_BYTE: usize = 4;
/// So many bytes are unpacked behind each arrival, however small it is.
const PER_ARRIVAL_BYTES: usize = 16 * 1024;
/// So many bytes are unpacked in one turn: some 0.1 ms at 300 MB a second.
pub(super) const SLICE_BYTES: usize = 32 * 1024;

thread_local! {
    static QUEUE: UnpackQueue = UnpackQueue::default();
}

/// Connections of one thread, the one that has waited longest first.
#[derive(Default)]
struct UnpackQueue {
    waiting: RefCell<VecDeque<Weak<Waiter>>>,
    /// Those who serve the queue and found nothing in it.
    idle_servers: RefCell<Vec<Waker>>,
    /// How many serve it: none in a thread that is no worker's, several where workers share a thread.
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

    /// Gives the first connection its turn. A connection that is gone has none. False: the queue is empty.
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

/// Serves the queue of this thread, for as long as it is polled. It belongs to a worker, as one of its tasks.
pub async fn serve_unpack_queue() {
    let _serving = Serving::begin();
    loop {
        poll_fn(|context| QUEUE.with(|queue| queue.poll_waiter(context))).await;
        // The runtime looks at its sockets first.
        yield_now().await;
    }
}

/// Somebody serves the queue of this thread.
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
    /// So many bytes have arrived.
    pub(super) fn arrived(&mut self, count: usize) {
        let more = count.saturating_mul(PER_ARRIVED_BYTE);
        self.bytes = self.bytes.max(more).max(PER_ARRIVAL_BYTES);
    }

    /// So many bytes are unpacked.
    pub(super) fn spend(&mut self, count: usize) {
        self.bytes = self.bytes.saturating_sub(count);
    }

    /// Waits until something may be unpacked; says how much.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<usize> {
        if self.bytes == 0 {
            return self.poll_turn(context);
        }
        Poll::Ready(self.bytes)
    }

    #[cold]
    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<usize> {
        if let Some(waiter) = &self.waiter {
            // Before the look at its turn: it may be given on another thread.
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
                // Wakes this task when the runtime has looked at its sockets.
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
