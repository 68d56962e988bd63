//! What the rows of one statement's tables are made of: gathered at once, before the statement runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use auth::Accounts;
use config::Config;
use proxy::{SessionView, Settings, ViewRequest, Window, WorkerView};
use route::{Backend, BackendId, Moment, Topology};
use stats::{StatsRequest, StatsTable};

use crate::editor::{Editor, View};
use crate::events::Events;
use crate::history::HistoryFacts;
use crate::insight::Insight;
use crate::sheet::{Asks, Demands, Table};

/// One moment of the proxy.
pub struct Material {
    /// Where counts are had that need no worker.
    pub window: Window,
    /// What holds.
    pub settings: Arc<Settings>,
    /// The configuration: the same, or in a transaction as it would be.
    pub config: Arc<Config>,
    /// In a transaction, the backends as they would be.
    pub view: Option<View>,
    /// What waits until it is loaded, where it was asked for.
    pub memory: Option<View>,
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
    /// What they have told of idle connections, if they were asked for these.
    pub idle: Vec<WorkerView>,
    /// What they have told of what they had counted, if it was taken.
    pub taken: Vec<WorkerView>,
    /// Workers that were asked and have not answered in time.
    pub silent: Vec<usize>,
    /// What workers keep about statements, if they were asked.
    pub insight: Insight,
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
    /// What has happened of late.
    pub events: Arc<Events>,
    /// Where the digests' history is.
    pub history: HistoryFacts,
}

impl Material {
    /// Gathers what these tables need.
    pub async fn gather(
        (window, editor): (&Window, &Editor),
        tables: &[&dyn Table],
        port: PortFacts,
        view: Option<View>,
    ) -> Self {
        let demands = Demands::of(tables);
        let all = 0..window.workers();
        let mut silent = BTreeSet::new();
        let mut looks = [Vec::new(), Vec::new(), Vec::new()];
        for (told, (what, look)) in looks.iter_mut().zip([
            (Asks::Sessions, ViewRequest::Around),
            (Asks::Idle, ViewRequest::Idle),
            (Asks::PoolsOnce, ViewRequest::Take),
        ]) {
            if demands.contain(what) {
                *told = window.look(look).await;
                let has_answered = |worker: &usize| told.iter().any(|it| it.worker == *worker);
                silent.extend(all.clone().filter(|it| !has_answered(it)));
            }
        }
        let [workers, idle, taken] = looks;
        let mut insight = Insight::default();
        for (what, wish) in [
            (Asks::Insight, StatsRequest::All),
            (Asks::Errors, StatsRequest::Errors),
            (Asks::InsightOnce, StatsRequest::Take(StatsTable::Digests)),
            (Asks::ErrorsOnce, StatsRequest::Take(StatsTable::Errors)),
        ] {
            // Who tells all tells the errors as well.
            let is_told = what == Asks::Errors && demands.contain(Asks::Insight);
            if demands.contain(what) && !is_told {
                let told = window.insight(wish).await;
                silent.extend(all.clone().filter(|it| !told.workers.contains(it)));
                insight.take(told);
            }
        }
        let mut memory = None;
        if demands.contain(Asks::Waiting) {
            memory = editor.waiting().await;
        }
        let settings = window.settings();
        let config = view.as_ref().map(|view| Arc::clone(&view.config));
        Self {
            config: config.unwrap_or_else(|| Arc::clone(&settings.config)),
            view,
            memory,
            settings,
            topology: window.topology(),
            accounts: window.accounts(),
            definitions: window.definitions(),
            now: window.now(),
            window: window.clone(),
            workers,
            idle,
            taken,
            silent: silent.into_iter().collect(),
            insight,
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
}
