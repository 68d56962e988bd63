//! Writes the history: what is kept between two intervals, what becomes of an interval that cannot be written.

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

/// Writes the history; its fields are kept between two intervals.
pub struct HistoryRecorder {
    pub(crate) facts: Facts,
    pub(crate) events: Arc<Events>,
    folder: StateFolder,
    pub(crate) clock: Clock,
    pub(crate) store: Option<Store>,
    counted: Counted,
    /// When the interval has begun, in seconds since 1970.
    pub(crate) start: i64,
    /// The same by a clock that nobody sets.
    pub(crate) steady: i64,
    /// When it was last tried to write one.
    pub(crate) tried: i64,
    load: LoadRecorder,
    /// By what rows are old.
    age: Option<Age>,
}

impl HistoryRecorder {
    /// Nothing is counted, and no database is open.
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

    /// Whether the interval is over: they begin at multiples of their length, by the clock.
    pub fn is_due(&self, config: &StatementStatsConfig, now: i64) -> bool {
        let length = i64::try_from(config.history_interval.as_secs()).unwrap_or(i64::MAX);
        let length = length.max(1);
        // A clock that was set back begins anew.
        now.div_euclid(length) != self.tried.div_euclid(length)
    }

    /// The same for the load.
    pub fn is_load_due(&self, config: &StatementStatsConfig, now: i64) -> bool {
        self.load.is_due(config.history_load_interval, now)
    }

    /// Nothing is kept any more.
    pub fn forget(&mut self) {
        if self.store.take().is_some() {
            self.publish(|facts| facts.source = None);
        }
        self.forget_digests();
        self.load = LoadRecorder::new(Now::wall_clock(&self.clock));
        self.age = None;
    }

    /// Digests are not counted any more.
    pub fn forget_digests(&mut self) {
        self.counted = Counted::default();
        self.start = Now::wall_clock(&self.clock);
        self.tried = self.start;
    }

    /// Opens what there is.
    pub fn begin(&mut self, config: &StatementStatsConfig) {
        let trouble = self.open(config).err();
        self.trouble(config, trouble);
    }

    /// An interval of the load is over.
    pub fn note_load(&mut self, config: &Config, counts: LoadCounts, now: Now) {
        if let Some((span, rows)) = self.load.grown(&counts, now) {
            let history = &config.statement_stats;
            if let Err(error) = self.write_load(history, span, &rows, now) {
                return self.has_failed(history, error);
            }
            if !config.statement_stats.digests {
                // Else the next interval of digests tells whether all can be written.
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

    /// An interval of digests is over.
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

    /// An interval could not be written.
    fn has_failed(&mut self, config: &StatementStatsConfig, error: String) {
        self.publish(|facts| facts.failed += 1);
        if self.folder.file(config).is_some() {
            // The next try begins with a file that is opened anew. What is in memory would be gone.
            self.store = None;
            self.publish(|facts| facts.source = None);
        }
        self.trouble(config, Some(error));
    }

    /// Writes an interval; how many rows that were.
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

    /// What bounds the database now.
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

    /// The database that is configured.
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

    /// Opens the file or memory. If the file is not one that the settings name, memory may keep the history instead.
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

    /// Tells of a trouble that begins, and of its end.
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
