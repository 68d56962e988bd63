//! The data for the tables of one statement, gathered at once before the statement runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use advisor::Usage;
use auth::Accounts;
use config::Config;
use history::{Events, HistoryFacts};
use replication::Streams;
use route::{Backend, BackendId, Moment, Topology};
use stats::{MergedStatementStats, StatsRequest};
use worker::{DataPlaneHandle, SessionView, Settings, WorkerView};

use crate::demands::{Asks, Demands};
use crate::editor::View;

/// The state of the proxy at one moment, as far as the tables need it.
pub struct TableInput {
    /// The handle for counts that need no worker.
    pub data_plane: DataPlaneHandle,
    /// The settings in effect.
    pub settings: Arc<Settings>,
    /// The configuration in effect; in a transaction, as after its COMMIT.
    pub config: Arc<Config>,
    /// In a transaction, the configuration and backends as after its COMMIT.
    pub view: Option<View>,
    /// The backends.
    pub topology: Arc<Topology>,
    /// The accounts.
    pub accounts: Arc<Accounts>,
    /// The definitions of views, routines and triggers that were learned.
    pub definitions: Arc<route::Definitions>,
    /// Time since the start of the process.
    pub now: Moment,
    /// The workers' answers, if they were asked.
    pub workers: Vec<WorkerView>,
    /// Workers that were asked and did not answer in time.
    pub silent: Vec<usize>,
    /// The workers' statement statistics, if they were asked for.
    pub statement_stats: MergedStatementStats,
    /// The facts about the admin ports.
    pub port: PortFacts,
}

/// The admin ports' facts about themselves.
#[derive(Debug, Clone)]
pub struct PortFacts {
    /// The addresses of the MySQL-protocol port.
    pub addresses: Vec<String>,
    /// The number of its connections.
    pub clients: usize,
    /// The addresses of the HTTP port.
    pub http_addresses: Vec<String>,
    /// The number of its connections.
    pub callers: usize,
    /// The recent events.
    pub events: Arc<Events>,
    /// Where the digests' history is kept.
    pub history: HistoryFacts,
    /// The streams of followed clusters, and where the history of schemas is kept.
    pub streams: Arc<Streams>,
}

impl TableInput {
    /// Gathers the data that the tables of a statement need.
    pub async fn gather(
        data_plane: &DataPlaneHandle,
        demands: Demands,
        port: PortFacts,
        view: Option<View>,
    ) -> Self {
        let all = 0..data_plane.workers();
        let mut silent = BTreeSet::new();
        let mut workers = Vec::new();
        if demands.contain(Asks::Sessions) {
            workers = data_plane.views().await;
            let has_answered = |worker: &usize| workers.iter().any(|it| it.worker == *worker);
            silent.extend(all.clone().filter(|it| !has_answered(it)));
        }
        // The full statistics include the errors.
        let wish = match (
            demands.contain(Asks::Insight),
            demands.contain(Asks::Errors),
        ) {
            (true, _) => Some(StatsRequest::All),
            (false, true) => Some(StatsRequest::Errors),
            (false, false) => None,
        };
        let mut statement_stats = MergedStatementStats::default();
        if let Some(wish) = wish {
            let told = data_plane.statement_stats(wish).await;
            silent.extend(all.filter(|it| !told.workers.contains(it)));
            statement_stats.take(told);
        }
        let settings = data_plane.settings();
        let config = view.as_ref().map(|view| Arc::clone(&view.config));
        Self {
            config: config.unwrap_or_else(|| Arc::clone(&settings.config)),
            view,
            settings,
            topology: data_plane.topology(),
            accounts: data_plane.accounts(),
            definitions: data_plane.definitions(),
            now: data_plane.now(),
            data_plane: data_plane.clone(),
            workers,
            silent: silent.into_iter().collect(),
            statement_stats,
            port,
        }
    }

    /// The warnings for the client.
    pub fn warnings(&self) -> Vec<String> {
        let silent = self.silent.iter();
        silent
            .map(|worker| format!("worker {worker} is too busy to answer; its figures are missing"))
            .collect()
    }

    /// All sessions.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionView> {
        self.workers.iter().flat_map(|worker| &worker.sessions)
    }

    /// The indexes that statements use.
    pub fn index_usage(&self) -> Usage {
        let plans = self.data_plane.plans();
        Usage::of(&plans, &self.statement_stats.digests, &self.topology)
    }

    /// The backend of an id, if it is still configured.
    pub fn backend(&self, id: BackendId) -> Option<&Arc<Backend>> {
        self.topology.backend(id)
    }
}
