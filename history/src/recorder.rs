//! Writes the history. Keeps the state between two intervals, and handles intervals that cannot be written.

use std::sync::{Arc, PoisonError};

use config::{Config, StatementStatsConfig};
use stats::StatementStatsView;
use system::Clock;

use crate::age::{Age, Now};
use crate::digest_deltas::{Counted, Grown};
use crate::events::{EventKind, Events};
use crate::facts::{Facts, HistoryFacts};
use crate::load::{LoadCounts, LoadRecorder, LoadRow};
use crate::location::StateFolder;
use crate::span::Span;
use crate::store::{Bounds, Store};

/// Writes the history. Its fields are the state between two intervals.
pub struct HistoryRecorder {
    pub(crate) facts: Facts,
    pub(crate) events: Arc<Events>,
    folder: StateFolder,
    pub(crate) clock: Clock,
    pub(crate) store: Option<Store>,
    counted: Counted,
    /// When the interval began, in seconds since 1970.
    pub(crate) start: i64,
    /// When the interval began by the monotonic clock, in seconds.
    pub(crate) steady: i64,
    /// When the recorder last tried to write an interval, in seconds since 1970.
    pub(crate) tried: i64,
    load: LoadRecorder,
    /// The clock by which the age of rows is measured.
    age: Option<Age>,
}

impl HistoryRecorder {
    /// A recorder without counts and without an open database.
    pub fn new(facts: Facts, events: Arc<Events>, folder: StateFolder, clock: Clock) -> Self {
        let now = Now::wall_clock(&clock);
        Self {
            facts,
            events,
            folder,
            clock,
            store: None,
            counted: Counted::default(),
            start: now,
            steady: 0,
            tried: now,
            load: LoadRecorder::new(now),
            age: None,
        }
    }

    /// Whether the interval is over. Intervals begin at multiples of their length, by the wall clock.
    pub fn is_due(&self, config: &StatementStatsConfig, now: i64) -> bool {
        let length = i64::try_from(config.history_interval.as_secs()).unwrap_or(i64::MAX);
        let length = length.max(1);
        // If the clock was set back, a new interval begins, too.
        now.div_euclid(length) != self.tried.div_euclid(length)
    }

    /// Whether the interval of the load is over.
    pub fn is_load_due(&self, config: &StatementStatsConfig, now: i64) -> bool {
        self.load.is_due(config.history_load_interval, now)
    }

    /// Closes the database and forgets all counts, because the history is switched off.
    pub fn forget(&mut self) {
        if self.store.take().is_some() {
            self.publish(|facts| facts.source = None);
        }
        self.forget_digests();
        self.load = LoadRecorder::new(Now::wall_clock(&self.clock));
        self.age = None;
    }

    /// Forgets the counts of digests, because digests are switched off.
    pub fn forget_digests(&mut self) {
        self.counted = Counted::default();
        self.start = Now::wall_clock(&self.clock);
        self.tried = self.start;
    }

    /// Opens the database, and reports an error if that fails.
    pub fn begin(&mut self, config: &StatementStatsConfig) {
        let trouble = self.open(config).err();
        self.trouble(config, trouble);
    }

    /// Writes an interval of the load.
    pub fn note_load(&mut self, config: &Config, counts: LoadCounts, now: Now) {
        if let Some((span, rows)) = self.load.grown(&counts, now) {
            let history = &config.statement_stats;
            if let Err(error) = self.write_load(history, span, &rows, now) {
                return self.has_failed(history, error);
            }
            if !config.statement_stats.digests {
                // With digests, the next interval of digests decides whether writing works.
                self.trouble(history, None);
            }
        }
        self.load.written(counts, now);
    }

    fn write_load(
        &mut self,
        config: &StatementStatsConfig,
        span: Span,
        rows: &[LoadRow],
        now: Now,
    ) -> Result<(), String> {
        let bounds = self.bounds(config, now)?;
        let written = self.open(config)?.write_load(span, rows, bounds);
        written.map_err(|error| error.to_string())
    }

    /// Writes an interval of digests.
    pub fn note(&mut self, config: &StatementStatsConfig, view: StatementStatsView, now: Now) {
        self.tried = now.wall;
        let grown = self.counted.grown(view, config.history_digests_max);
        let span = Span {
            start: self.start.min(now.wall),
            seconds: (now.steady - self.steady).max(1),
        };
        let written = self.write(config, span, &grown, now);
        match written {
            Ok(rows) => {
                self.counted = grown.counted;
                (self.start, self.steady) = (now.wall, now.steady);
                self.publish(|facts| facts.written += rows);
                self.trouble(config, None);
            }
            Err(error) => self.has_failed(config, error),
        }
    }

    /// Handles an interval that could not be written.
    fn has_failed(&mut self, config: &StatementStatsConfig, error: String) {
        self.publish(|facts| facts.failed += 1);
        if self.folder.file(config).is_some() {
            // Open the file again at the next try. A database in memory stays open, because closing it would delete
            // its content.
            self.store = None;
            self.publish(|facts| facts.source = None);
        }
        self.trouble(config, Some(error));
    }

    /// Writes an interval. Returns the number of rows.
    fn write(
        &mut self,
        config: &StatementStatsConfig,
        span: Span,
        grown: &Grown,
        now: Now,
    ) -> Result<u64, String> {
        let bounds = self.bounds(config, now)?;
        let written = self.open(config)?.write(span, grown, bounds);
        written.map_err(|error| error.to_string())
    }

    /// Returns the current limits of the database.
    fn bounds(&mut self, config: &StatementStatsConfig, now: Now) -> Result<Bounds, String> {
        let retention = i64::try_from(config.history_retention.as_secs()).unwrap_or(i64::MAX);
        let newest = self.open(config)?.newest();
        let newest = newest.map_err(|error| error.to_string())?;
        let age = self
            .age
            .get_or_insert_with(|| Age::new(newest, now, retention));
        Ok(Bounds {
            oldest: age.time(now, retention).saturating_sub(retention),
            bytes_max: config.history_bytes_max,
        })
    }

    /// Returns the configured database, and opens it if needed.
    fn open(&mut self, config: &StatementStatsConfig) -> Result<&mut Store, String> {
        let file = self.folder.file(config);
        let store = match self.store.take().filter(|store| store.file == file) {
            Some(store) => store,
            None => self.opened(config)?,
        };
        let (source, file) = (Some(store.source.clone()), store.file.clone());
        self.publish(|facts| (facts.source, facts.file) = (source, file));
        Ok(self.store.insert(store))
    }

    /// Opens the file or memory. If the settings do not name the file, memory may replace it.
    fn opened(&mut self, config: &StatementStatsConfig) -> Result<Store, String> {
        let file = self.folder.file(config);
        match Store::open(file.as_deref()) {
            Err(error) if self.folder.is_own(config) => {
                let file = file.unwrap_or_default().display().to_string();
                tracing::warn!(file, %error, "the proxy cannot write the history in the state directory and keeps it in memory");
                self.folder.give_up();
                Store::open(None)
            }
            opened => opened,
        }
    }

    fn publish(&self, change: impl FnOnce(&mut HistoryFacts)) {
        change(&mut self.facts.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Reports when a trouble begins, and when it ends.
    fn trouble(&self, config: &StatementStatsConfig, trouble: Option<String>) {
        let before = {
            let mut facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
            facts.file = self.folder.file(config);
            std::mem::replace(&mut facts.trouble, trouble.clone())
        };
        let file = self.folder.file(config);
        let subject = file.map_or_else(String::new, |file| file.display().to_string());
        match (before, trouble) {
            (None, Some(error)) => {
                tracing::warn!(file = subject, %error, "the proxy cannot write the history and tries again later");
                let text = format!("cannot be written: {error}");
                self.events.note(EventKind::History, &subject, text, None);
            }
            (Some(_), None) => {
                tracing::info!(file = subject, "the history can be written again");
                let text = "can be written again";
                self.events.note(EventKind::History, &subject, text, None);
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
}
