//! Random operations on the pools of two workers, compared with a naive model after each one.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use pilotfish_pool::*;
use proptest::prelude::*;

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);
const KEYS: usize = 3;
const WORKERS: usize = 2;
/// The third key belongs to another backend.
const BACKEND_OF: [usize; KEYS] = [0, 0, 1];

#[derive(Debug, Clone)]
enum Operation {
    CheckOut {
        state: u32,
        patience: Duration,
    },
    GiveBack {
        state: u32,
    },
    Forget,
    DropLease,
    Opened,
    OpenFailed,
    Waive,
    DropPermit,
    Closed,
    DropClosing,
    Cancel,
    DropTicket,
    Tick,
    Pass(Duration),
    Shut,
    Reopen,
    Weed {
        state: u32,
    },
    Limit(u32),
    /// Workers are woken for freed connection slots.
    Ring,
}

/// An operation, its worker, its key, and the index of the object that it applies to.
type Step = (Operation, usize, usize, prop::sample::Index);

fn step() -> impl Strategy<Value = Step> {
    let patience = prop_oneof![
        1 => Just(Duration::ZERO),
        3 => (1..2000u32).prop_map(|ms| MS * ms),
        8 => Just(HOUR),
    ];
    let check_out =
        (0..4u32, patience).prop_map(|(state, patience)| Operation::CheckOut { state, patience });
    let operation = prop_oneof![
        40 => check_out,
        30 => (0..4u32).prop_map(|state| Operation::GiveBack { state }),
        3 => Just(Operation::Forget),
        2 => Just(Operation::DropLease),
        25 => Just(Operation::Opened),
        3 => Just(Operation::OpenFailed),
        2 => Just(Operation::Waive),
        2 => Just(Operation::DropPermit),
        15 => Just(Operation::Closed),
        2 => Just(Operation::DropClosing),
        3 => Just(Operation::Cancel),
        3 => Just(Operation::DropTicket),
        15 => Just(Operation::Tick),
        12 => (0..30u32).prop_map(|ms| Operation::Pass(MS * ms)),
        3 => (0..20_000u32).prop_map(|ms| Operation::Pass(MS * ms)),
        1 => Just(Operation::Shut),
        2 => Just(Operation::Reopen),
        1 => (0..4u32).prop_map(|state| Operation::Weed { state }),
        1 => (1..5u32).prop_map(Operation::Limit),
        6 => Just(Operation::Ring),
    ];
    (operation, 0..WORKERS, 0..KEYS, any::<prop::sample::Index>())
}

/// A connection: its number and its state.
type Conn = (u32, u32);
type TestPool = Pool<usize, Conn, u32>;

/// The model's state of one key in one worker, together with the real pool's tokens.
#[derive(Default)]
struct SubPool {
    limit: u32,
    is_shut: bool,
    /// The most recently used first.
    idle: Vec<(Conn, Dates)>,
    leased: Vec<(Lease, Conn, Dates, Purpose)>,
    opening: Vec<(OpeningPermit, Purpose)>,
    closing: Vec<Closing>,
    waiting: Vec<(u32, Duration)>,
}

#[derive(Debug, Clone, Copy)]
struct Dates {
    opened: Duration,
    used: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Purpose {
    Session,
    Ping,
    Warmth,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Pacing {
    Unbounded,
    Slow,
}

struct World {
    now: Duration,
    pacing: Pacing,
    pools: Vec<TestPool>,
    sub_pools: Vec<[SubPool; KEYS]>,
    /// The connection limit of all keys, and the limit of each key over all workers.
    all: Arc<ConnectionLimit>,
    each: Vec<Arc<ConnectionLimit>>,
    /// By waiter: worker, key, ticket.
    tickets: HashMap<u32, (usize, usize, Ticket)>,
    answered: HashSet<u32>,
    waited: HashSet<u32>,
    next_number: u32,
}

const IDLE_TIME: Duration = Duration::from_secs(8);
const AGE: Duration = Duration::from_secs(30);
const JITTER: Duration = Duration::from_secs(5);
const PING: Duration = Duration::from_secs(3);
const WAITERS_MAX: usize = 6;
const LOOK_MAX: usize = 3;

fn limits(key: usize, connections_max: u32) -> Limits {
    Limits {
        connections_max,
        idle_min: u32::from(key == 0),
        idle_max: 3,
        open_wait_max: Duration::ZERO,
        waiters_max: WAITERS_MAX,
        age_max: Some(AGE),
        age_jitter: JITTER,
        idle_time_max: Some(IDLE_TIME),
        ping_interval: Some(PING),
        compared_max: LOOK_MAX,
    }
}

impl World {
    fn new(pacing: Pacing) -> World {
        let all = ConnectionLimit::new(9, || ());
        let each: Vec<_> = (0..KEYS).map(|_| ConnectionLimit::new(5, || ())).collect();
        let mut world = World {
            now: Duration::ZERO,
            pacing,
            pools: (0..WORKERS).map(|seed| Pool::new(seed as u64)).collect(),
            sub_pools: (0..WORKERS).map(|_| Default::default()).collect(),
            all,
            each,
            tickets: HashMap::new(),
            answered: HashSet::new(),
            waited: HashSet::new(),
            next_number: 0,
        };
        for worker in 0..WORKERS {
            let paces = [world.rate_limit(), world.rate_limit()];
            for key in 0..KEYS {
                world.supply(worker, key, 4, &paces[BACKEND_OF[key]]);
            }
        }
        world
    }

    fn rate_limit(&self) -> Rc<RateLimit> {
        Rc::new(match self.pacing {
            Pacing::Unbounded => RateLimit::new(u32::MAX, u32::MAX, Duration::ZERO),
            Pacing::Slow => RateLimit::new(20, 2, MS * 500),
        })
    }

    fn supply(
        &mut self,
        worker: usize,
        key: usize,
        connections_max: u32,
        rate_limit: &Rc<RateLimit>,
    ) {
        let supply = Supply {
            limits: limits(key, connections_max),
            rate_limit: Rc::clone(rate_limit),
            holdings: vec![Holding::new(&self.each[key]), Holding::new(&self.all)],
        };
        self.pools[worker].supply(key, supply);
        self.sub_pools[worker][key].limit = connections_max;
    }

    fn number(&mut self) -> u32 {
        self.next_number += 1;
        self.next_number
    }

    fn perform(&mut self, (operation, worker, key, which): Step) {
        match operation {
            Operation::CheckOut { state, patience } => {
                self.check_out(worker, key, state, patience);
            }
            Operation::GiveBack { state } => {
                if let Some(leased) = pick(&mut self.sub_pools[worker][key].leased, which) {
                    self.give_back(worker, key, leased, state);
                }
            }
            Operation::Forget => {
                if let Some((lease, ..)) = pick(&mut self.sub_pools[worker][key].leased, which) {
                    let wakes = self.pools[worker].forget(lease, CloseReason::Broken, self.now);
                    self.permits_follow(worker, key, wakes);
                }
            }
            Operation::DropLease => drop(pick(&mut self.sub_pools[worker][key].leased, which)),
            Operation::Opened => {
                if let Some(permit) = pick(&mut self.sub_pools[worker][key].opening, which) {
                    self.opened(worker, key, permit);
                }
            }
            Operation::OpenFailed => {
                if let Some((permit, _)) = pick(&mut self.sub_pools[worker][key].opening, which) {
                    let wakes = self.pools[worker].open_failed(permit, self.now);
                    self.permits_follow(worker, key, wakes);
                }
            }
            Operation::Waive => {
                if let Some((permit, _)) = pick(&mut self.sub_pools[worker][key].opening, which) {
                    let wakes = self.pools[worker].waive(permit, self.now);
                    self.permits_follow(worker, key, wakes);
                }
            }
            Operation::DropPermit => drop(pick(&mut self.sub_pools[worker][key].opening, which)),
            Operation::Closed => {
                if let Some(closing) = pick(&mut self.sub_pools[worker][key].closing, which) {
                    let wakes = self.pools[worker].closed(closing, self.now);
                    self.permits_follow(worker, key, wakes);
                }
            }
            Operation::DropClosing => drop(pick(&mut self.sub_pools[worker][key].closing, which)),
            Operation::Cancel => self.cancel(worker, key, which),
            Operation::DropTicket => self.drop_ticket(worker, key, which),
            Operation::Tick => self.tick(worker),
            Operation::Pass(time) => self.now += time,
            Operation::Shut => self.shut(worker, key),
            Operation::Reopen => self.reopen(worker, key),
            Operation::Weed { state } => self.weed(worker, key, state),
            Operation::Limit(limit) => {
                let paces = [self.rate_limit(), self.rate_limit()];
                for key in 0..KEYS {
                    self.supply(worker, key, limit, &paces[BACKEND_OF[key]]);
                }
            }
            Operation::Ring => (0..WORKERS).for_each(|worker| self.tick(worker)),
        }
    }

    fn check_out(&mut self, worker: usize, key: usize, state: u32, patience: Duration) {
        let waiter = self.number();
        let wish = Wish {
            distance: |conn: &Conn| conn.1.abs_diff(state),
            waiter: || waiter,
            patience,
            waiting_elsewhere: 0,
        };
        let verdict = self.pools[worker].check_out(&key, wish, self.now);
        let is_hindered = self.hindrance(worker, key);
        let sub_pool = &mut self.sub_pools[worker][key];
        match verdict {
            Verdict::Take(conn, lease) => {
                let looked = sub_pool.idle.iter().take(LOOK_MAX);
                let nearest = looked.min_by_key(|(conn, _)| conn.1.abs_diff(state));
                assert_eq!(nearest.map(|(conn, _)| *conn), Some(conn), "the nearest");
                let dates = sub_pool.take_idle(conn);
                sub_pool.leased.push((lease, conn, dates, Purpose::Session));
            }
            Verdict::Open(permit) => {
                assert!(sub_pool.idle.is_empty(), "none is opened while one is idle");
                assert!(sub_pool.waiting.is_empty(), "nobody is overtaken");
                sub_pool.opening.push((permit, Purpose::Session));
            }
            Verdict::Wait(ticket) => {
                assert!(sub_pool.idle.is_empty() && !sub_pool.is_shut);
                assert!(is_hindered, "there is a reason to wait");
                assert!(sub_pool.waiting.len() < WAITERS_MAX);
                sub_pool.waiting.push((waiter, self.now + patience));
                self.tickets.insert(waiter, (worker, key, ticket));
                self.waited.insert(waiter);
            }
            Verdict::Refuse(Refusal::Shut) => assert!(sub_pool.is_shut),
            Verdict::Refuse(Refusal::Crowded) => assert_eq!(sub_pool.waiting.len(), WAITERS_MAX),
            Verdict::Refuse(Refusal::TimedOut) => assert!(patience.is_zero() && is_hindered),
            Verdict::Refuse(Refusal::Unknown) => panic!("every key is known"),
        }
    }

    /// Whether anything keeps a key from opening a connection.
    fn hindrance(&self, worker: usize, key: usize) -> bool {
        let sub_pool = &self.sub_pools[worker][key];
        let has_line = |connection_limit: &Arc<ConnectionLimit>| {
            connection_limit.taken() >= connection_limit.limit() || connection_limit.queued() > 0
        };
        self.pacing == Pacing::Slow
            || !sub_pool.waiting.is_empty()
            || sub_pool.connections() >= sub_pool.limit as usize
            || has_line(&self.all)
            || has_line(&self.each[key])
    }

    fn give_back(
        &mut self,
        worker: usize,
        key: usize,
        (lease, (number, _), mut dates, purpose): (Lease, Conn, Dates, Purpose),
        state: u32,
    ) {
        let conn = (number, state);
        if purpose == Purpose::Session {
            dates.used = self.now;
        }
        match self.pools[worker].give_back(lease, conn, self.now) {
            Next::Wake(wake) => {
                assert!(!self.sub_pools[worker][key].is_shut);
                self.woken(worker, key, wake, Some((conn, dates)));
            }
            Next::Rest | Next::Linger => {
                let sub_pool = &mut self.sub_pools[worker][key];
                assert!(
                    sub_pool.waiting.is_empty(),
                    "nobody waits beside an idle one"
                );
                assert!(!sub_pool.is_shut && sub_pool.idle.len() < 3);
                let behind = sub_pool.idle.partition_point(|(_, d)| d.used > dates.used);
                sub_pool.idle.insert(behind, (conn, dates));
            }
            Next::Close(closed, reason, closing) => {
                assert_eq!(closed, conn);
                self.justified(worker, key, reason, dates);
                self.sub_pools[worker][key].closing.push(closing);
            }
        }
    }

    fn opened(&mut self, worker: usize, key: usize, (permit, purpose): (OpeningPermit, Purpose)) {
        let lease = self.pools[worker].opened(permit, self.now);
        let conn = (self.number(), 0);
        let dates = Dates {
            opened: self.now,
            used: self.now,
        };
        let leased = (lease, conn, dates, purpose);
        if purpose == Purpose::Session {
            self.sub_pools[worker][key].leased.push(leased);
        } else {
            self.give_back(worker, key, leased, 0);
        }
    }

    fn permits_follow(&mut self, worker: usize, key: usize, wakes: Vec<Wake<Conn, u32>>) {
        for wake in wakes {
            assert!(matches!(wake.grant, Grant::Permit(_)));
            self.woken(worker, key, wake, None);
        }
    }

    /// Notes that a waiter is woken; asserts that it is the first of its key and was not woken before.
    fn woken(
        &mut self,
        worker: usize,
        key: usize,
        wake: Wake<Conn, u32>,
        given: Option<(Conn, Dates)>,
    ) {
        let sub_pool = &mut self.sub_pools[worker][key];
        let (first, _) = sub_pool.waiting.remove(0);
        assert_eq!(wake.waiter, first, "first come, first served");
        match wake.grant {
            Grant::Connection(conn, lease) => {
                let (given, dates) = given.expect("a connection goes on when it is given back");
                assert_eq!(conn, given);
                sub_pool.leased.push((lease, conn, dates, Purpose::Session));
            }
            Grant::Permit(permit) => sub_pool.opening.push((permit, Purpose::Session)),
        }
        self.answered(first);
    }

    fn answered(&mut self, waiter: u32) {
        assert!(self.answered.insert(waiter), "answered once");
        let (worker, _, ticket) = self.tickets.remove(&waiter).unwrap();
        assert_eq!(self.pools[worker].waiting(&ticket), None);
    }

    /// Asserts that the model agrees with a reason to close.
    fn justified(&self, worker: usize, key: usize, reason: CloseReason, dates: Dates) {
        let sub_pool = &self.sub_pools[worker][key];
        let full = |connection_limit: &Arc<ConnectionLimit>| {
            connection_limit.taken() >= connection_limit.limit() && connection_limit.queued() > 0
        };
        match reason {
            CloseReason::Shut => assert!(sub_pool.is_shut),
            CloseReason::TooOld => assert!(dates.opened + AGE - JITTER <= self.now),
            CloseReason::TooMany => {
                assert!(sub_pool.idle.len() >= 3 || sub_pool.kept() >= sub_pool.limit as usize);
            }
            CloseReason::IdleTooLong => assert!(dates.used + IDLE_TIME <= self.now),
            CloseReason::Yielded => assert!(full(&self.all) || full(&self.each[key])),
            other => panic!("the pool does not close for this: {other:?}"),
        }
    }

    fn cancel(&mut self, worker: usize, key: usize, which: prop::sample::Index) {
        let Some((waiter, _)) = pick(&mut self.sub_pools[worker][key].waiting, which) else {
            return;
        };
        let (_, _, ticket) = self.tickets.remove(&waiter).unwrap();
        assert_eq!(self.pools[worker].cancel(ticket), Some(waiter));
        self.waited.remove(&waiter);
    }

    fn drop_ticket(&mut self, worker: usize, key: usize, which: prop::sample::Index) {
        if let Some((waiter, _)) = pick(&mut self.sub_pools[worker][key].waiting, which) {
            self.tickets.remove(&waiter);
            self.waited.remove(&waiter);
        }
    }

    /// Ticks until nothing is due; at each tick one key may yield to another.
    fn tick(&mut self, worker: usize) {
        for _ in 0..=KEYS {
            let actions = self.pools[worker].tick(self.now);
            self.act(worker, actions);
            let mut waiting = self.sub_pools[worker].iter().flat_map(|s| &s.waiting);
            assert!(
                waiting.all(|(_, deadline)| *deadline > self.now),
                "nobody waits longer than it would"
            );
            let next = self.pools[worker].next_tick(self.now);
            if next.is_none_or(|next| next > self.now) {
                return;
            }
        }
        panic!("ticks spin");
    }

    fn act(&mut self, worker: usize, actions: Vec<Action<usize, Conn, u32>>) {
        for action in actions {
            match action {
                Action::Wake(wake) => {
                    let (_, key, _) = self.tickets[&wake.waiter];
                    self.permits_follow(worker, key, vec![wake]);
                }
                Action::Refuse(waiter, refusal) => self.refused(worker, waiter, refusal),
                Action::Open(key, permit) => {
                    let sub_pool = &mut self.sub_pools[worker][key];
                    assert!(sub_pool.waiting.is_empty() && sub_pool.idle.is_empty());
                    sub_pool.opening.push((permit, Purpose::Warmth));
                }
                Action::Ping(conn, lease) => {
                    let sub_pool = self.shelf_with(worker, conn);
                    let dates = sub_pool.take_idle(conn);
                    sub_pool.leased.push((lease, conn, dates, Purpose::Ping));
                }
                Action::Close(conn, reason, closing) => {
                    let key = self.key_of(worker, conn);
                    let dates = self.sub_pools[worker][key].take_idle(conn);
                    if reason != CloseReason::Broken {
                        self.justified(worker, key, reason, dates);
                    }
                    self.sub_pools[worker][key].closing.push(closing);
                }
            }
        }
    }

    fn refused(&mut self, worker: usize, waiter: u32, refusal: Refusal) {
        let (_, key, _) = self.tickets[&waiter];
        let sub_pool = &mut self.sub_pools[worker][key];
        let place = sub_pool.waiting.iter().position(|(w, _)| *w == waiter);
        let (_, deadline) = sub_pool.waiting.remove(place.unwrap());
        match refusal {
            Refusal::TimedOut => assert!(deadline <= self.now),
            Refusal::Shut => assert!(sub_pool.is_shut),
            other => panic!("a waiter is not refused for this: {other:?}"),
        }
        self.answered(waiter);
    }

    fn key_of(&self, worker: usize, conn: Conn) -> usize {
        let mut sub_pools = self.sub_pools[worker].iter();
        let is_there = |sub_pool: &SubPool| sub_pool.idle.iter().any(|(idle, _)| *idle == conn);
        sub_pools.position(is_there).expect("it was idle")
    }

    fn shelf_with(&mut self, worker: usize, conn: Conn) -> &mut SubPool {
        let key = self.key_of(worker, conn);
        &mut self.sub_pools[worker][key]
    }

    fn shut(&mut self, worker: usize, key: usize) {
        let backend = BACKEND_OF[key];
        for (own, sub_pool) in self.sub_pools[worker].iter_mut().enumerate() {
            sub_pool.is_shut |= BACKEND_OF[own] == backend;
        }
        let actions = self.pools[worker].shut(|key| BACKEND_OF[*key] == backend);
        self.act(worker, actions);
        for (own, sub_pool) in self.sub_pools[worker].iter().enumerate() {
            let is_empty = sub_pool.idle.is_empty() && sub_pool.waiting.is_empty();
            assert!(BACKEND_OF[own] != backend || is_empty);
        }
    }

    fn reopen(&mut self, worker: usize, key: usize) {
        let backend = BACKEND_OF[key];
        for (own, sub_pool) in self.sub_pools[worker].iter_mut().enumerate() {
            sub_pool.is_shut &= BACKEND_OF[own] != backend;
        }
        self.pools[worker].reopen(|key| BACKEND_OF[*key] == backend, self.now);
    }

    fn weed(&mut self, worker: usize, key: usize, state: u32) {
        let actions = self.pools[worker].weed(
            |own| *own == key,
            |conn| conn.1 == state,
            CloseReason::Broken,
        );
        self.act(worker, actions);
        let idle = &self.sub_pools[worker][key].idle;
        assert!(idle.iter().all(|(conn, _)| conn.1 != state));
    }

    /// Asserts that the figures equal the model's and that no limit is exceeded.
    fn compare(&mut self) {
        for worker in 0..WORKERS {
            // Lets the pool find dropped tokens.
            self.act_on_nothing(worker);
            for key in 0..KEYS {
                let sub_pool = &self.sub_pools[worker][key];
                let figures = self.pools[worker].figures(&key, self.now).unwrap();
                assert_eq!(figures.idle, sub_pool.idle.len());
                assert_eq!(figures.leased, sub_pool.leased.len());
                assert_eq!(figures.opening, sub_pool.opening.len());
                assert_eq!(figures.closing, sub_pool.closing.len());
                assert_eq!(figures.waiting, sub_pool.waiting.len());
                let ended = figures.counts.closed.total() as usize;
                let there = figures.connections() - figures.opening - figures.closing;
                assert_eq!(figures.counts.opened as usize, there + ended);
            }
        }
        let connections = |key: usize| -> usize {
            let sub_pools = self.sub_pools.iter().map(|sub_pools| &sub_pools[key]);
            sub_pools.map(SubPool::connections).sum()
        };
        let of_each: Vec<_> = (0..KEYS).map(connections).collect();
        for (connection_limit, connections) in self.each.iter().zip(&of_each) {
            assert_eq!(connection_limit.taken() as usize, *connections);
            assert!(*connections <= 5);
        }
        assert_eq!(self.all.taken() as usize, of_each.iter().sum::<usize>());
        assert!(self.all.taken() <= 9);
    }

    fn act_on_nothing(&mut self, worker: usize) {
        let none = self.pools[worker].weed(|_| false, |_| false, CloseReason::Broken);
        assert!(none.is_empty());
    }

    /// Ends all sessions; then every waiter must have been woken or refused.
    fn finish(&mut self) {
        for worker in 0..WORKERS {
            (0..KEYS).for_each(|key| self.reopen(worker, key));
        }
        for _ in 0..3_000 {
            for worker in 0..WORKERS {
                (0..KEYS).for_each(|key| self.work_off(worker, key));
                self.tick(worker);
            }
            self.compare();
            if self
                .sub_pools
                .iter()
                .flatten()
                .all(|s| s.waiting.is_empty())
            {
                return;
            }
            self.now += MS * 5;
        }
        panic!("some waiters were not served in 3,000 rounds");
    }

    /// Returns every token that is outstanding now, once.
    fn work_off(&mut self, worker: usize, key: usize) {
        for _ in 0..self.sub_pools[worker][key].closing.len() {
            let closing = self.sub_pools[worker][key].closing.remove(0);
            let wakes = self.pools[worker].closed(closing, self.now);
            self.permits_follow(worker, key, wakes);
        }
        for _ in 0..self.sub_pools[worker][key].opening.len() {
            let permit = self.sub_pools[worker][key].opening.remove(0);
            self.opened(worker, key, permit);
        }
        for _ in 0..self.sub_pools[worker][key].leased.len() {
            let leased = self.sub_pools[worker][key].leased.remove(0);
            self.give_back(worker, key, leased, 0);
        }
    }

    /// Removes all keys and closes all connections; asserts that nothing is left.
    fn end(mut self) {
        assert_eq!(self.answered, self.waited, "everybody was answered");
        for worker in 0..WORKERS {
            self.sub_pools[worker]
                .iter_mut()
                .for_each(|s| s.is_shut = true);
            let actions = self.pools[worker].remove(|_| true);
            self.act(worker, actions);
            while self.sub_pools[worker].iter().any(|s| s.connections() > 0) {
                (0..KEYS).for_each(|key| self.work_off(worker, key));
            }
            assert_eq!(self.pools[worker].all_figures(self.now).count(), 0);
        }
        for connection_limit in self.each.iter().chain([&self.all]) {
            assert_eq!(
                (connection_limit.taken(), connection_limit.queued()),
                (0, 0)
            );
        }
    }
}

impl SubPool {
    fn take_idle(&mut self, conn: Conn) -> Dates {
        let place = self.idle.iter().position(|(idle, _)| *idle == conn);
        self.idle.remove(place.expect("it was idle")).1
    }

    fn kept(&self) -> usize {
        self.idle.len() + self.leased.len() + self.opening.len()
    }

    fn connections(&self) -> usize {
        self.kept() + self.closing.len()
    }
}

fn pick<T>(from: &mut Vec<T>, which: prop::sample::Index) -> Option<T> {
    (!from.is_empty()).then(|| from.remove(which.index(from.len())))
}

fn run(pacing: Pacing, steps: Vec<Step>) {
    let mut world = World::new(pacing);
    for step in steps {
        world.perform(step);
        world.compare();
    }
    world.finish();
    world.end();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_pool_does_as_the_model(steps in prop::collection::vec(step(), 400..600)) {
        run(Pacing::Unbounded, steps);
    }

    #[test]
    fn the_pool_does_as_the_model_at_a_slow_pace(steps in prop::collection::vec(step(), 400..600)) {
        run(Pacing::Slow, steps);
    }
}
