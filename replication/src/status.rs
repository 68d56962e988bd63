//! How streams fare, for whoever looks: the admin port, metrics.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use config::ReplicationSource;

use crate::changes::{ChangeReaders, ChangeRefusal, ChangeSource};
use crate::feed::Feeds;
use crate::relay::RelayLog;

/// The time over which rates are counted, in microseconds.
const RATE_TIME: i64 = 5_000_000;

/// The streams of a process, and where the history is.
#[derive(Debug, Default)]
pub struct Streams {
    statuses: Mutex<Vec<Arc<StreamStatus>>>,
    source: Mutex<Option<String>>,
    feeds: Arc<Feeds>,
    /// The streams with relay files, whose changes can be read.
    change_sources: Mutex<Vec<ChangeSource>>,
    change_readers: Arc<ChangeReaders>,
}

/// How one stream fares.
#[derive(Debug)]
pub struct StreamStatus {
    counted: Mutex<CountedView>,
    relay: Mutex<Option<Arc<RelayLog>>>,
}

/// A view, and the begin of the time that its rates are counted over.
#[derive(Debug)]
struct CountedView {
    view: StreamView,
    rate_begin: RateBegin,
}

/// When rates began to be counted, in microseconds since 1970, and how many events and bytes there were.
#[derive(Debug, Clone, Copy, Default)]
struct RateBegin {
    at: i64,
    events: u64,
    bytes: u64,
}

/// What a stream does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StreamState {
    /// It connects to a server.
    #[default]
    Connecting,
    /// It reads what the objects of the server are, before its first event.
    Reading,
    /// Events come.
    Streaming,
    /// It has failed, and waits before it tries again.
    Waiting,
}

/// How a stream fares at one moment.
#[derive(Debug, Clone, Default)]
pub struct StreamView {
    /// Its name.
    pub name: String,
    /// The cluster that it follows.
    pub cluster: String,
    /// Which server of that; `primary` or `replica`.
    pub from: &'static str,
    /// Its `server_id` among the replicas.
    pub server_id: u32,
    /// The backend that it follows now.
    pub backend: Option<String>,
    /// What it does.
    pub state: StreamState,
    /// The transactions that it has had.
    pub position: String,
    /// The last of them.
    pub last_gtid: Option<String>,
    /// How long before it came the last event was written, in seconds; 0 if the server has nothing more to send.
    pub delay: Option<u64>,
    /// Events since the start.
    pub events: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Events that the filters have dropped.
    pub events_dropped: u64,
    /// Events that the filters have changed.
    pub events_changed: u64,
    /// Transactions since the start.
    pub transactions: u64,
    /// Changes of objects that were written into the history.
    pub changes: u64,
    /// Events a second of late.
    pub events_per_second: u64,
    /// Bytes a second of late.
    pub bytes_per_second: u64,
    /// How often it has connected.
    pub connects: u64,
    /// How often it has failed.
    pub errors: u64,
    /// Why it failed last.
    pub last_error: Option<String>,
    /// When that was, in microseconds since 1970.
    pub last_error_time: Option<i64>,
}

impl StreamState {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Reading => "reading",
            Self::Streaming => "streaming",
            Self::Waiting => "waiting",
        }
    }
}

impl Streams {
    /// All of them, in the order of the configuration.
    pub fn views(&self) -> Vec<StreamView> {
        let statuses = self.statuses.lock();
        let statuses = statuses.unwrap_or_else(PoisonError::into_inner);
        statuses.iter().map(|it| it.view()).collect()
    }

    /// What is kept for replicas of a cluster's stream; none if nothing is, or not yet.
    pub fn relay_of(&self, cluster: &str) -> Option<Arc<RelayLog>> {
        let statuses = self.statuses.lock();
        let statuses = statuses.unwrap_or_else(PoisonError::into_inner);
        let mut of_cluster = statuses.iter().filter(|it| it.view().cluster == cluster);
        of_cluster.find_map(|it| it.relay())
    }

    /// The replicas that are fed from what is kept.
    pub fn feeds(&self) -> &Arc<Feeds> {
        &self.feeds
    }

    /// Those who read changes.
    pub fn change_readers(&self) -> &Arc<ChangeReaders> {
        &self.change_readers
    }

    /// The stream whose changes are read: that of a cluster, or the only one.
    pub(crate) fn change_source(
        &self,
        cluster: Option<&str>,
    ) -> Result<ChangeSource, ChangeRefusal> {
        let sources = self.change_sources.lock();
        let sources = sources.unwrap_or_else(PoisonError::into_inner);
        let mut fitting = sources
            .iter()
            .filter(|it| cluster.is_none_or(|cluster| it.cluster() == cluster));
        match (fitting.next(), fitting.next(), cluster) {
            (Some(source), None, _) => Ok(source.clone()),
            (None, _, Some(cluster)) => Err(ChangeRefusal::NoStream(format!(
                "no [[replication]] of cluster \"{cluster}\" has a relay_folder"
            ))),
            (None, _, None) => Err(ChangeRefusal::NoStream(
                "no [[replication]] has a relay_folder".to_owned(),
            )),
            (Some(_), Some(_), Some(cluster)) => Err(ChangeRefusal::NoStream(format!(
                "several [[replication]] of cluster \"{cluster}\" have a relay_folder, so it is not clear whose changes \
                 are meant"
            ))),
            (Some(_), Some(_), None) => Err(ChangeRefusal::NoStream(
                "several clusters have changes; say which with cluster=NAME".to_owned(),
            )),
        }
    }

    /// The history as SQLite is told where it is, for reading; none if there is none.
    pub fn source(&self) -> Option<String> {
        let source = self.source.lock();
        source.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_source(&self, source: String) {
        let mut place = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(source);
    }

    pub(crate) fn set_change_sources(&self, sources: Vec<ChangeSource>) {
        let place = self.change_sources.lock();
        *place.unwrap_or_else(PoisonError::into_inner) = sources;
    }

    pub(crate) fn set(&self, statuses: Vec<Arc<StreamStatus>>) {
        let place = self.statuses.lock();
        *place.unwrap_or_else(PoisonError::into_inner) = statuses;
    }
}

impl StreamStatus {
    pub(crate) fn relay(&self) -> Option<Arc<RelayLog>> {
        let relay = self.relay.lock();
        relay.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The transactions are kept there.
    pub(crate) fn set_relay(&self, log: &Arc<RelayLog>) {
        let place = self.relay.lock();
        *place.unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(log));
    }

    /// Of a stream that begins.
    pub(crate) fn new(settings: &config::ReplicationConfig) -> Self {
        Self {
            relay: Mutex::default(),
            counted: Mutex::new(CountedView {
                view: StreamView {
                    name: settings.name.clone(),
                    cluster: settings.cluster.clone(),
                    from: match settings.from {
                        ReplicationSource::Primary => "primary",
                        ReplicationSource::Replica => "replica",
                    },
                    server_id: settings.server_id,
                    ..StreamView::default()
                },
                rate_begin: RateBegin::default(),
            }),
        }
    }

    /// How it fares now.
    pub fn view(&self) -> StreamView {
        self.lock().view.clone()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut StreamView)) {
        change(&mut self.lock().view);
    }

    /// An event has come; `now` in microseconds since 1970.
    pub(crate) fn count_event(&self, bytes: usize, now: i64, change: impl FnOnce(&mut StreamView)) {
        let mut counted = self.lock();
        counted.count(bytes, now);
        change(&mut counted.view);
    }

    fn lock(&self) -> MutexGuard<'_, CountedView> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CountedView {
    fn count(&mut self, bytes: usize, now: i64) {
        let view = &mut self.view;
        view.events += 1;
        view.bytes += bytes as u64;
        let begin = self.rate_begin;
        let passed = now - begin.at;
        if !(0..RATE_TIME).contains(&passed) {
            let per_second = |count: u64| {
                let micros = u64::try_from(passed).unwrap_or(0).max(1);
                count.saturating_mul(1_000_000) / micros
            };
            view.events_per_second = per_second(view.events - begin.events);
            view.bytes_per_second = per_second(view.bytes - begin.bytes);
            self.rate_begin = RateBegin {
                at: now,
                events: view.events,
                bytes: view.bytes,
            };
        }
    }
}
