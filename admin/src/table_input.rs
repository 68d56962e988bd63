//! What the rows of one statement's tables are made of: gathered at once, before the statement runs.

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

/// One moment of the proxy.
pub struct TableInput {
    /// Where counts are had that need no worker.
    pub data_plane: DataPlaneHandle,
    /// What holds.
    pub settings: Arc<Settings>,
    /// The configuration: the same, or in a transaction as it would be.
    pub config: Arc<Config>,
    /// In a transaction, the backends as they would be.
    pub view: Option<View>,
    /// The backends.
    pub topology: Arc<Topology>,
    /// The accounts.
    pub accounts: Arc<Accounts>,
    /// What is known of views, routines and triggers.
    pub definitions: Arc<route::Definitions>,
    /// How long the process had run.
    pub now: Moment,
    /// What workers have told, if they were asked.
    pub workers: Vec<WorkerView>,
    /// Workers that were asked and have not answered in time.
    pub silent: Vec<usize>,
    /// What workers keep about statements, if they were asked.
    pub statement_stats: MergedStatementStats,
    /// The admin port itself.
    pub port: PortFacts,
}

/// What the admin port knows of itself.
#[derive(Debug, Clone)]
pub struct PortFacts {
    /// Where it listens.
    pub addresses: Vec<String>,
    /// How many are connected.
    pub clients: usize,
    /// Where HTTP is spoken.
    pub http_addresses: Vec<String>,
    /// How many connections it has.
    pub callers: usize,
    /// What has happened of late.
    pub events: Arc<Events>,
    /// Where the digests' history is.
    pub history: HistoryFacts,
    /// The clusters that are followed, and where the history of schemas is.
    pub streams: Arc<Streams>,
}

impl TableInput {
    /// Gathers what the tables of a statement need.
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
        // Workers that tell all tell the errors as well.
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

    /// What the client is to be warned of.
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

    /// Which indexes statements use.
    pub fn index_usage(&self) -> Usage {
        let plans = self.data_plane.plans();
        Usage::of(&plans, &self.statement_stats.digests, &self.topology)
    }

    /// The backend of an id, while it is configured.
    pub fn backend(&self, id: BackendId) -> Option<&Arc<Backend>> {
        self.topology.backend(id)
    }
}
