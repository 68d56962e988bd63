//! The data plane as the binary uses it: start, hand over clients, drain.

use std::sync::Arc;
use std::time::Duration;

use net::clock;
use net::listen::Accepted;
use net::worker::{WorkerEnd, Workers};
use tokio::sync::mpsc;
use tokio::time::timeout_at;

use crate::context::{DataPlaneContext, Shared};
use crate::data_plane_handle::DataPlaneHandle;
use crate::worker::{Arrival, Message, Worker};
use stats::seen_digests::SeenDigest;

/// How long sessions have to end after they were asked to end now.
const TIMEOUT_STOP: Duration = Duration::from_secs(2);

/// How long workers may take to report what they have seen.
const TIMEOUT_TELL: Duration = Duration::from_secs(2);

/// All workers and their sessions.
pub struct DataPlane {
    workers: Workers<Message>,
    handle: DataPlaneHandle,
}

impl DataPlane {
    /// Starts `count` workers.
    ///
    /// # Errors
    /// The kernel's error, if it cannot provide a thread or its reactor.
    pub fn start(count: usize, plane_context: &DataPlaneContext) -> std::io::Result<DataPlane> {
        let shared = Arc::new(Shared::default());
        let given = (plane_context.clone(), Arc::clone(&shared));
        let workers = Workers::start(count, "worker", move |context| {
            let (plane_context, shared) = given.clone();
            Worker::run(context, plane_context, shared)
        })?;
        Ok(DataPlane::of(workers, shared, plane_context))
    }

    /// Does the same as [`DataPlane::start`], but on the current thread and its local runtime, for
    /// simulations and for tests in one process.
    pub fn start_here(count: usize, plane_context: &DataPlaneContext) -> DataPlane {
        let shared = Arc::new(Shared::default());
        let workers = Workers::start_here(count, |context| {
            Worker::run(context, plane_context.clone(), Arc::clone(&shared))
        });
        DataPlane::of(workers, shared, plane_context)
    }

    fn of(
        workers: Workers<Message>,
        shared: Arc<Shared>,
        plane_context: &DataPlaneContext,
    ) -> DataPlane {
        let handle = DataPlaneHandle::new(workers.mailboxes(), shared, plane_context.clone());
        DataPlane { workers, handle }
    }

    /// Gives a client to the least loaded worker. If that worker is gone, the connection closes.
    pub fn take(&self, accepted: Accepted, listener: Arc<config::ListenerConfig>) {
        let seat = self.workers.least_loaded();
        let worker = seat.worker();
        let Accepted { socket, remote } = accepted;
        if self
            .workers
            .send(
                worker,
                Message::Arrival(Arrival {
                    socket,
                    remote,
                    seat,
                    listener,
                }),
            )
            .is_err()
        {
            tracing::error!(
                worker,
                "the proxy has refused a client because a worker has failed; restart the proxy"
            );
        }
    }

    /// Returns the handle for other parts of the process.
    pub fn handle(&self) -> &DataPlaneHandle {
        &self.handle
    }

    /// Returns the number of sessions, including those in login.
    pub fn sessions(&self) -> usize {
        (0..self.workers.count())
            .map(|worker| self.workers.load(worker))
            .sum()
    }

    /// Returns the statements that pooled sessions have sent recently, as far as `digests` keeps
    /// them, worker by worker. `None` if a worker is too busy to answer.
    pub async fn seen_digests(&self) -> Option<Vec<SeenDigest>> {
        let (to, mut told) = mpsc::unbounded_channel();
        self.workers.send_all(|| Message::Tell(to.clone()));
        drop(to);
        let mut all = Vec::new();
        let deadline = clock::now() + TIMEOUT_TELL;
        while let Some(of_worker) = timeout_at(deadline, told.recv()).await.ok()? {
            all.extend(of_worker);
        }
        Some(all)
    }

    /// Waits for a worker that ends by itself, which should not happen; returns the text of its panic.
    pub async fn next_end(&mut self) -> Option<(usize, WorkerEnd)> {
        self.workers.next_end().await
    }

    /// Ends sessions as soon as they are at rest. After `limit`, or when `hurry` completes, ends
    /// them whatever they are doing. Returns how many had to be cut off.
    pub async fn drain(mut self, limit: Duration, hurry: impl Future<Output = ()>) -> usize {
        self.workers.send_all(|| Message::Drain);
        let rested = async {
            tokio::select! {
                biased;
                () = all_ended(&mut self.workers) => true,
                () = tokio::time::sleep(limit) => false,
                () = hurry => false,
            }
        };
        if rested.await {
            return 0;
        }
        let cut = self.sessions();
        self.workers.send_all(|| Message::Stop);
        let deadline = clock::now() + TIMEOUT_STOP;
        if timeout_at(deadline, all_ended(&mut self.workers))
            .await
            .is_err()
        {
            tracing::warn!(
                sessions = self.sessions(),
                "the proxy stops while sessions are still open; their connections break"
            );
        }
        cut
    }
}

async fn all_ended(workers: &mut Workers<Message>) {
    while workers.next_end().await.is_some() {}
}
