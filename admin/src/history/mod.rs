//! The history: what digests have cost, and the load of the proxy, interval by interval, kept in SQLite.
//!
//! ```text
//!   workers ──► digest_deltas, load: ──► store, load_store: ──► view, load_view: digest_history, load_history
//!               since the last look      a file, or memory      read where they are
//!     a thread of its own looks and writes; age and bytes bound what is kept
//! ```
//!
//! Nobody waits for the disk. What cannot be written stays counted, and is written with the next interval.

mod age;
mod digest_deltas;
pub mod facts;
mod load;
mod load_store;
pub mod load_view;
mod place;
mod recorder;
mod span;
mod store;
#[cfg(test)]
mod tests;
pub mod view;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use config::Config;
use stats::StatsRequest;
use tokio::sync::oneshot;
use worker::Window;

use crate::events::Events;
use age::Now;
use facts::Facts;
use load::LoadCounts;
pub use place::StateFolder;
use recorder::HistoryRecorder;

/// Time between two looks whether something is due.
const TICK: Duration = Duration::from_secs(1);

/// How long the last interval may take when the proxy ends.
const TIMEOUT_END: Duration = Duration::from_secs(3);

/// The history's thread, and what is to be known of it.
pub struct History {
    facts: Facts,
    stop: Option<oneshot::Sender<()>>,
    ended: Receiver<()>,
}

impl History {
    /// Begins to keep it.
    ///
    /// # Errors
    /// The kernel's: there is no thread to be had.
    pub fn start(window: &Window, events: &Arc<Events>, folder: StateFolder) -> io::Result<Self> {
        let facts = Facts::default();
        let (stop, stopped) = oneshot::channel();
        let (has_ended, ended) = channel::<()>();
        let keeper = HistoryRecorder::new(
            Arc::clone(&facts),
            Arc::clone(events),
            folder,
            window.system().clock.clone(),
        );
        let (threads, window) = (window.system().threads.clone(), window.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        threads.start("history", move || {
            runtime.block_on(keep(keeper, window, stopped, has_ended));
        })?;
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
    let beginning = keeper.clock.steady();
    let first = window.settings();
    if first.config.has_http_callers() {
        // What an earlier process has written is there at once.
        keeper.begin(&first.config.statement_stats);
    }
    loop {
        let is_over = tokio::time::timeout(TICK, &mut stopped).await.is_ok();
        let settings = window.settings();
        let config = &settings.config;
        if config.has_http_callers() {
            note_load(&mut keeper, &window, config, (beginning, is_over)).await;
            note_digests(&mut keeper, &window, config, (beginning, is_over)).await;
        } else {
            keeper.forget();
        }
        if is_over {
            return drop(has_ended);
        }
    }
}

/// Writes what digests have cost, if it is time.
async fn note_digests(
    keeper: &mut HistoryRecorder,
    window: &Window,
    config: &Config,
    (beginning, is_over): (Instant, bool),
) {
    if !config.statement_stats.digests {
        return keeper.forget_digests();
    }
    if !is_over && !keeper.is_due(&config.statement_stats, Now::wall_clock(&keeper.clock)) {
        return;
    }
    let view = window.insight(StatsRequest::All).await;
    // A part of them would look like a count from nothing the next time.
    if view.workers.len() == window.workers() {
        let now = Now::since(beginning, &keeper.clock);
        keeper.note(&config.statement_stats, view, now);
    }
}

/// Writes the load, if it is time.
async fn note_load(
    keeper: &mut HistoryRecorder,
    window: &Window,
    config: &Config,
    (beginning, is_over): (Instant, bool),
) {
    if !is_over && !keeper.is_load_due(&config.statement_stats, Now::wall_clock(&keeper.clock)) {
        return;
    }
    let workers = window.look().await;
    let have_all_answered = workers.len() == window.workers();
    let counts = LoadCounts::new(window.times(), have_all_answered.then_some(&workers[..]));
    let now = Now::since(beginning, &keeper.clock);
    keeper.note_load(config, counts, now);
}
