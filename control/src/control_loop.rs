//! The control plane's loop: takes in reports and results, starts the tasks that are due, publishes snapshots.

use std::collections::BTreeMap;
use std::sync::Arc;

use auth::Account;
use config::Config;
use net::watch;
use route::{BackendId, Endpoint, KillReason, Moment, Report, Topology};
use system::Entropy;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::account_check::{CheckLine, check};
use crate::account_loader::{LoadError, LoadedAccounts, learn};
use crate::backend_monitor::Task;
use crate::backend_set::{BackendSet, Ticket};
use crate::checks::Checks;
use crate::definitions::{FetchedDefinitions, Schedule, ask_all};
use crate::failure::Failure;
use crate::kill::{Kill, Kills, kill_all};
use crate::learning::{Attempt, Learning};
use crate::login::Access;
use crate::monitor_connection::{Line, ask};
use crate::plan::{Plan, ResolvedAddresses, prepare};
use crate::plan_progress::PlanProgress;
use crate::probe::{ProbeResult, probe};
use crate::question::Answer;
use crate::resolve::{Resolver, resolve_address};
use crate::snapshot_publisher::SnapshotPublisher;

/// An order from the handle, `Control`, to the loop.
#[derive(Debug)]
pub(crate) enum Order {
    /// Apply another configuration.
    Reconfigure(Arc<Config>),
    /// Signal when the last configuration that was asked for has taken effect.
    TellWhenSettled(oneshot::Sender<()>),
    /// Do the kills that are still waiting, and end.
    Stop,
}

/// The result of a task that ran next to the loop.
enum Finding {
    Planned {
        plan: Plan,
        number: u64,
    },
    Looked(Ticket, Result<ProbeResult, Failure>),
    LookedUp(Ticket, Result<Vec<Endpoint>, Failure>),
    Answered(Ticket, Box<Result<Answer, Failure>>, Option<Line>),
    Killed(BackendId),
    Learned {
        epoch: u64,
        outcome: Result<LoadedAccounts, LoadError>,
    },
    Checked {
        users: Vec<String>,
        begun: Moment,
        found: Option<Vec<Account>>,
        line: Option<CheckLine>,
    },
    Defined {
        epoch: u64,
        definitions: Vec<FetchedDefinitions>,
    },
}

/// The control plane's loop and its state.
pub(crate) struct ControlLoop {
    started: Instant,
    resolver: Arc<dyn Resolver>,
    backend_set: BackendSet,
    access: Arc<Access>,
    kills: Kills,
    /// The log already says that there is no monitor account to kill statements with.
    logged_no_account: bool,
    plans: PlanProgress,
    learning: Learning,
    checks: Checks,
    /// The connection to ask for accounts by user name, while no task uses it.
    check_line: Option<CheckLine>,
    definitions: Schedule,
    /// The connections to ask about replication, while no task uses them.
    lines: BTreeMap<Ticket, Line>,
    tasks: JoinSet<Finding>,
    topology: watch::Sender<Arc<Topology>>,
    publisher: SnapshotPublisher,
}

impl ControlLoop {
    /// A loop without backends; its first configuration brings them.
    pub(crate) fn new(
        started: std::time::Instant,
        seed: u64,
        entropy: Entropy,
        resolver: Arc<dyn Resolver>,
        topology: watch::Sender<Arc<Topology>>,
        publisher: SnapshotPublisher,
    ) -> ControlLoop {
        ControlLoop {
            started: started.into(),
            resolver,
            backend_set: BackendSet::new(seed),
            access: Arc::new(Access::new(&Config::default(), entropy)),
            kills: Kills::default(),
            logged_no_account: false,
            plans: PlanProgress::default(),
            learning: Learning::new(seed.rotate_left(1)),
            checks: Checks::default(),
            check_line: None,
            definitions: Schedule::default(),
            lines: BTreeMap::new(),
            tasks: JoinSet::new(),
            topology,
            publisher,
        }
    }

    /// Applies and publishes the first configuration. If roles are to be found out, it first waits for them, at most as
    /// long as a login and an answer may take: without roles no session could be given a primary.
    pub(crate) async fn begin(&mut self, config: Arc<Config>) {
        let plan = prepare(config, ResolvedAddresses::new(), Arc::clone(&self.resolver)).await;
        self.apply(&plan);
        self.find_out_while(BackendSet::awaits_roles).await;
        self.publish();
    }

    /// Applies a configuration. Ends when the state of each of its backends is known, as far as it can be known.
    pub(crate) async fn survey(mut self, config: Arc<Config>) -> Arc<Topology> {
        self.begin(config).await;
        self.find_out_while(BackendSet::awaits_answers).await;
        self.publish();
        self.hang_up().await;
        Arc::clone(&self.topology.borrow())
    }

    /// Runs the due tasks while the backend set waits for answers, at most as long as a login and an answer may take.
    /// Backends that have not answered by then are found out later.
    async fn find_out_while(&mut self, waits: impl Fn(&BackendSet) -> bool) {
        let limit = self.access.timeout * 3;
        let finding_out = async {
            while waits(&self.backend_set) {
                self.start_due();
                match self.tasks.join_next().await {
                    Some(finding) => self.found(finding),
                    None => return,
                }
            }
        };
        let _ = tokio::time::timeout(limit, finding_out).await;
    }

    /// Runs until it is told to stop, or the handle is gone.
    pub(crate) async fn run(
        mut self,
        mut orders: mpsc::UnboundedReceiver<Order>,
        mut reports: mpsc::UnboundedReceiver<Report>,
    ) {
        loop {
            self.start_due();
            self.publish();
            self.plans.notify_settled();
            let due = self.next_due();
            tokio::select! {
                biased;
                order = orders.recv() => match order {
                    Some(Order::Reconfigure(config)) => self.plan(config),
                    Some(Order::TellWhenSettled(to)) => self.plans.notify_when_settled(to),
                    Some(Order::Stop) | None => break,
                },
                Some(finding) = self.tasks.join_next() => self.found(finding),
                () = until(self.started, due) => (),
                Some(report) = reports.recv() => self.report(report),
            }
        }
        while let Ok(report) = reports.try_recv() {
            self.report(report);
        }
        self.finish_kills().await;
        self.hang_up().await;
    }

    fn next_due(&self) -> Option<Moment> {
        let due = self.backend_set.next_due().into_iter();
        due.chain(self.learning.next())
            .chain(self.definitions.next())
            .min()
    }

    fn now(&self) -> Moment {
        Moment(net::clock::now() - self.started)
    }

    fn plan(&mut self, config: Arc<Config>) {
        let number = self.plans.ask();
        let planning = prepare(
            config,
            self.backend_set.resolved(),
            Arc::clone(&self.resolver),
        );
        self.tasks.spawn(async move {
            let plan = planning.await;
            Finding::Planned { plan, number }
        });
    }

    fn apply(&mut self, plan: &Plan) {
        self.access = Arc::new(self.access.reconfigured(&plan.config));
        self.logged_no_account = false;
        let now = self.now();
        self.backend_set.apply(plan, now);
        self.learning.apply(&plan.config, now);
        self.definitions.apply(&plan.config, now);
        if !self.definitions.is_on() {
            self.publisher.forget_definitions();
        }
        self.leave_strangers();
    }

    /// Closes the connections to backends that are not configured any more.
    fn leave_strangers(&mut self) {
        let backend_set = &self.backend_set;
        for (_, line) in self
            .lines
            .extract_if(.., |ticket, _| !backend_set.is_current(*ticket))
        {
            tokio::spawn(line.hang_up());
        }
    }

    fn report(&mut self, report: Report) {
        let now = self.now();
        match report {
            Report::KillStatement {
                backend,
                thread_id,
                why,
            } => self.kill_requested(backend, thread_id, why),
            Report::UnknownAccount { user } => {
                tracing::debug!(user, "a login failed whose account may be new");
                self.learning.request(now);
            }
            Report::CheckAccount { user } if self.learning.is_on() => self.checks.wanted(user, now),
            Report::DefinitionsChanged => self.definitions.request(now),
            Report::CredentialRefused {
                backend,
                user,
                cause,
            } => {
                if let Some(monitor) = self.backend_set.monitor(backend) {
                    self.learning.refused(backend, &monitor.name, &user, &cause);
                }
                self.learning.request(now);
            }
            report => self.backend_set.report(&report, now),
        }
    }

    /// Queues a kill, if the backend is usable. A backend that went down may have ended the statement, and after a
    /// restart the thread id may belong to another connection: then nothing is killed.
    fn kill_requested(&mut self, backend: BackendId, thread_id: u32, why: KillReason) {
        let is_usable = self
            .backend_set
            .monitor(backend)
            .is_some_and(|w| w.is_usable());
        if self.access.account.is_none() {
            if !std::mem::replace(&mut self.logged_no_account, true) {
                tracing::info!(
                    %why,
                    "a statement nobody waits for runs on: there is no monitor account to kill it"
                );
            }
        } else if is_usable {
            self.kills.push(backend, Kill { thread_id, why });
        }
    }

    fn found(&mut self, finding: Result<Finding, tokio::task::JoinError>) {
        let now = self.now();
        match finding {
            Ok(Finding::Looked(of, probe_result)) => {
                self.backend_set.note_probe(of, probe_result, now)
            }
            Ok(Finding::LookedUp(of, found)) => self.backend_set.note_addresses(of, found, now),
            Ok(Finding::Answered(of, answer, line)) => {
                let answer = *answer;
                self.lines.extend(line.map(|line| (of, line)));
                self.backend_set.answered(of, answer, now);
                self.leave_strangers();
            }
            Ok(Finding::Killed(backend)) => self.kills.end(backend),
            Ok(Finding::Learned { epoch, outcome }) => self.learned(epoch, outcome, now),
            Ok(Finding::Checked {
                users,
                begun,
                found,
                line,
            }) => {
                self.checks.end();
                self.check_line = line;
                self.publisher.teach_of(&users, found, begun);
            }
            Ok(Finding::Defined { epoch, definitions }) => {
                if self.definitions.ended(epoch, &definitions, now) {
                    self.publisher.define(definitions);
                }
            }
            Ok(Finding::Planned { plan, number }) if self.plans.is_last(number) => {
                self.apply(&plan);
                self.plans.take_effect(number);
            }
            // The handle has asked for another configuration in the meantime.
            Ok(Finding::Planned { .. }) => (),
            Err(error) => {
                tracing::error!(%error, "a task of the control plane has failed; please report this line")
            }
        }
    }

    fn learned(&mut self, epoch: u64, outcome: Result<LoadedAccounts, LoadError>, now: Moment) {
        match self.learning.ended(epoch, &outcome, now) {
            Attempt::Counts { begun } => self.publisher.teach(
                outcome
                    .ok()
                    .and_then(|loaded_accounts| loaded_accounts.news),
                begun,
            ),
            Attempt::Outdated => (),
        }
    }

    fn start_due(&mut self) {
        if let Some(epoch) = self.learning.begin(self.now()) {
            self.start_account_load(epoch);
        }
        if let Some(users) = self.checks.begin(self.now()) {
            self.start_check(users);
        }
        if let Some(epoch) = self.definitions.begin(self.now()) {
            self.start_defining(epoch);
        }
        for (ticket, task) in self.backend_set.begin_due(self.now()) {
            self.start(ticket, task);
        }
        while let Some((backend, kills)) = self.kills.begin() {
            self.start_kills(backend, kills);
        }
    }

    fn start(&mut self, ticket: Ticket, task: Task) {
        let access = Arc::clone(&self.access);
        match task {
            Task::Look(destination) => {
                access.reload_certificates();
                let looking = tokio::spawn(async move { probe(&access, &destination).await });
                self.tasks.spawn(async move {
                    let panicked = |panic| Err(Failure::Io(format!("the look failed: {panic}")));
                    Finding::Looked(ticket, looking.await.unwrap_or_else(panicked))
                });
            }
            Task::LookUp(address) => {
                let asking = resolve_address(Arc::clone(&self.resolver), address, access.timeout);
                self.tasks
                    .spawn(async move { Finding::LookedUp(ticket, asking.await) });
            }
            Task::Ask(destination, Moment(up_since)) => {
                let line = self.lines.remove(&ticket);
                let up_since = self.started + up_since;
                let asking =
                    tokio::spawn(async move { ask(&access, &destination, line, up_since).await });
                self.tasks.spawn(async move {
                    let (answer, line) = asking.await.unwrap_or_else(|panic| {
                        let failure = Failure::Io(format!("the question failed: {panic}"));
                        (Err(failure), None)
                    });
                    Finding::Answered(ticket, Box::new(answer), line)
                });
            }
        }
    }

    fn start_kills(&mut self, backend: BackendId, kills: Vec<Kill>) {
        let Some(monitor) = self.backend_set.monitor(backend) else {
            return self.kills.end(backend);
        };
        let (name, destination) = (monitor.name.clone(), monitor.destination());
        let access = Arc::clone(&self.access);
        let killing =
            tokio::spawn(async move { kill_all(&access, &name, &destination, &kills).await });
        self.tasks.spawn(async move {
            if let Err(error) = killing.await {
                tracing::error!(%error, "the proxy has failed to send KILL to a backend; please report this line");
            }
            Finding::Killed(backend)
        });
    }

    fn start_account_load(&mut self, epoch: u64) {
        let access = Arc::clone(&self.access);
        access.reload_certificates();
        let teachers = self.backend_set.teachers();
        let (before, secret) = (self.publisher.learned(), self.publisher.secret());
        let learning = tokio::spawn(async move { learn(&access, &teachers, before, secret).await });
        self.tasks.spawn(async move {
            let outcome = learning
                .await
                .unwrap_or_else(|panic| Err(LoadError::of(&panic)));
            Finding::Learned { epoch, outcome }
        });
    }

    /// Asks for the accounts of these users, and for the anonymous accounts, which may match before them.
    fn start_check(&mut self, mut users: Vec<String>) {
        let access = Arc::clone(&self.access);
        let teachers = self.backend_set.teachers();
        let (begun, line) = (self.now(), self.check_line.take());
        users.push(String::new());
        let asked = users.clone();
        let checking = tokio::spawn(async move { check(&access, &teachers, line, &asked).await });
        self.tasks.spawn(async move {
            let (found, line) = checking.await.unwrap_or_else(|panic| {
                tracing::error!(%panic, "the proxy has failed to read accounts by their names; please report this line");
                (None, None)
            });
            Finding::Checked {
                users,
                begun,
                found,
                line,
            }
        });
    }

    fn start_defining(&mut self, epoch: u64) {
        let access = Arc::clone(&self.access);
        access.reload_certificates();
        let clusters = self.backend_set.teachers_by_cluster();
        let asking = tokio::spawn(async move { ask_all(&access, clusters).await });
        self.tasks.spawn(async move {
            let definitions = asking.await.unwrap_or_else(|panic| {
                tracing::error!(%panic, "the proxy has failed to read definitions of views and routines; please report this line");
                Vec::new()
            });
            Finding::Defined { epoch, definitions }
        });
    }

    fn publish(&mut self) {
        if let Some(topology) = self.backend_set.snapshot() {
            self.topology.send_replace(Arc::new(topology));
        }
    }

    /// Closes all kept connections with COM_QUIT, because servers count clients that disconnect without it as aborted.
    async fn hang_up(&mut self) {
        let mut leaving = JoinSet::new();
        for line in std::mem::take(&mut self.lines).into_values() {
            leaving.spawn(line.hang_up());
        }
        if let Some(line) = self.check_line.take() {
            leaving.spawn(line.hang_up());
        }
        while leaving.join_next().await.is_some() {}
    }

    /// Does the kills that were requested before the end, at most as long as a login and one answer may take.
    async fn finish_kills(&mut self) {
        let limit = self.access.timeout * 3;
        let finishing = async {
            while !self.kills.is_idle() {
                while let Some((backend, kills)) = self.kills.begin() {
                    self.start_kills(backend, kills);
                }
                if let Some(finding) = self.tasks.join_next().await {
                    self.found(finding);
                }
            }
        };
        if tokio::time::timeout(limit, finishing).await.is_err() {
            tracing::warn!(
                ?limit,
                "the proxy stops before it could kill all statements that no client waits for; they may run on at their backends"
            );
        }
    }
}

/// Sleeps until `due`; for ever if there is no `due`.
async fn until(started: Instant, due: Option<Moment>) {
    match due {
        Some(Moment(due)) => tokio::time::sleep_until(started + due).await,
        None => std::future::pending::<()>().await,
    }
}
