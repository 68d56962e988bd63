//! The data for the history: the workers' statistics, and the kernel's facts about the process.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use config::Config;
use history::{Events, History, Observed, StateFolder};
use stats::{StatementStatsView, StatsRequest};
use system::System;
use worker::{DataPlaneHandle, TimesView, WorkerView};

use crate::tables::process;

/// The proxy as a source of data for the history.
struct ObservedProxy(DataPlaneHandle);

/// Starts to record the history of the proxy.
///
/// # Errors
/// The kernel's error, if no thread can be started.
pub fn keep_history(
    data_plane: &DataPlaneHandle,
    events: &Arc<Events>,
    folder: StateFolder,
) -> io::Result<History> {
    History::start(ObservedProxy(data_plane.clone()), events, folder)
}

impl Observed for ObservedProxy {
    fn system(&self) -> System {
        self.0.system().clone()
    }

    fn config(&self) -> Arc<Config> {
        Arc::clone(&self.0.settings().config)
    }

    async fn statements(&self) -> Option<StatementStatsView> {
        let view = self.0.statement_stats(StatsRequest::All).await;
        (view.workers.len() == self.0.workers()).then_some(view)
    }

    fn times(&self) -> Vec<TimesView> {
        self.0.times()
    }

    async fn workers(&self) -> Option<Vec<WorkerView>> {
        let views = self.0.views().await;
        (views.len() == self.0.workers()).then_some(views)
    }

    fn usage(&self) -> Option<(Duration, u64)> {
        process::usage()
    }
}
