//! One worker: a thread's sessions and what they share.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use net::clock::Clock;
use net::worker::{Seat, WorkerContext};
use net::{Endpoint, RawSocket};
use route::{
    Backend, BackendId, Dice, Duty, Health, KillReason, KillScope, Loads, Report, Topology,
};
use slab::Slab;
use tokio::sync::{Notify, mpsc};
use tokio::time::{MissedTickBehavior, interval};
use wire::StatusFlags;

use crate::blocks::Blocks;
use crate::book::Book;
use crate::card::Way;
use crate::insight::digests::Insight;
use crate::insight::telling::{Told, Wish};
use crate::pooled::desk::Desk;
use crate::pooled::greeting::OwnGreeting;
use crate::pooled::lanes::Lanes;
use crate::pooled::people::Kill;
use crate::pooled::store::Store;
use crate::pooled::times::Times;
use crate::scripted::host::Host;
use crate::seen::{Seen, SeenDigest};
use crate::surroundings::{Settings, Shared, Surroundings};
use crate::view::{LoadView, Look, SessionState, SessionView, WorkerView};
use crate::watch::{Activity, Ask, Watch};
use crate::window::Killed;

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
    Insight(Wish, mpsc::UnboundedSender<Told>),
    /// The worker is to tell this of itself.
    Look(Look, mpsc::UnboundedSender<WorkerView>),
    /// A session, or its statement, is to be killed, by the number that the proxy calls it; whoever has it
    /// says so.
    Kill(Kill, mpsc::UnboundedSender<Killed>),
    /// Counts of times, lanes and rules are to begin from nothing; that is said when it is so.
    Reset(mpsc::UnboundedSender<()>),
}

/// A client that has connected and nothing more.
pub(crate) struct Arrival {
    pub socket: RawSocket,
    pub remote: Endpoint,
    /// Its place on the worker.
    pub seat: Seat,
    /// What is configured of its listener.
    pub listener: Arc<config::ListenerConfig>,
}

impl Arrival {
    /// The place is kept for as long as the session lives, whatever becomes of the rest.
    pub(crate) fn sit_down(self) -> (Newcomer, Seat) {
        let Arrival {
            socket,
            remote,
            seat,
            listener,
        } = self;
        let newcomer = Newcomer {
            socket,
            remote,
            listener,
        };
        (newcomer, seat)
    }
}

/// A client that has its place.
pub(crate) struct Newcomer {
    pub socket: RawSocket,
    pub remote: Endpoint,
    /// What is configured of its listener.
    pub listener: Arc<config::ListenerConfig>,
}

/// What the sessions of one thread share.
pub(crate) struct Worker {
    /// Which one, from 0.
    pub index: usize,
    /// How many there are.
    pub workers: usize,
    pub surroundings: Surroundings,
    pub shared: Arc<Shared>,
    pub clock: Clock,
    pub dice: RefCell<Dice>,
    /// Where bytes are read to; borrowed between two polls of sockets, never across one.
    pub scratch: RefCell<Box<[u8]>>,
    /// The backends of the moment.
    pub topology: RefCell<Arc<Topology>>,
    /// The rules of the moment.
    pub book: RefCell<Rc<Book>>,
    /// What its sessions have sent of late.
    pub seen: Seen,
    /// What it keeps about statements.
    pub insight: Insight,
    /// How clients are greeted whose logins are answered here.
    pub greeting: OwnGreeting,
    /// Its statements under way on each backend.
    pub loads: Loads,
    /// Backend connections that sessions take turns on.
    pub desk: Desk,
    /// Connections with statements of several sessions in flight.
    pub lanes: Lanes,
    /// What pooled sessions share.
    pub store: Store,
    /// Of the commands that run.
    pub blocks: Blocks,
    /// How long their statements have waited, and backends have taken.
    pub times: Times,
    /// The script that sessions run, if they run one.
    pub script: Option<Rc<Host>>,
    /// Sessions by the ids that clients see.
    pub people: RefCell<HashMap<u32, Rc<Watch>>>,
    watches: RefCell<Slab<Rc<Watch>>>,
    emptied: Notify,
}

/// A session's entry in its worker's list, for as long as it lives.
pub(crate) struct Registered {
    pub watch: Rc<Watch>,
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
        let topology = Arc::clone(&surroundings.topology.borrow());
        let workers = surroundings.settings.borrow().config.workers;
        let (kills, mut killed) = mpsc::unbounded_channel();
        shared.people.enlist(context.index, kills);
        let mut settings = surroundings.settings.clone();
        let book = Book::new(&settings.borrow_and_update());
        let seen = Seen::new(&settings.borrow().config.digests);
        let insight = Insight::new(&settings.borrow().config);
        shared.tallies.enter(context.index, &book.counters);
        let worker = Rc::new(Worker {
            book: RefCell::new(Rc::new(book)),
            index: context.index,
            workers,
            topology: RefCell::new(topology),
            seen,
            insight,
            greeting: OwnGreeting::default(),
            loads: Loads::default(),
            desk: Desk::new(context.index as u64),
            lanes: Lanes::new(shared.lane_counts.enter()),
            store: Store::default(),
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
            scratch: RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice()),
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
        tokio::task::spawn_local(Desk::keep(Rc::clone(&worker)));
        let mut is_draining = false;
        while !(is_draining && worker.watches.borrow().is_empty()) {
            tokio::select! {
                message = context.inbox.recv() => match message {
                    Some(Message::Arrival(arrival)) => worker.take(arrival),
                    Some(Message::Drain) => {
                        is_draining = true;
                        worker.ask_all(Ask::Drain);
                        worker.desk.shut_idle(&worker);
                        if let Some(host) = &worker.script {
                            host.parked.close_all();
                        }
                    }
                    Some(Message::Stop) => worker.ask_all(Ask::Stop),
                    // Who asked may have gone.
                    Some(Message::Tell(to)) => drop(to.send(worker.seen.all())),
                    Some(Message::Insight(wish, to)) => worker.tell_insight(wish, to),
                    Some(Message::Look(look, to)) => drop(to.send(worker.look(look))),
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

    /// The script that sessions run, if they run one.
    pub(crate) fn script_host(&self) -> Option<Rc<Host>> {
        self.script.clone()
    }

    /// The rules of the moment, to be looked at for one command.
    /// What this worker counts begins from nothing.
    fn reset_counts(&self) {
        self.book().counters.reset();
        self.lanes.counts.reset();
        self.times.reset(&self.shared.times);
    }

    pub(crate) fn book(&self) -> Rc<Book> {
        Rc::clone(&self.book.borrow())
    }

    fn take_rules(&self, settings: &Settings) {
        self.seen.follow(&settings.config.digests);
        self.insight.follow(&settings.config);
        let book = self.book().followed_by(settings);
        self.shared.tallies.enter(self.index, &book.counters);
        *self.book.borrow_mut() = Rc::new(book);
        self.store.forget_definitions();
    }

    fn take(self: &Rc<Self>, arrival: Arrival) {
        let registered = self.register();
        tokio::task::spawn_local(crate::serve::serve(Rc::clone(self), registered, arrival));
    }

    pub(crate) fn register(self: &Rc<Self>) -> Registered {
        let watch = Rc::new(Watch::default());
        let key = self.watches.borrow_mut().insert(Rc::clone(&watch));
        Registered {
            watch,
            worker: Rc::clone(self),
            key,
        }
    }

    /// Tells a session that it, or its statement, is to be killed.
    fn kill(&self, kill: Kill) {
        if let Some(backend) = kill.at {
            return self.end_hook_at(backend, kill.id);
        }
        if let Some(watch) = self.people.borrow().get(&kill.id) {
            match kill.scope {
                KillScope::Statement => watch.kill_statement(kill.said),
                KillScope::Connection => watch.ask(Ask::KillSession),
            }
        }
    }

    /// A backend has killed what ran on this connection: a hook whose session has it waits no longer.
    fn end_hook_at(&self, backend: BackendId, thread_id: u32) {
        for (_, watch) in self.watches.borrow().iter() {
            if watch.has_waiting_hook_at(backend, thread_id) {
                watch.ask(Ask::EndHook);
            }
        }
    }

    /// The same for somebody who looks at all sessions, those among them that nobody else can kill. None:
    /// it is not here.
    fn kill_by_card(&self, kill: Kill) -> Option<Killed> {
        let watches = self.watches.borrow();
        let mut found = watches.iter().filter_map(|(_, watch)| {
            let card = watch.card().filter(|card| card.id == kill.id)?;
            Some((watch, card))
        });
        let (watch, card) = found.next()?;
        match (kill.scope, card.way, watch.backend()) {
            (KillScope::Statement, Way::Relayed, Some(backend)) => {
                if !self.has_monitor() {
                    let why = "A session that is not pooled needs health.monitor_user for that; KILL \
                               without QUERY ends it whole";
                    return Some(Killed::Impossible(why));
                }
                self.surroundings.report(Report::KillStatement {
                    backend,
                    thread_id: card.thread_id,
                    why: KillReason::Asked,
                });
            }
            (KillScope::Statement, Way::Scripted, _)
                if !watch.has_waiting_hook() && !self.has_monitor() =>
            {
                let why = "A session that runs a script and is not pooled needs health.monitor_user \
                           for that, unless a hook of it waits; KILL without QUERY ends it whole";
                return Some(Killed::Impossible(why));
            }
            (KillScope::Statement, _, _) => watch.kill_statement(kill.said),
            (KillScope::Connection, _, _) => watch.ask(Ask::KillSession),
        }
        Some(Killed::Told)
    }

    /// Whether somebody kills statements that sessions cannot kill themselves.
    pub(crate) fn has_monitor(&self) -> bool {
        let settings = self.surroundings.settings.borrow();
        settings.config.health.monitor_user.is_some()
    }

    /// What it tells of itself when it is asked this.
    fn look(&self, look: Look) -> WorkerView {
        let nothing = WorkerView {
            worker: self.index,
            ..WorkerView::default()
        };
        match look {
            Look::Around => self.view(),
            Look::Idle => WorkerView {
                idle: self.desk.idle(self),
                ..nothing
            },
            Look::Take => WorkerView {
                pools: self.desk.take(self),
                times: self.times.take(&self.shared.times),
                ..nothing
            },
        }
    }

    /// Its sessions, pools and loads.
    fn view(&self) -> WorkerView {
        let watches = self.watches.borrow();
        let sessions = watches.iter();
        let topology = Arc::clone(&self.topology.borrow());
        WorkerView {
            worker: self.index,
            sessions: sessions
                .filter_map(|(_, watch)| self.view_of(watch))
                .collect(),
            pools: self.desk.views(self),
            loads: topology
                .backends
                .iter()
                .map(|backend| LoadView {
                    backend: backend.id,
                    in_flight: self.loads.in_flight(backend.id),
                    latency: self.loads.latency(backend.id),
                })
                .collect(),
            ..WorkerView::default()
        }
    }

    fn view_of(&self, watch: &Watch) -> Option<SessionView> {
        let card = watch.card()?;
        let (activity, state_seconds) = watch.activity(self.clock.now());
        let age = self.surroundings.now().since(card.began);
        let (state, state_seconds) = match (card.way, activity) {
            (Way::Login, _) => (SessionState::Login, u32::try_from(age.as_secs()).ok()?),
            (_, Activity::Idle) => (SessionState::Idle, state_seconds),
            (_, Activity::Running) => (SessionState::Running, state_seconds),
        };
        let is_pooled = matches!(card.way, Way::Pooled(_));
        let pins = watch.pins().filter(|_| is_pooled);
        let is_running = state == SessionState::Running;
        let uses = !is_pooled || pins.is_some() || is_running;
        let thread_id = match is_pooled && uses {
            true => watch.thread(),
            false => card.thread_id,
        };
        let digest = Some(watch.digest()).filter(|digest| is_running && *digest > 0);
        let named = (!card.schema.is_empty()).then(|| card.schema.to_string());
        Some(SessionView {
            id: card.id,
            worker: self.index,
            user: card.user.into(),
            client: card.client,
            listener: card.listener.address.to_string(),
            schema: match is_pooled {
                true => watch.schema(),
                false => named,
            },
            state,
            state_seconds,
            age,
            mode: card.way.name(),
            backend: watch.backend().filter(|_| uses),
            thread_id: Some(thread_id).filter(|id| *id > 0),
            digest,
            statement: digest.and_then(|digest| self.insight.known_text(digest)),
            is_in_transaction: watch.status().contains(StatusFlags::IN_TRANS),
            pins,
        })
    }

    fn ask_all(&self, ask: Ask) {
        for (_, watch) in self.watches.borrow().iter() {
            watch.ask(ask);
        }
    }

    /// Whether what uses the backend has to leave it at once.
    pub(crate) fn is_disabled(&self, backend: BackendId) -> bool {
        let topology = self.topology.borrow();
        let known = topology.backend(backend);
        known.is_some_and(|it| it.duty == Duty::Disabled)
    }

    /// Has all leave the backends that are disabled: sessions, lanes, and what scripts have parked.
    pub(crate) fn clear_disabled(&self) {
        let topology = Arc::clone(&self.topology.borrow());
        let backends = topology.backends.iter();
        let disabled: Vec<_> = backends
            .filter(|backend| backend.duty == Duty::Disabled)
            .map(|backend| backend.id)
            .collect();
        if disabled.is_empty() {
            return;
        }
        for (_, watch) in self.watches.borrow().iter() {
            if watch.backend().is_some_and(|it| disabled.contains(&it)) {
                watch.ask(Ask::BackendDisabled);
            }
        }
        self.lanes.clear(&disabled);
        if let Some(host) = &self.script {
            for id in host.parked.close_to(&disabled) {
                host.scripts.unpark(id);
            }
        }
    }

    /// Once a second, asks those to end that have been idle, or have waited, for too long.
    async fn sweep(self: Rc<Self>) {
        let mut ticks = interval(Duration::from_secs(1));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            ticks.tick().await;
            let config = Arc::clone(&self.surroundings.settings.borrow().config);
            self.end_idle(config.limits.timeout_idle);
            self.end_waiting(config.health.timeout_down);
            // Who was on the way there when a backend was disabled has arrived by now.
            self.clear_disabled();
        }
    }

    /// Ends sessions that did nothing for `limit`, unless that is zero, or for as long as they have
    /// set themselves. Seconds are counted in whole ones: more than the limit by the coarse clock is
    /// never less than the limit.
    fn end_idle(&self, limit: Duration) {
        let second = self.clock.now();
        for (_, watch) in self.watches.borrow().iter() {
            let idle = Duration::from_secs(u64::from(watch.idle_seconds(second)));
            if !limit.is_zero() && idle > limit {
                watch.ask(Ask::IdleTimeout);
            }
            if watch.has_waited_too_long(second) {
                watch.ask(Ask::WaitTimeout);
            }
        }
    }

    /// Ends sessions in whose exchange nothing has moved for `limit`, on backends that have been
    /// down for as long. Which are down is decided by probes; a slow statement alone never counts.
    fn end_waiting(&self, limit: Duration) {
        let now = self.surroundings.now();
        let topology = Arc::clone(&self.surroundings.topology.borrow());
        let is_gone = |backend: &Arc<Backend>| match backend.health {
            Health::Down { since, .. } => now.since(since) >= limit,
            Health::Up { .. } | Health::Unknown => false,
        };
        let gone: Vec<_> = topology
            .backends
            .iter()
            .filter(|backend| is_gone(backend))
            .map(|backend| backend.id)
            .collect();
        if limit.is_zero() || gone.is_empty() {
            return;
        }
        let second = self.clock.now();
        for (_, watch) in self.watches.borrow().iter() {
            if let Some((backend, seconds)) = watch.waits_for(second)
                && gone.contains(&backend)
                && Duration::from_secs(u64::from(seconds)) > limit
            {
                watch.ask(Ask::BackendDown);
            }
        }
    }
}
