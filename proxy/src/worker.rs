//! One worker: a thread's sessions and what they share.

mod arrival;
mod following;
mod killing;
mod looking;
mod sweep;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

pub(crate) use arrival::{Arrival, Newcomer};
use net::clock::Clock;
use net::worker::WorkerContext;
use route::{Definitions, Dice, Loads};
use slab::Slab;
use tokio::sync::{Notify, mpsc};

use crate::book::Book;
use crate::pooled::exchange::times::Times;
use crate::pooled::lanes::Lanes;
use crate::pooled::login::host_names::HostNames;
use crate::scripted::host::Host;
use crate::surroundings::{Shared, Surroundings};
use crate::window::Killed;
use backend::greeting::OwnGreeting;
use backend::pool_env::PoolEnv;
use backend::refused_reads::RefusedReads;
use backend::settings::Settings;
use backend::shared_store::Store;
use backend::worker_pool::WorkerPool;
use link::future_arena::Blocks;
use registry::session_control::{Ask, SessionControl};
use registry::session_registry::Kill;
use registry::worker_view::WorkerView;
use stats::seen_digests::{SeenDigest, SeenDigests};
use stats::snapshot::{self, StatsPart, StatsRequest};
use stats::statement_stats::StatementStats;

/// Bytes read at once, from either side, into the worker's one buffer. Of results of 10,000 rows pieces
/// of 64 KiB cost half as much again in the kernel: they fall out of the cache between being read and
/// being written. Less costs system calls.
const SCRATCH_BYTES: usize = 16 * 1024;

/// What a worker is told.
pub(crate) enum Message {
    /// A client has connected.
    Arrival(Arrival),
    /// Sessions are to end as soon as nothing is going on in them.
    Drain,
    /// Sessions are to end now.
    Stop,
    /// What was seen of late is to be told.
    Tell(mpsc::UnboundedSender<Vec<SeenDigest>>),
    /// What is kept about statements is to be told.
    StatementStats(StatsRequest, mpsc::UnboundedSender<StatsPart>),
    /// The worker is to tell this of itself.
    View(mpsc::UnboundedSender<WorkerView>),
    /// A session, or its statement, is to be killed, by the number that the proxy calls it; whoever has it
    /// says so.
    Kill(Kill, mpsc::UnboundedSender<Killed>),
    /// Counts of times, lanes and rules are to begin from nothing; that is said when it is so.
    Reset(mpsc::UnboundedSender<()>),
}

/// What the sessions of one thread share.
pub(crate) struct Worker {
    /// Which one, from 0.
    pub index: usize,
    /// What its connections to backends need.
    pub env: Rc<PoolEnv>,
    /// Backend connections that sessions take turns on.
    pub pool: Rc<WorkerPool>,
    pub surroundings: Surroundings,
    pub shared: Arc<Shared>,
    pub clock: Clock,
    pub dice: RefCell<Dice>,
    /// The rules of the moment.
    pub book: RefCell<Rc<Book>>,
    /// What its sessions have sent of late.
    pub seen: SeenDigests,
    /// What it keeps about statements.
    pub insight: Rc<StatementStats>,
    /// Whether backends call clients' hosts by their names.
    pub host_names: HostNames,
    /// Its statements under way on each backend.
    pub loads: Loads,
    /// Connections with statements of several sessions in flight.
    pub lanes: Rc<Lanes>,
    /// What views, routines and triggers do, as far as that is known.
    pub definitions: RefCell<Arc<Definitions>>,
    /// Reads that replicas have refused.
    pub refused: RefusedReads,
    /// Of the commands that run.
    pub blocks: Blocks,
    /// How long their statements have waited, and backends have taken.
    pub times: Times,
    /// The script that sessions run, if they run one.
    pub script: Option<Rc<Host>>,
    /// Sessions by the ids that clients see.
    pub people: RefCell<HashMap<u32, Rc<SessionControl>>>,
    watches: RefCell<Slab<Rc<SessionControl>>>,
    emptied: Notify,
}

/// A session's entry in its worker's list, for as long as it lives.
pub(crate) struct Registered {
    pub watch: Rc<SessionControl>,
    worker: Rc<Worker>,
    key: usize,
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut watches = self.worker.watches.borrow_mut();
        watches.remove(self.key);
        if watches.is_empty() {
            watches.shrink_to_fit();
            self.worker.emptied.notify_one();
        }
    }
}

impl Worker {
    /// A worker's main future: takes sessions until its inbox ends or it has drained.
    pub(crate) async fn run(
        mut context: WorkerContext<Message>,
        surroundings: Surroundings,
        shared: Arc<Shared>,
    ) {
        let definitions = Arc::clone(&surroundings.definitions.borrow());
        let env = pool_env(&surroundings, &shared);
        let pool = Rc::new(WorkerPool::new(Rc::clone(&env), context.index as u64));
        let (kills, mut killed) = mpsc::unbounded_channel();
        shared.people.enlist(context.index, kills);
        let mut settings = surroundings.settings.clone();
        let book = Book::new(&settings.borrow_and_update());
        let seen = SeenDigests::new(&settings.borrow().config.digests);
        let insight = Rc::new(StatementStats::new(&settings.borrow().config));
        shared.tallies.enter(context.index, &book.counters);
        let worker = Rc::new(Worker {
            book: RefCell::new(Rc::new(book)),
            index: context.index,
            pool: Rc::clone(&pool),
            env,
            seen,
            insight,
            host_names: HostNames::default(),
            loads: Loads::default(),
            lanes: Rc::new(Lanes::new(Rc::clone(&pool), shared.lane_counts.enter())),
            definitions: RefCell::new(definitions),
            refused: RefusedReads::default(),
            blocks: Blocks::default(),
            times: Times::default(),
            script: surroundings
                .scripts
                .of_worker(context.index)
                .map(|of_worker| {
                    if of_worker.scripts.keeps_time() {
                        tokio::task::spawn_local(of_worker.clone().keep_time());
                    }
                    Rc::new(Host::new(of_worker.scripts))
                }),
            people: RefCell::default(),
            surroundings,
            shared,
            clock: Clock::start(),
            dice: RefCell::new(Dice::new(context.index as u64)),
            watches: RefCell::default(),
            emptied: Notify::new(),
        });
        tokio::task::spawn_local(Rc::clone(&worker).sweep());
        if context.index == 0
            && let Some(of_admin) = worker.surroundings.scripts.of_admin()
            && let Some(timekeeper) = of_admin.timekeeper()
        {
            tokio::task::spawn_local(timekeeper.keep_time());
        }
        let leaver = Rc::clone(&worker);
        let keep = WorkerPool::keep(Rc::clone(&worker.pool), move || leaver.clear_disabled());
        tokio::task::spawn_local(keep);
        tokio::task::spawn_local(WorkerPool::look_at_globals(Rc::clone(&worker.pool)));
        tokio::task::spawn_local(Rc::clone(&worker).follow_accounts());
        tokio::task::spawn_local(Rc::clone(&worker).follow_definitions());
        let mut is_draining = false;
        while !(is_draining && worker.watches.borrow().is_empty()) {
            tokio::select! {
                message = context.inbox.recv() => match message {
                    Some(Message::Arrival(arrival)) => worker.take(arrival),
                    Some(Message::Drain) => {
                        is_draining = true;
                        worker.drain();
                    }
                    Some(Message::Stop) => worker.ask_all(Ask::Stop),
                    // Who asked may have gone.
                    Some(Message::Tell(to)) => drop(to.send(worker.seen.all())),
                    Some(Message::StatementStats(wish, to)) => snapshot::send(&worker.insight, worker.index, wish, to),
                    Some(Message::View(to)) => drop(to.send(worker.view())),
                    Some(Message::Reset(to)) => {
                        worker.reset_counts();
                        let _ = to.send(());
                    }
                    Some(Message::Kill(kill, to)) => {
                        if let Some(killed) = worker.kill_by_card(kill) {
                            let _ = to.send(killed);
                        }
                    }
                    None => return,
                },
                () = worker.emptied.notified() => {}
                Some(kill) = killed.recv() => worker.kill(kill),
                Ok(()) = settings.changed() => worker.take_rules(&settings.borrow_and_update()),
            }
        }
    }

    /// Sessions, idle connections and what scripts have parked are to end.
    fn drain(&self) {
        self.ask_all(Ask::Drain);
        self.pool.shut_idle();
        if let Some(host) = &self.script {
            host.parked.close_all();
        }
    }

    /// The script that sessions run, if they run one.
    pub(crate) fn script_host(&self) -> Option<Rc<Host>> {
        self.script.clone()
    }

    /// What this worker counts begins from nothing.
    fn reset_counts(&self) {
        self.book().counters.reset();
        self.lanes.counts.reset();
        self.times.reset(&self.shared.times);
        self.pool.reset_counts();
    }

    /// The rules of the moment, to be looked at for one command.
    pub(crate) fn book(&self) -> Rc<Book> {
        Rc::clone(&self.book.borrow())
    }

    fn take_rules(&self, settings: &Settings) {
        self.seen.follow(&settings.config.digests);
        self.insight.follow(&settings.config);
        let book = self.book().followed_by(settings);
        self.shared.tallies.enter(self.index, &book.counters);
        *self.book.borrow_mut() = Rc::new(book);
        self.env.store.forget_definitions();
    }

    fn take(self: &Rc<Self>, arrival: Arrival) {
        let registered = self.register();
        tokio::task::spawn_local(crate::serve::serve(Rc::clone(self), registered, arrival));
    }

    pub(crate) fn register(self: &Rc<Self>) -> Registered {
        let watch = Rc::new(SessionControl::default());
        let key = self.watches.borrow_mut().insert(Rc::clone(&watch));
        Registered {
            watch,
            worker: Rc::clone(self),
            key,
        }
    }

    fn ask_all(&self, ask: Ask) {
        for (_, watch) in self.watches.borrow().iter() {
            watch.ask(ask);
        }
    }
}

/// What a worker's connections to backends need.
fn pool_env(surroundings: &Surroundings, shared: &Shared) -> Rc<PoolEnv> {
    let timer = surroundings.clone();
    Rc::new(PoolEnv {
        workers: surroundings.settings.borrow().config.workers,
        clock: Box::new(move || timer.now()),
        settings: surroundings.settings.clone(),
        topologies: surroundings.topology.clone(),
        topology: RefCell::new(Arc::clone(&surroundings.topology.borrow())),
        reports: surroundings.reports.clone(),
        shared: Arc::clone(&shared.pools),
        scratch: RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice()),
        greeting: OwnGreeting::default(),
        store: Store::default(),
    })
}
