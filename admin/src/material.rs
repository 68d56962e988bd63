//! What the rows of one statement's tables are made of: gathered at once, before the statement runs.

use std::sync::Arc;

use auth::Accounts;
use proxy::{SessionView, Settings, Window, WorkerView};
use route::{Backend, BackendId, Moment, Topology};

use crate::sheet::Table;

/// One moment of the proxy.
pub struct Material {
    /// Where counts are had that need no worker.
    pub window: Window,
    /// The configuration.
    pub settings: Arc<Settings>,
    /// The backends.
    pub topology: Arc<Topology>,
    /// The accounts.
    pub accounts: Arc<Accounts>,
    /// How long the process had run.
    pub now: Moment,
    /// What workers have told, if they were asked.
    pub workers: Vec<WorkerView>,
    /// Workers that were asked and have not answered in time.
    pub silent: Vec<usize>,
    /// The admin port itself.
    pub port: PortFacts,
}

/// What the admin port knows of itself.
#[derive(Debug, Clone, Default)]
pub struct PortFacts {
    /// Where it listens.
    pub addresses: Vec<String>,
    /// How many are connected.
    pub guests: usize,
    /// Where HTTP is spoken.
    pub http_addresses: Vec<String>,
    /// How many connections it has.
    pub callers: usize,
}

impl Material {
    /// Gathers what these tables need.
    pub async fn gather(window: &Window, tables: &[&dyn Table], port: PortFacts) -> Self {
        let asks = tables.iter().any(|table| table.asks_workers());
        let workers = match asks {
            true => window.look().await,
            false => Vec::new(),
        };
        let has_answered = |worker: &usize| workers.iter().any(|view| view.worker == *worker);
        let silent = match asks {
            true => (0..window.workers())
                .filter(|it| !has_answered(it))
                .collect(),
            false => Vec::new(),
        };
        Self {
            settings: window.settings(),
            topology: window.topology(),
            accounts: window.accounts(),
            now: window.now(),
            window: window.clone(),
            workers,
            silent,
            port,
        }
    }

    /// What the client is to be warned of.
    pub fn warnings(&self) -> Vec<String> {
        let silent = self.silent.iter();
        silent
            .map(|worker| format!("worker {worker} is too busy to answer: what it has is missing"))
            .collect()
    }

    /// All sessions.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionView> {
        self.workers.iter().flat_map(|worker| &worker.sessions)
    }

    /// The backend of an id, while it is configured.
    pub fn backend(&self, id: BackendId) -> Option<&Arc<Backend>> {
        self.topology.backend(id)
    }

    /// The name of a backend's cluster.
    pub fn cluster_of(&self, backend: &Backend) -> String {
        let mut clusters = self.topology.clusters.iter();
        let cluster = clusters.find(|cluster| cluster.id == backend.cluster);
        cluster
            .map(|cluster| cluster.name.clone())
            .unwrap_or_default()
    }
}
