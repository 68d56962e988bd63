//! One worker: a thread's sessions and what they share.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use net::clock::Clock;
use net::worker::{Seat, WorkerContext};
use net::{Endpoint, RawSocket};
use route::{Backend, Dice, Health};
use slab::Slab;
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};

use crate::surroundings::{Shared, Surroundings};
use crate::watch::{Ask, Watch};

/// Bytes read at once, from either side, into the worker's one buffer. More gains nothing on
/// loopback and costs cache; less costs system calls on big results.
const SCRATCH_BYTES: usize = 64 * 1024;

/// What a worker is told.
pub(crate) enum Message {
    /// A client has connected.
    Arrival(Arrival),
    /// Sessions are to end as soon as nothing is going on in them.
    Drain,
    /// Sessions are to end now.
    Stop,
}

/// A client that has connected and nothing more.
pub(crate) struct Arrival {
    pub socket: RawSocket,
    pub remote: Endpoint,
    /// Its place on the worker.
    pub seat: Seat,
}

/// What the sessions of one thread share.
pub(crate) struct Worker {
    pub surroundings: Surroundings,
    pub shared: Arc<Shared>,
    pub clock: Clock,
    pub dice: RefCell<Dice>,
    /// Where bytes are read to; borrowed between two polls of sockets, never across one.
    pub scratch: RefCell<Box<[u8]>>,
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
        let worker = Rc::new(Worker {
            surroundings,
            shared,
            clock: Clock::start(),
            dice: RefCell::new(Dice::new(context.index as u64)),
            scratch: RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice()),
            watches: RefCell::default(),
            emptied: Notify::new(),
        });
        tokio::task::spawn_local(Rc::clone(&worker).sweep());
        let mut is_draining = false;
        while !(is_draining && worker.watches.borrow().is_empty()) {
            tokio::select! {
                message = context.inbox.recv() => match message {
                    Some(Message::Arrival(arrival)) => worker.take(arrival),
                    Some(Message::Drain) => {
                        is_draining = true;
                        worker.ask_all(Ask::Drain);
                    }
                    Some(Message::Stop) => worker.ask_all(Ask::Stop),
                    None => return,
                },
                () = worker.emptied.notified() => {}
            }
        }
    }

    fn take(self: &Rc<Self>, arrival: Arrival) {
        let registered = self.register();
        tokio::task::spawn_local(crate::serve::serve(Rc::clone(self), registered, arrival));
    }

    fn register(self: &Rc<Self>) -> Registered {
        let watch = Rc::new(Watch::default());
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

    /// Once a second, asks those to end that have been idle, or have waited, for too long.
    async fn sweep(self: Rc<Self>) {
        let mut ticks = interval(Duration::from_secs(1));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            ticks.tick().await;
            let config = Arc::clone(&self.surroundings.settings.borrow().config);
            self.end_idle(config.limits.timeout_idle);
            self.end_waiting(config.health.timeout_down);
        }
    }

    /// Ends sessions that did nothing for `limit`, unless that is zero. Seconds are counted in whole
    /// ones: more than the limit by the coarse clock is never less than the limit.
    fn end_idle(&self, limit: Duration) {
        if limit.is_zero() {
            return;
        }
        let second = self.clock.now();
        for (_, watch) in self.watches.borrow().iter() {
            if Duration::from_secs(u64::from(watch.idle_seconds(second))) > limit {
                watch.ask(Ask::IdleTimeout);
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
