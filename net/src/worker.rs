//! Worker threads: each runs one single-threaded runtime and owns all that lives on it.
//!
//! A worker is reached by messages only. A new session goes to the least loaded worker: the sender takes a [`Seat`]
//! there and sends it with the session. The seat is free again when it is dropped, on any thread.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::mpsc::{
    UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel,
};

/// The context of a worker's main future. It stays on the worker's thread.
pub struct WorkerContext<M> {
    /// Which worker this is, from 0.
    pub index: usize,
    /// The worker's messages; it ends when [`Workers`] is dropped.
    pub inbox: UnboundedReceiver<M>,
}

/// How a worker's thread ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WorkerEnd {
    /// Its main future returned.
    Finished,
    /// Its main future panicked, with this text. (A panic in a task ends that task only.)
    Panicked(String),
}

/// A place for one session on one worker, counted until it is dropped.
#[derive(Debug)]
pub struct Seat {
    worker: usize,
    load: Arc<AtomicUsize>,
}

impl Seat {
    fn take(worker: usize, load: &Arc<AtomicUsize>) -> Seat {
        load.fetch_add(1, Ordering::Relaxed);
        let load = Arc::clone(load);
        Seat { worker, load }
    }

    /// The worker whose place it is.
    pub fn worker(&self) -> usize {
        self.worker
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.load.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Worker<M> {
    messages: UnboundedSender<M>,
    load: Arc<AtomicUsize>,
    /// None: the worker is a task on the thread that started it.
    thread: Option<JoinHandle<()>>,
}

/// All workers, seen from outside.
pub struct Workers<M> {
    workers: Vec<Worker<M>>,
    ends: UnboundedReceiver<(usize, WorkerEnd)>,
    next: AtomicUsize,
}

/// A way to send messages to workers that does not keep the workers running.
pub struct Mailboxes<M> {
    workers: Vec<WeakUnboundedSender<M>>,
}

impl<M> Clone for Mailboxes<M> {
    fn clone(&self) -> Self {
        let workers = self.workers.clone();
        Self { workers }
    }
}

impl<M> Mailboxes<M> {
    /// How many workers were started.
    pub fn count(&self) -> usize {
        self.workers.len()
    }

    /// Sends a message made by `message` to each worker that has not ended.
    pub fn send_all(&self, mut message: impl FnMut() -> M) {
        for worker in self.workers.iter().filter_map(WeakUnboundedSender::upgrade) {
            // A worker that has ended needs no message.
            let _ = worker.send(message());
        }
    }
}

impl<M: Send + 'static> Workers<M> {
    /// Starts `count` threads named `{name}-{index}`; each drives the future `main` makes for it,
    /// and with it every task that is spawned there (`tokio::task::spawn_local`).
    /// When the future returns, the tasks that still run on that worker are dropped.
    ///
    /// # Errors
    /// The kernel's, if it cannot start a thread or its reactor.
    pub fn start<F, Fut>(count: usize, name: &str, main: F) -> io::Result<Workers<M>>
    where
        F: Fn(WorkerContext<M>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        let main = Arc::new(main);
        let (report, ends) = unbounded_channel();
        let mut workers = Vec::with_capacity(count);
        for index in 0..count {
            let (messages, inbox) = unbounded_channel();
            let context = WorkerContext { index, inbox };
            let main = Arc::clone(&main);
            let report = report.clone();
            let (started, start) = std::sync::mpsc::channel();
            let thread = std::thread::Builder::new()
                .name(format!("{name}-{index}"))
                .spawn(move || run(context, &*main, &started, &report))?;
            start
                .recv()
                .unwrap_or_else(|gone| Err(io::Error::other(gone)))?;
            workers.push(Worker {
                messages,
                load: Arc::default(),
                thread: Some(thread),
            });
        }
        Ok(Workers {
            workers,
            ends,
            next: AtomicUsize::new(0),
        })
    }

    /// As [`Workers::start`], but on the current thread and its runtime, which must be a local one: for
    /// simulations, and for tests in one process. A panic of the main future is reported as a task's panic.
    pub fn start_here<F, Fut>(count: usize, main: F) -> Workers<M>
    where
        F: Fn(WorkerContext<M>) -> Fut,
        Fut: Future<Output = ()> + 'static,
    {
        let (report, ends) = unbounded_channel();
        let workers = (0..count)
            .map(|index| {
                let (messages, inbox) = unbounded_channel();
                let life = main(WorkerContext { index, inbox });
                let report = report.clone();
                tokio::task::spawn_local(async move {
                    life.await;
                    let _ = report.send((index, WorkerEnd::Finished));
                });
                Worker {
                    messages,
                    load: Arc::default(),
                    thread: None,
                }
            })
            .collect();
        Workers {
            workers,
            ends,
            next: AtomicUsize::new(0),
        }
    }

    /// How many workers there are.
    pub fn count(&self) -> usize {
        self.workers.len()
    }

    /// A way to send messages to all workers that does not keep the workers running.
    pub fn mailboxes(&self) -> Mailboxes<M> {
        let workers = self.workers.iter();
        Mailboxes {
            workers: workers.map(|worker| worker.messages.downgrade()).collect(),
        }
    }

    /// Sessions on one worker.
    pub fn load(&self, worker: usize) -> usize {
        self.workers[worker].load.load(Ordering::Relaxed)
    }

    /// Takes a seat on the worker with the fewest sessions. Workers with equally many sessions take turns.
    pub fn least_loaded(&self) -> Seat {
        let count = self.workers.len();
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let worker = (0..count)
            .map(|step| first.wrapping_add(step) % count)
            .min_by_key(|&worker| self.load(worker))
            .expect("there is at least one worker");
        Seat::take(worker, &self.workers[worker].load)
    }

    /// Sends to one worker.
    ///
    /// # Errors
    /// The message itself, when that worker has ended.
    pub fn send(&self, worker: usize, message: M) -> Result<(), M> {
        let sent = self.workers[worker].messages.send(message);
        sent.map_err(|refused| refused.0)
    }

    /// Sends a message made by `message` to each worker that has not ended.
    pub fn send_all(&self, mut message: impl FnMut() -> M) {
        for worker in &self.workers {
            // `next_end` reports a worker that has ended.
            let _ = worker.messages.send(message());
        }
    }

    /// Waits for the next worker to end; `None` when all have. Cancelling loses nothing.
    pub async fn next_end(&mut self) -> Option<(usize, WorkerEnd)> {
        self.ends.recv().await
    }

    /// Closes every inbox and waits (blocking) until all threads have ended. Returns the ends that
    /// [`Workers::next_end`] has not returned yet.
    pub fn join(mut self) -> Vec<(usize, WorkerEnd)> {
        for worker in self.workers {
            drop(worker.messages);
            // A thread's panic is caught inside and reported as its end.
            let _ = worker.thread.map(JoinHandle::join);
        }
        std::iter::from_fn(|| self.ends.try_recv().ok()).collect()
    }
}

/// The whole run of a worker's thread.
fn run<M, Fut>(
    context: WorkerContext<M>,
    main: &impl Fn(WorkerContext<M>) -> Fut,
    started: &std::sync::mpsc::Sender<io::Result<()>>,
    report: &UnboundedSender<(usize, WorkerEnd)>,
) where
    Fut: Future<Output = ()> + 'static,
{
    let index = context.index;
    let runtime = match Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
    {
        Ok(runtime) => runtime,
        // The starting thread may have given up; then the error is not needed.
        Err(error) => return drop(started.send(Err(error))),
    };
    let _ = started.send(Ok(()));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async { main(context).await });
        drop(runtime);
    }));
    let end = match outcome {
        Ok(()) => WorkerEnd::Finished,
        Err(panic) => WorkerEnd::Panicked(panic_text(&*panic)),
    };
    let _ = report.send((index, end));
}

/// The text of a panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a text").to_owned()
}

#[cfg(test)]
mod tests;
