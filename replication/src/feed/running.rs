//! The replicas that currently get events, for the admin port and metrics.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The replicas that currently get events, by their identity.
#[derive(Debug, Default)]
pub struct Feeds {
    running: Mutex<HashMap<String, RunningFeed>>,
}

#[derive(Debug)]
struct RunningFeed {
    /// Dropping it ends the stream.
    end: oneshot::Sender<()>,
    view: Arc<Mutex<ReplicaView>>,
}

/// The state of a replica's stream at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplicaView {
    /// The cluster whose transactions it gets.
    pub cluster: String,
    /// What identifies the replica: its UUID (MySQL), or its server id (MariaDB).
    pub identity: String,
    /// The account and the address that it has connected with.
    pub name: String,
    /// When its stream began, in microseconds since 1970.
    pub since: i64,
    /// Whether it has all durable transactions of the relay.
    pub is_live: bool,
    /// The relay file of the last event that was sent.
    pub file: String,
    /// The offset of that event's end in the file, in bytes.
    pub position: u64,
    /// Events that were sent.
    pub events: u64,
    /// Bytes that were sent, including packet headers.
    pub bytes: u64,
}

/// The entry of a replica's stream. Dropping it removes the stream from the views.
#[derive(Debug)]
pub struct Feeding {
    feeds: Arc<Feeds>,
    identity: String,
    view: Arc<Mutex<ReplicaView>>,
    /// Resolves if the same replica begins another stream.
    pub ended: oneshot::Receiver<()>,
}

impl Feeds {
    /// Adds a stream. Ends an older stream of the same replica.
    pub fn begin(self: &Arc<Self>, view: ReplicaView) -> Feeding {
        let (end, ended) = oneshot::channel();
        let identity = view.identity.clone();
        let view = Arc::new(Mutex::new(view));
        let running = RunningFeed {
            end,
            view: Arc::clone(&view),
        };
        locked(&self.running).insert(identity.clone(), running);
        Feeding {
            feeds: Arc::clone(self),
            identity,
            view,
            ended,
        }
    }

    /// The views of all streams, by cluster and identity.
    pub fn views(&self) -> Vec<ReplicaView> {
        let running = locked(&self.running);
        let live = running.values().filter(|it| !it.end.is_closed());
        let mut views: Vec<_> = live.map(|it| locked(&it.view).clone()).collect();
        views.sort_by(|a, b| (&a.cluster, &a.identity).cmp(&(&b.cluster, &b.identity)));
        views
    }
}

impl Feeding {
    /// Changes the stream's view.
    pub fn change(&self, change: impl FnOnce(&mut ReplicaView)) {
        change(&mut locked(&self.view));
    }
}

impl Drop for Feeding {
    fn drop(&mut self) {
        let mut running = locked(&self.feeds.running);
        let is_own = |it: &RunningFeed| Arc::ptr_eq(&it.view, &self.view);
        if running.get(&self.identity).is_some_and(is_own) {
            running.remove(&self.identity);
        }
    }
}

fn locked<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replica(identity: &str) -> ReplicaView {
        ReplicaView {
            identity: identity.to_owned(),
            ..ReplicaView::default()
        }
    }

    #[test]
    fn a_replica_that_comes_again_ends_its_older_stream_and_is_shown_once() {
        let feeds = Arc::new(Feeds::default());
        let mut first = feeds.begin(replica("a"));
        let second = feeds.begin(replica("a"));
        let _other = feeds.begin(replica("b"));
        assert!(
            first
                .ended
                .try_recv()
                .is_err_and(|it| it == oneshot::error::TryRecvError::Closed)
        );
        second.change(|view| view.events = 7);
        drop(first);
        let events = || feeds.views().iter().map(|it| it.events).collect::<Vec<_>>();
        assert_eq!(events(), [7, 0]);
        drop(second);
        assert_eq!(events(), [0]);
    }
}
