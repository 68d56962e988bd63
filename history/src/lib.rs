//! The proxy's record of its past: recent events, the cost of digests, and the load, interval by interval.
//!
//! ```text
//!   Observed (the admin port: workers, the kernel)
//!      │  once an interval
//!      ▼
//!   digest_deltas, load ──► recorder ──► store, load_store ──► digest_view, load_view
//!   what has come since     when, and     SQLite: a file,       digest_history and load_history,
//!   the last look           what fails    or memory             which a statement reads in their database
//!
//!   events: what has happened to backends, the configuration and sessions, the last thousand, in memory
//! ```
//!
//! A separate thread collects and writes the history ([`History::start`]), so nothing else waits for the disk. If
//! an interval cannot be written, its counts are written with the next interval. Age (`age`) and size (`store`)
//! limit the history.
//!
//! This crate does not depend on workers or on tables of the admin port.

#![forbid(unsafe_code)]

mod age;
mod digest_deltas;
mod digest_view;
mod events;
mod facts;
mod load;
mod load_store;
mod load_view;
mod location;
mod recorder;
mod span;
mod store;
#[cfg(test)]
mod tests;
mod view;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use config::Config;
use registry::worker_view::{TimesView, WorkerView};
use stats::StatementStatsView;
use system::System;
use tokio::sync::oneshot;

use age::Now;
pub use digest_view::DIGEST_HISTORY;
pub use events::{Event, EventKind, Events};
pub use facts::{Facts, HistoryFacts, facts_of};
use load::LoadCounts;
pub use load_view::LOAD_HISTORY;
pub use location::StateFolder;
use recorder::HistoryRecorder;
pub use view::{HistoryColumn, HistoryValue, HistoryView};

/// The source of the history's data. The history's thread calls these methods once per interval.
pub trait Observed: Send + 'static {
    /// The clock and the threads of the process.
    fn system(&self) -> System;
    /// The current settings.
    fn config(&self) -> Arc<Config>;
    /// The statement counters. None if a worker has not answered, because incomplete counters would look like a
    /// reset the next time.
    fn statements(&self) -> impl Future<Output = Option<StatementStatsView>>;
    /// The histograms of the statements' times since the start.
    fn times(&self) -> Vec<TimesView>;
    /// The workers' reports of their sessions. None if a worker has not answered.
    fn workers(&self) -> impl Future<Output = Option<Vec<WorkerView>>>;
    /// The processor time that the process has used, and its memory in bytes.
    fn usage(&self) -> Option<(Duration, u64)>;
}

/// How often the thread checks whether an interval is over.
const TICK: Duration = Duration::from_secs(1);

/// How long the last write may take when the proxy stops.
const TIMEOUT_END: Duration = Duration::from_secs(3);

/// The history's thread, and its state for readers.
pub struct History {
    facts: Facts,
    stop: Option<oneshot::Sender<()>>,
    ended: Receiver<()>,
}

impl History {
    /// Starts the history's thread.
    ///
    /// # Errors
    /// The kernel cannot create a thread.
    pub fn start(
        observed: impl Observed,
        events: &Arc<Events>,
        folder: StateFolder,
    ) -> io::Result<Self> {
        let facts = Facts::default();
        let (stop, stopped) = oneshot::channel();
        let (has_ended, ended) = channel::<()>();
        let system = observed.system();
        let recorder = HistoryRecorder::new(
            Arc::clone(&facts),
            Arc::clone(events),
            folder,
            system.clock.clone(),
        );
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        system.threads.start("history", move || {
            runtime.block_on(keep(recorder, observed, stopped, has_ended));
        })?;
        Ok(Self {
            facts,
            stop: Some(stop),
            ended,
        })
    }

    /// The state of the history, for readers.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Writes the unfinished last interval, unless that takes too long.
    pub fn end(&mut self) {
        drop(self.stop.take());
        // If the disk hangs, do not wait for the thread.
        let _ = self.ended.recv_timeout(TIMEOUT_END);
    }
}

/// The thread's main function.
async fn keep(
    mut recorder: HistoryRecorder,
    observed: impl Observed,
    mut stopped: oneshot::Receiver<()>,
    has_ended: Sender<()>,
) {
    let beginning = recorder.clock.steady();
    let first = observed.config();
    if first.has_http_callers() {
        // The data of an earlier process is available at once.
        recorder.begin(&first.statement_stats);
    }
    loop {
        let is_over = tokio::time::timeout(TICK, &mut stopped).await.is_ok();
        let config = observed.config();
        if config.has_http_callers() {
            note_load(&mut recorder, &observed, &config, (beginning, is_over)).await;
            note_digests(&mut recorder, &observed, &config, (beginning, is_over)).await;
        } else {
            recorder.forget();
        }
        if is_over {
            return drop(has_ended);
        }
    }
}

/// Writes an interval of digests, if it is due.
async fn note_digests(
    recorder: &mut HistoryRecorder,
    observed: &impl Observed,
    config: &Config,
    (beginning, is_over): (Instant, bool),
) {
    if !config.statement_stats.digests {
        return recorder.forget_digests();
    }
    if !is_over && !recorder.is_due(&config.statement_stats, Now::wall_clock(&recorder.clock)) {
        return;
    }
    if let Some(view) = observed.statements().await {
        let now = Now::since(beginning, &recorder.clock);
        recorder.note(&config.statement_stats, view, now);
    }
}

/// Writes an interval of the load, if it is due.
async fn note_load(
    recorder: &mut HistoryRecorder,
    observed: &impl Observed,
    config: &Config,
    (beginning, is_over): (Instant, bool),
) {
    if !is_over && !recorder.is_load_due(&config.statement_stats, Now::wall_clock(&recorder.clock))
    {
        return;
    }
    let workers = observed.workers().await;
    let counts = LoadCounts::new(observed.times(), workers.as_deref(), observed.usage());
    let now = Now::since(beginning, &recorder.clock);
    recorder.note_load(config, counts, now);
}
