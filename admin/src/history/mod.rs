//! The digests' history: what they have cost, interval by interval, kept in SQLite.
//!
//! ```text
//!   workers ──► growth: since the last look ──► store: a file, or memory ──► view: digest_history
//!     a thread of its own looks and writes        bounded by age and bytes     read where it is
//! ```
//!
//! Nobody waits for the disk. What cannot be written stays counted, and is written with the next interval.

mod age;
mod digest_deltas;
mod store;
#[cfg(test)]
mod tests;
pub mod view;

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use config::{Config, HistoryConfig};
use proxy::Window;
use stats::{StatementStatsView, StatsRequest};
use tokio::sync::oneshot;

use crate::events::{EventKind, Events};
use age::{Age, Now};
use digest_deltas::{Counted, Grown};
use store::{Bounds, Span, Store};

/// Time between two looks whether something is due.
const TICK: Duration = Duration::from_secs(1);

/// How long the last interval may take when the proxy ends.
const TIMEOUT_END: Duration = Duration::from_secs(3);

/// Where the history is, and how it fares; for whoever reads it.
#[derive(Debug, Clone, Default)]
pub struct HistoryFacts {
    /// As SQLite is told it; none: there is nothing yet.
    pub source: Option<String>,
    /// The file, if one is wanted.
    pub file: Option<PathBuf>,
    /// Rows written since the start.
    pub written: u64,
    /// Intervals that could not be written when they were due.
    pub failed: u64,
    /// Why nothing can be written now.
    pub trouble: Option<String>,
}

/// The history's thread, and what is to be known of it.
pub struct History {
    facts: Facts,
    stop: Option<oneshot::Sender<()>>,
    ended: Receiver<()>,
}

/// What is to be known of the history, shared with its thread.
pub type Facts = Arc<Mutex<HistoryFacts>>;

/// What is known at this moment.
pub fn facts_of(facts: &Facts) -> HistoryFacts {
    facts.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl History {
    /// Begins to keep it.
    ///
    /// # Errors
    /// The kernel's: there is no thread to be had.
    pub fn start(window: &Window, events: &Arc<Events>) -> io::Result<Self> {
        let facts = Facts::default();
        let (stop, stopped) = oneshot::channel();
        let (has_ended, ended) = channel::<()>();
        let keeper = HistoryRecorder::new(Arc::clone(&facts), Arc::clone(events));
        let window = window.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        std::thread::Builder::new()
            .name("history".to_owned())
            .spawn(move || runtime.block_on(keep(keeper, window, stopped, has_ended)))?;
        Ok(Self {
            facts,
            stop: Some(stop),
            ended,
        })
    }

    /// Where it is told how it fares.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Writes what the last interval has been so far, unless that takes too long.
    pub fn end(&mut self) {
        drop(self.stop.take());
        // One whose disk hangs is left behind.
        let _ = self.ended.recv_timeout(TIMEOUT_END);
    }
}

/// The thread's life.
async fn keep(
    mut keeper: HistoryRecorder,
    window: Window,
    mut stopped: oneshot::Receiver<()>,
    has_ended: Sender<()>,
) {
    let beginning = Instant::now();
    let first = window.settings();
    if is_wanted(&first.config) {
        // What an earlier process has written is there at once.
        keeper.begin(&first.config.history);
    }
    loop {
        let is_over = tokio::time::timeout(TICK, &mut stopped).await.is_ok();
        let settings = window.settings();
        let config = &settings.config;
        if is_wanted(config) {
            if is_over || keeper.is_due(&config.history, wall()) {
                let view = window.insight(StatsRequest::All).await;
                // A part of them would look like a count from nothing the next time.
                if view.workers.len() == window.workers() {
                    keeper.note(&config.history, view, now(beginning));
                }
            }
        } else {
            keeper.forget();
        }
        if is_over {
            return drop(has_ended);
        }
    }
}

/// Whether there is anything to keep.
fn is_wanted(config: &Config) -> bool {
    config.insight.digests && config.is_looked_at()
}

/// Writes the history; its fields are kept between two intervals.
struct HistoryRecorder {
    facts: Facts,
    events: Arc<Events>,
    store: Option<Store>,
    counted: Counted,
    /// When the interval has begun, in seconds since 1970.
    start: i64,
    /// The same by a clock that nobody sets.
    steady: i64,
    /// When it was last tried to write one.
    tried: i64,
    /// By what rows are old.
    age: Option<Age>,
}

impl HistoryRecorder {
    fn new(facts: Facts, events: Arc<Events>) -> Self {
        Self {
            facts,
            events,
            store: None,
            counted: Counted::default(),
            start: wall(),
            steady: 0,
            tried: wall(),
            age: None,
        }
    }

    /// Whether the interval is over: they begin at multiples of their length, by the clock.
    fn is_due(&self, config: &HistoryConfig, now: i64) -> bool {
        let length = i64::try_from(config.interval.as_secs()).unwrap_or(i64::MAX);
        let length = length.max(1);
        // A clock that was set back begins anew.
        now.div_euclid(length) != self.tried.div_euclid(length)
    }

    /// Nothing is counted any more.
    fn forget(&mut self) {
        if self.store.take().is_some() {
            self.tell(|facts| facts.source = None);
        }
        self.counted = Counted::default();
        self.start = wall();
        self.tried = self.start;
        self.age = None;
    }

    /// Opens what there is.
    fn begin(&mut self, config: &HistoryConfig) {
        let trouble = self.open(config).err();
        self.trouble(config, trouble);
    }

    /// An interval is over.
    fn note(&mut self, config: &HistoryConfig, view: StatementStatsView, now: Now) {
        self.tried = now.wall;
        let grown = self.counted.grown(view, config.digests_max);
        let span = Span {
            start: self.start.min(now.wall),
            seconds: (now.steady - self.steady).max(1),
        };
        let written = self.write(config, span, &grown, now);
        match written {
            Ok(rows) => {
                self.counted = grown.counted;
                (self.start, self.steady) = (now.wall, now.steady);
                self.tell(|facts| facts.written += rows);
                self.trouble(config, None);
            }
            Err(error) => {
                self.tell(|facts| facts.failed += 1);
                if config.file.is_some() {
                    // The next try begins with a file that is opened anew. What is in memory would be gone.
                    self.store = None;
                    self.tell(|facts| facts.source = None);
                }
                self.trouble(config, Some(error));
            }
        }
    }

    /// Writes an interval; how many rows that were.
    fn write(
        &mut self,
        config: &HistoryConfig,
        span: Span,
        grown: &Grown,
        now: Now,
    ) -> Result<u64, String> {
        let retention = i64::try_from(config.retention.as_secs()).unwrap_or(i64::MAX);
        let newest = self.open(config)?.newest();
        let newest = newest.map_err(|error| error.to_string())?;
        let age = self
            .age
            .get_or_insert_with(|| Age::new(newest, now, retention));
        let bounds = Bounds {
            oldest: age.time(now, retention).saturating_sub(retention),
            bytes_max: config.bytes_max,
        };
        let written = self.open(config)?.write(span, grown, bounds);
        written.map_err(|error| error.to_string())
    }

    /// The database that is configured.
    fn open(&mut self, config: &HistoryConfig) -> Result<&mut Store, String> {
        let is_it = |store: &Store| store.file == config.file;
        let store = match self.store.take().filter(is_it) {
            Some(store) => store,
            None => Store::open(config.file.as_deref())?,
        };
        let source = Some(store.source.clone());
        self.tell(|facts| {
            facts.source = source;
            facts.file.clone_from(&config.file);
        });
        Ok(self.store.insert(store))
    }

    fn tell(&self, change: impl FnOnce(&mut HistoryFacts)) {
        change(&mut self.facts.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Tells of a trouble that begins, and of its end.
    fn trouble(&self, config: &HistoryConfig, trouble: Option<String>) {
        let before = {
            let mut facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
            facts.file.clone_from(&config.file);
            std::mem::replace(&mut facts.trouble, trouble.clone())
        };
        let file = config.file.as_ref();
        let subject = file.map_or_else(String::new, |file| file.display().to_string());
        match (before, trouble) {
            (None, Some(error)) => {
                tracing::warn!(file = subject, %error, "the proxy cannot write the history of digests and tries again later");
                let text = format!("cannot be written: {error}");
                self.events.note(EventKind::History, &subject, text, None);
            }
            (Some(_), None) => {
                tracing::info!(
                    file = subject,
                    "the history of digests can be written again"
                );
                let text = "can be written again";
                self.events.note(EventKind::History, &subject, text, None);
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
}

/// This moment.
fn now(beginning: Instant) -> Now {
    let steady = beginning.elapsed().as_secs();
    Now {
        wall: wall(),
        steady: i64::try_from(steady).unwrap_or(i64::MAX),
    }
}

/// Seconds since 1970.
fn wall() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX))
}
