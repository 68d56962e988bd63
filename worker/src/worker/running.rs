//! The life of a worker: it is set up, takes clients and messages, and ends when its sessions have ended.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use config::ListenerConfig;
use net::clock::Clock;
use net::joined::waiter::JoinWaiter;
use net::worker::WorkerContext;
use route::{Dice, Loads};
use system::HashKeys;
use tokio::sync::mpsc;
use tokio::task::spawn_local;

use super::{Arrival, Message, Worker};
use crate::context::{DataPlaneContext, Shared};
use crate::serve::serve;
use backend::greeting::OwnGreeting;
use backend::pool_env::PoolEnv;
use backend::refused_reads::RefusedReads;
use backend::rule_set::RuleSet;
use backend::settings::Settings;
use backend::shared_store::Store;
use backend::times::Times;
use backend::worker_pool::WorkerPool;
use engine::engine_env::EngineEnv;
use lanes::lanes::Lanes;
use link::text_reader::TextReader;
use link::transport::serve_unpack_queue;
use login::known_host_names::HostNames;
use login::login_env::LoginEnv;
use registry::session_control::Ask;
use registry::worker_sessions::WorkerSessions;
use relay::relay_env::RelayEnv;
use relay::worker_joins::WorkerJoins;
use script_host::host::Host;
use stats::recorder::StatementRecorder;
use stats::seen_digests::SeenDigests;
use stats::snapshot;
use stats::statement_stats::StatementStats;

/// How many bytes are read at once, from either side, into the worker's one buffer. For results of
/// 10,000 rows, pieces of 64 KiB cost half as much again in the kernel, because they fall out of
/// the cache between the read and the write. Smaller pieces cost more system calls.
const SCRATCH_BYTES: usize = 16 * 1024;

impl Worker {
    /// A worker's main future: takes sessions until its inbox ends or it has drained.
    pub(crate) async fn run(
        mut context: WorkerContext<Message>,
        plane_context: DataPlaneContext,
        shared: Arc<Shared>,
    ) {
        let mut settings = plane_context.settings.clone();
        settings.mark_unchanged();
        let (kills, mut killed) = mpsc::unbounded_channel();
        shared.session_registry.enlist(context.index, kills);
        let worker = Worker::new(context.index, plane_context, shared);
        worker.begin_tasks();
        let mut is_draining = false;
        while !(is_draining && worker.relay.sessions.borrow().is_empty()) {
            tokio::select! {
                biased;
                () = worker.relay.sessions.emptied() => {}
                Some(kill) = killed.recv() => worker.kill(kill),
                Ok(()) = settings.changed() => worker.take_rules(&settings.borrow_and_update()),
                message = context.inbox.recv() => match message {
                    Some(Message::Drain) => {
                        is_draining = true;
                        worker.drain();
                    }
                    Some(message) => worker.take_message(message),
                    None => return,
                },
            }
        }
    }

    fn new(index: usize, plane_context: DataPlaneContext, shared: Arc<Shared>) -> Rc<Self> {
        let env = pool_env(&plane_context, &shared);
        let memory = &shared.session_registry.memory;
        let settings = Arc::clone(&plane_context.settings.borrow());
        memory.set_bytes_max(settings.config.limits.memory_bytes_max);
        env.store.memory.count_in(memory);
        let relay = relay_env(index, &env, &plane_context, &shared);
        Rc::new(Self {
            index,
            engine: engine_env(index, &relay, &plane_context, &shared),
            relay,
            session_registry: RefCell::default(),
            plane_context,
            shared,
        })
    }

    /// Starts the tasks that a worker runs besides its sessions.
    fn begin_tasks(self: &Rc<Self>) {
        spawn_local(Rc::clone(self).sweep());
        spawn_local(serve_unpack_queue());
        if self.index == 0
            && let Some(of_admin) = self.plane_context.scripts.of_admin()
            && let Some(timekeeper) = of_admin.timekeeper()
        {
            spawn_local(timekeeper.keep_time());
        }
        let leaver = Rc::clone(self);
        let roles = RefCell::new(Arc::clone(&self.relay.pool.topology.borrow()));
        spawn_local(WorkerPool::keep(Rc::clone(&self.engine.pool), move || {
            leaver.clear_disabled();
            let now = leaver.note_roles(&roles.borrow());
            roles.replace(now);
        }));
        spawn_local(WorkerPool::read_globals(Rc::clone(&self.engine.pool)));
        spawn_local(Rc::clone(self).follow_accounts());
        spawn_local(Rc::clone(self).follow_definitions());
    }

    fn take_message(self: &Rc<Self>, message: Message) {
        match message {
            Message::Arrival(arrival) => self.take(arrival),
            Message::Drain => self.drain(),
            Message::Stop => self.relay.sessions.ask_all(Ask::Stop),
            // The asking task may be gone.
            Message::Tell(to) => drop(to.send(self.engine.seen.all())),
            Message::StatementStats(wish, to) => {
                snapshot::send(&self.relay.recorder.stats, self.index, wish, to);
            }
            Message::View(to) => drop(to.send(self.view())),
            Message::Reset(to) => {
                self.reset_counts();
                let _ = to.send(());
            }
            Message::Kill(kill, to) => {
                if let Some(killed) = self.kill_by_info(kill) {
                    let _ = to.send(killed);
                }
            }
        }
    }

    fn take(self: &Rc<Self>, arrival: Arrival) {
        let registered = self.relay.sessions.register();
        spawn_local(serve(Rc::clone(self), registered, arrival));
    }

    /// Asks sessions to end, and closes idle connections and the connections that scripts have parked.
    fn drain(&self) {
        self.relay.sessions.ask_all(Ask::Drain);
        self.engine.pool.shut_idle();
        if let Some(host) = &self.engine.script {
            host.parked.close_all();
        }
    }

    /// Sets this worker's counts to zero.
    fn reset_counts(&self) {
        self.engine.rule_set().counters.reset();
        self.engine.lanes.counts.reset();
        self.relay.times.reset();
        self.engine.pool.reset_counts();
    }

    fn take_rules(&self, settings: &Settings) {
        self.engine.seen.follow(&settings.config.statement_stats);
        self.relay.recorder.stats.follow(&settings.config);
        let limits = &settings.config.limits;
        self.shared
            .session_registry
            .memory
            .set_bytes_max(limits.memory_bytes_max);
        let rule_set = self.engine.rule_set().followed_by(settings);
        self.shared
            .engine
            .tallies
            .enter(self.index, &rule_set.counters);
        *self.engine.rule_set.borrow_mut() = Rc::new(rule_set);
        self.relay.pool.store.forget_definitions();
    }
}

/// Returns what a worker's connections to backends need.
fn pool_env(plane_context: &DataPlaneContext, shared: &Shared) -> Rc<PoolEnv> {
    let timer = plane_context.clone();
    Rc::new(PoolEnv {
        workers: plane_context.settings.borrow().config.workers,
        clock: Box::new(move || timer.now()),
        system: plane_context.system.clone(),
        settings: plane_context.settings.clone(),
        topologies: plane_context.topology.clone(),
        topology: RefCell::new(Arc::clone(&plane_context.topology.borrow())),
        reports: plane_context.reports.clone(),
        shared: Arc::clone(&shared.pools),
        scratch: RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice()),
        greeting: OwnGreeting::default(),
        store: Store::new(hash_keys(plane_context)),
    })
}

/// Returns new keys for hashes of data from clients and servers.
fn hash_keys(plane_context: &DataPlaneContext) -> HashKeys {
    let keys = plane_context.system.entropy.hash_keys();
    keys.expect("the system has random bytes, or TLS would not work")
}

/// Returns what the sessions of a worker need.
fn relay_env(
    index: usize,
    env: &Rc<PoolEnv>,
    plane_context: &DataPlaneContext,
    shared: &Shared,
) -> Rc<RelayEnv> {
    let clock = Clock::start();
    let dice = Rc::new(RefCell::new(Dice::new(index as u64)));
    let stats = StatementStats::new(
        &plane_context.settings.borrow().config,
        hash_keys(plane_context),
    );
    Rc::new(RelayEnv {
        pool: Rc::clone(env),
        login: Rc::new(LoginEnv {
            worker: index,
            pool: Rc::clone(env),
            accounts: plane_context.accounts.clone(),
            dice: Rc::clone(&dice),
            host_names: HostNames::default(),
            session_registry: Arc::clone(&shared.session_registry),
            shared: Arc::clone(&shared.logins),
        }),
        clock: clock.clone(),
        sessions: Rc::new(WorkerSessions::new(Arc::clone(&shared.session_registry))),
        origins: Arc::clone(&plane_context.origins),
        recorder: Rc::new(StatementRecorder {
            stats: Rc::new(stats),
            plans: Arc::clone(&shared.plans),
            journal: Arc::clone(&plane_context.journal),
            traces: Arc::clone(&plane_context.traces),
            dice,
            clock,
        }),
        times: Rc::new(Times::new(Rc::clone(env), Arc::clone(&shared.engine.times))),
        joins: Rc::new(WorkerJoins::new(
            join_waiter(index, plane_context),
            Arc::clone(&shared.joins),
        )),
    })
}

/// Returns the means to have the kernel join sessions, if a listener wants it and the kernel allows
/// it. If it does not, the log says once why.
fn join_waiter(index: usize, plane_context: &DataPlaneContext) -> Option<Rc<JoinWaiter>> {
    let settings = Arc::clone(&plane_context.settings.borrow());
    let mut listeners = settings.config.listeners.iter();
    if !listeners.any(ListenerConfig::joins_in_kernel) {
        return None;
    }
    match JoinWaiter::new() {
        Ok(waiter) => {
            let wakes = Rc::clone(&waiter).run();
            spawn_local(async move {
                if let Err(error) = wakes.await {
                    tracing::error!(%error, "joined sessions are not woken any more");
                }
            });
            Some(waiter)
        }
        Err(error) => {
            if index == 0 {
                tracing::warn!(
                    kind = "kernel_sessions_unavailable",
                    %error,
                    "the kernel does not let the proxy join sessions, and the proxy relays those of listeners with routing.session = \
                     \"kernel\"; joining needs Linux 6.4, CAP_BPF and CAP_NET_ADMIN"
                );
            }
            None
        }
    }
}

/// Returns what the pooled sessions of a worker need.
fn engine_env(
    index: usize,
    relay: &Rc<RelayEnv>,
    plane_context: &DataPlaneContext,
    shared: &Shared,
) -> Rc<EngineEnv> {
    let pool = Rc::new(WorkerPool::new(Rc::clone(&relay.pool), index as u64));
    let settings = Arc::clone(&plane_context.settings.borrow());
    let rule_set = RuleSet::new(&settings);
    let of_engines = &shared.engine;
    of_engines.tallies.enter(index, &rule_set.counters);
    let script = plane_context.scripts.of_worker(index).map(|of_worker| {
        if of_worker.scripts.keeps_time() {
            spawn_local(of_worker.clone().keep_time());
        }
        Rc::new(Host::new(of_worker.scripts))
    });
    Rc::new(EngineEnv {
        pool_env: Rc::clone(&relay.pool),
        relay: Rc::clone(relay),
        rule_set: RefCell::new(Rc::new(rule_set)),
        seen: SeenDigests::new(&settings.config.statement_stats, hash_keys(plane_context)),
        text_reader: TextReader::new(relay.pool.system.threads.clone()),
        loads: Loads::default(),
        lanes: Rc::new(Lanes::new(Rc::clone(&pool), of_engines.lane_counts.enter())),
        pool,
        definitions: RefCell::new(Arc::clone(&plane_context.definitions.borrow())),
        refused: RefusedReads::default(),
        script,
        shared: Arc::clone(of_engines),
        started: plane_context.started,
    })
}
