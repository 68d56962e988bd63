//! The state of streams, for the admin port and metrics.

use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use config::ReplicationSource;

use crate::changes::{ChangeReaders, ChangeRefusal, ChangeSource};
use crate::feed::Feeds;
use crate::relay::RelayLog;

/// The period over which rates are measured, in microseconds.
const RATE_TIME: i64 = 5_000_000;

/// All streams of the process, and the place of the history.
#[derive(Debug, Default)]
pub struct Streams {
    statuses: Mutex<Vec<Arc<StreamStatus>>>,
    source: Mutex<Option<String>>,
    feeds: Arc<Feeds>,
    /// The streams with relay files, whose changes can be read.
    change_sources: Mutex<Vec<ChangeSource>>,
    change_readers: Arc<ChangeReaders>,
}

/// The state of one stream.
#[derive(Debug)]
pub struct StreamStatus {
    counted: Mutex<CountedView>,
    relay: Mutex<Option<Arc<RelayLog>>>,
}

/// A view, and the start of the period over which its rates are measured.
#[derive(Debug)]
struct CountedView {
    view: StreamView,
    rate_begin: RateBegin,
}

/// When the period began, in microseconds since 1970, and the counts of events and bytes at that time.
#[derive(Debug, Clone, Copy, Default)]
struct RateBegin {
    at: i64,
    events: u64,
    bytes: u64,
}

/// The phase of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StreamState {
    /// Connects to a server.
    #[default]
    Connecting,
    /// Reads the definitions of all objects, before the first event.
    Reading,
    /// Receives events.
    Streaming,
    /// Has failed, and waits before the next attempt.
    Waiting,
}

/// The state of a stream at one moment.
#[derive(Debug, Clone, Default)]
pub struct StreamView {
    /// The stream's name.
    pub name: String,
    /// The cluster that it follows.
    pub cluster: String,
    /// The role of the server that it follows: `primary` or `replica`.
    pub from: &'static str,
    /// The stream's `server_id` among the server's replicas.
    pub server_id: u32,
    /// The backend that it follows now.
    pub backend: Option<String>,
    /// The stream's phase.
    pub state: StreamState,
    /// The transactions that the stream has processed.
    pub position: String,
    /// The GTID of the last transaction.
    pub last_gtid: Option<String>,
    /// Seconds between the server's writing of the last event and its arrival; 0 if the server has no more events.
    pub delay: Option<u64>,
    /// Events since the start.
    pub events: u64,
    /// Bytes of the events since the start.
    pub bytes: u64,
    /// Events that the filters have dropped.
    pub events_dropped: u64,
    /// Events that the filters have changed.
    pub events_changed: u64,
    /// Transactions since the start.
    pub transactions: u64,
    /// Changes of objects that were written into the history.
    pub changes: u64,
    /// Events per second, recently.
    pub events_per_second: u64,
    /// Bytes per second, recently.
    pub bytes_per_second: u64,
    /// How often the stream has connected.
    pub connects: u64,
    /// How often the stream has failed.
    pub errors: u64,
    /// The error of the last failure.
    pub last_error: Option<String>,
    /// The time of the last failure, in microseconds since 1970.
    pub last_error_time: Option<i64>,
}

impl StreamState {
    /// The name of the phase, as tables show it.
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
    /// The views of all streams, in the order of the configuration.
    pub fn views(&self) -> Vec<StreamView> {
        let statuses = self.statuses.lock();
        let statuses = statuses.unwrap_or_else(PoisonError::into_inner);
        statuses.iter().map(|it| it.view()).collect()
    }

    /// The relay log of a cluster's stream; none if no stream has one, or not yet.
    pub fn relay_of(&self, cluster: &str) -> Option<Arc<RelayLog>> {
        let statuses = self.statuses.lock();
        let statuses = statuses.unwrap_or_else(PoisonError::into_inner);
        let mut of_cluster = statuses.iter().filter(|it| it.view().cluster == cluster);
        of_cluster.find_map(|it| it.relay())
    }

    /// The replicas that get events from the relay files.
    pub fn feeds(&self) -> &Arc<Feeds> {
        &self.feeds
    }

    /// The readers of changes.
    pub fn change_readers(&self) -> &Arc<ChangeReaders> {
        &self.change_readers
    }

    /// The stream whose changes a reader gets: the cluster's, or the only one.
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

    /// The SQLite URI by which readers open the history; none if there is no history.
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

    /// Sets the stream's relay log.
    pub(crate) fn set_relay(&self, log: &Arc<RelayLog>) {
        let place = self.relay.lock();
        *place.unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(log));
    }

    /// The status of a stream that begins.
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

    /// A copy of the current state.
    pub fn view(&self) -> StreamView {
        self.lock().view.clone()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut StreamView)) {
        change(&mut self.lock().view);
    }

    /// Counts an event that has arrived; `now` in microseconds since 1970.
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
            // If the clock has gone back, the time that has passed is not known, and the last rates stay.
            if let Some(micros) = u64::try_from(passed).ok().and_then(NonZeroU64::new) {
                let per_second = |count: u64| count.saturating_mul(1_000_000) / micros;
                view.events_per_second = per_second(view.events - begin.events);
                view.bytes_per_second = per_second(view.bytes - begin.bytes);
            }
            self.rate_begin = RateBegin {
                at: now,
                events: view.events,
                bytes: view.bytes,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(times: &[i64]) -> [u64; 2] {
        let mut counted = CountedView {
            view: StreamView::default(),
            rate_begin: RateBegin::default(),
        };
        for now in times {
            counted.count(100, *now);
        }
        [
            counted.view.events_per_second,
            counted.view.bytes_per_second,
        ]
    }

    #[test]
    fn rates_are_those_of_the_last_whole_period() {
        let begin = 1_700_000_000_000_000;
        let times = [begin, begin + 1, begin + 2, begin + RATE_TIME];
        assert_eq!(after(&times), [0, 60]);
    }

    #[test]
    fn the_rates_stay_if_the_clock_goes_back() {
        let begin = 1_700_000_000_000_000;
        let times = [begin, begin + 1, begin + 2, begin + RATE_TIME, begin];
        assert_eq!(after(&times), [0, 60]);
    }
}
