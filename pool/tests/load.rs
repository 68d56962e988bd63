//! Sessions in virtual time: no session starves, few connections serve many sessions, and connections
//! are not opened and closed without need.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pilotfish_pool::*;

const US: Duration = Duration::from_micros(1);
const MS: Duration = Duration::from_millis(1);
const S: Duration = Duration::from_secs(1);

/// The durations of opening a connection, and of waking a worker.
const OPENING: Duration = Duration::from_millis(3);
const BELL: Duration = Duration::from_micros(100);

/// Sessions of one account in one worker: each runs a statement, then rests.
#[derive(Clone, Copy)]
struct Crowd {
    worker: usize,
    account: usize,
    sessions: usize,
    statement: Duration,
    rest: Duration,
}

struct Session {
    worker: usize,
    account: usize,
    statement: Duration,
    rest: Duration,
    asked_at: Duration,
    ticket: Option<Ticket>,
    lease: Option<Lease>,
    statements: usize,
    longest_wait: Duration,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Ask(usize),
    Opened(usize),
    Done(usize),
    Tick(usize),
}

struct World {
    now: Duration,
    pools: Vec<Pool<usize, (), usize>>,
    connection_limit: Arc<ConnectionLimit>,
    rung: Arc<AtomicBool>,
    sessions: Vec<Session>,
    permits: Vec<Option<OpeningPermit>>,
    /// When each worker ticks next.
    ticks: Vec<Option<Duration>>,
    events: BinaryHeap<Reverse<(Duration, u64, Event)>>,
    sequence: u64,
}

impl World {
    fn new(workers: usize, accounts: usize, connections_max: u32, crowds: &[Crowd]) -> World {
        let rung = Arc::new(AtomicBool::new(false));
        let waker = Arc::clone(&rung);
        let connection_limit = ConnectionLimit::new(connections_max, move || {
            waker.store(true, Ordering::Relaxed)
        });
        let mut world = World {
            now: Duration::ZERO,
            pools: (0..workers).map(|seed| Pool::new(seed as u64)).collect(),
            connection_limit,
            rung,
            sessions: Vec::new(),
            permits: Vec::new(),
            ticks: vec![None; workers],
            events: BinaryHeap::new(),
            sequence: 0,
        };
        for worker in 0..workers {
            let rate_limit = Rc::new(RateLimit::new(200, 20, S));
            for account in 0..accounts {
                let supply = Supply {
                    limits: Limits::default(),
                    rate_limit: Rc::clone(&rate_limit),
                    holdings: vec![Holding::new(&world.connection_limit)],
                };
                world.pools[worker].supply(account, supply);
            }
            world.tick_at(worker, Duration::ZERO);
        }
        crowds.iter().for_each(|crowd| world.come(*crowd));
        world
    }

    /// The sessions of a crowd begin evenly over its first period.
    fn come(&mut self, crowd: Crowd) {
        let period = crowd.statement + crowd.rest;
        for index in 0..crowd.sessions {
            let begin = self.now + period * index as u32 / crowd.sessions as u32;
            self.at(begin, Event::Ask(self.sessions.len()));
            self.permits.push(None);
            self.sessions.push(Session {
                worker: crowd.worker,
                account: crowd.account,
                statement: crowd.statement,
                rest: crowd.rest,
                asked_at: Duration::ZERO,
                ticket: None,
                lease: None,
                statements: 0,
                longest_wait: Duration::ZERO,
            });
        }
    }

    fn at(&mut self, time: Duration, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((time, self.sequence, event)));
    }

    fn run(&mut self, until: Duration) {
        while self.events.peek().is_some_and(|next| next.0.0 <= until) {
            let Reverse((time, _, event)) = self.events.pop().unwrap();
            self.now = time;
            match event {
                Event::Ask(session) => self.ask(session),
                Event::Opened(session) => {
                    let permit = self.permits[session].take().unwrap();
                    let worker = self.sessions[session].worker;
                    let lease = self.pools[worker].opened(permit, self.now);
                    self.next_tick(worker);
                    self.execute(session, lease);
                }
                Event::Done(session) => self.done(session),
                Event::Tick(worker) if self.ticks[worker] == Some(self.now) => {
                    self.tick(worker);
                }
                Event::Tick(_) => {} // one was due earlier
            }
            if self.rung.swap(false, Ordering::Relaxed) {
                for worker in 0..self.pools.len() {
                    self.tick_at(worker, self.now + BELL);
                }
            }
            assert!(self.connection_limit.taken() <= self.connection_limit.limit());
        }
    }

    fn ask(&mut self, index: usize) {
        let session = &mut self.sessions[index];
        session.asked_at = self.now;
        let wish = Wish {
            distance: |(): &()| 0,
            waiter: || index,
            patience: 10 * S,
            waiting_elsewhere: 0,
        };
        match self.pools[session.worker].check_out(&session.account, wish, self.now) {
            Verdict::Take((), lease) => self.execute(index, lease),
            Verdict::Open(permit) => self.open(index, permit),
            Verdict::Wait(ticket) => {
                session.ticket = Some(ticket);
                self.next_tick(self.sessions[index].worker);
            }
            Verdict::Refuse(refusal) => panic!("{refusal}"),
        }
    }

    fn open(&mut self, session: usize, permit: OpeningPermit) {
        self.permits[session] = Some(permit);
        self.at(self.now + OPENING, Event::Opened(session));
    }

    fn execute(&mut self, index: usize, lease: Lease) {
        let session = &mut self.sessions[index];
        session.longest_wait = session.longest_wait.max(self.now - session.asked_at);
        session.lease = Some(lease);
        session.ticket = None;
        let end = self.now + session.statement;
        self.at(end, Event::Done(index));
    }

    fn done(&mut self, index: usize) {
        let session = &mut self.sessions[index];
        session.statements += 1;
        let (worker, again) = (session.worker, self.now + session.rest);
        let lease = session.lease.take().unwrap();
        self.at(again, Event::Ask(index));
        match self.pools[worker].give_back(lease, (), self.now) {
            Next::Wake(wake) => self.wake(wake),
            Next::Rest => {}
            Next::Linger => self.next_tick(worker),
            Next::Close((), _, closing) => self.close(worker, closing),
        }
    }

    fn close(&mut self, worker: usize, closing: Closing) {
        for wake in self.pools[worker].closed(closing, self.now) {
            self.wake(wake);
        }
        self.next_tick(worker);
    }

    fn wake(&mut self, Wake { waiter, grant }: Wake<(), usize>) {
        match grant {
            Grant::Connection((), lease) => self.execute(waiter, lease),
            Grant::Permit(permit) => self.open(waiter, permit),
        }
    }

    fn tick(&mut self, worker: usize) {
        self.ticks[worker] = None;
        for action in self.pools[worker].tick(self.now) {
            match action {
                Action::Wake(wake) => self.wake(wake),
                Action::Close((), _, closing) => self.close(worker, closing),
                Action::Ping((), lease) => {
                    let next = self.pools[worker].give_back(lease, (), self.now);
                    assert!(matches!(next, Next::Rest | Next::Linger));
                }
                other => panic!("not expected: {other:?}"),
            }
        }
        self.next_tick(worker);
    }

    fn next_tick(&mut self, worker: usize) {
        if let Some(next) = self.pools[worker].next_tick(self.now) {
            self.tick_at(worker, next.max(self.now + US));
        }
    }

    fn tick_at(&mut self, worker: usize, time: Duration) {
        if self.ticks[worker].is_none_or(|pending| time < pending) {
            self.ticks[worker] = Some(time);
            self.at(time, Event::Tick(worker));
        }
    }

    fn longest_wait(&self) -> Duration {
        let now = self.now;
        let waits = self.sessions.iter().map(|session| {
            let current = session.ticket.as_ref().map(|_| now - session.asked_at);
            session.longest_wait.max(current.unwrap_or_default())
        });
        waits.max().unwrap()
    }

    fn sum(&self) -> Figures {
        let mut sum = Figures::default();
        for pool in &self.pools {
            pool.all_figures(self.now).for_each(|(_, own)| sum += &own);
        }
        sum
    }
}

#[test]
fn a_thousand_clients_with_a_statement_a_second_need_few_connections() {
    let crowd = |worker| Crowd {
        worker,
        account: 0,
        sessions: 500,
        statement: MS,
        rest: 999 * MS,
    };
    let mut world = World::new(2, 1, 20, &[crowd(0), crowd(1)]);
    world.run(20 * S);
    let sum = world.sum();
    assert!(sum.connections() <= 20);
    assert!(sum.counts.opened <= 20, "{sum:?}");
    assert!(
        world.longest_wait() <= 10 * MS,
        "{:?}",
        world.longest_wait()
    );
    assert!(world.sessions.iter().all(|s| s.statements >= 19));
}

#[test]
fn overload_serves_every_session_and_keeps_connections() {
    let crowd = |worker, account, sessions| Crowd {
        worker,
        account,
        sessions,
        statement: 2 * MS,
        rest: Duration::ZERO,
    };
    // The big account of worker 0 holds all connections before the other accounts start.
    let mut world = World::new(2, 2, 8, &[crowd(0, 0, 50)]);
    world.run(S);
    for (worker, account) in [(0, 1), (1, 0), (1, 1)] {
        world.come(Crowd {
            rest: MS,
            ..crowd(worker, account, 10)
        });
    }
    world.run(S + 500 * MS);
    let before = world.sum().counts.opened;
    world.run(10 * S);
    let opened = world.sum().counts.opened - before;
    assert!(
        opened <= 20,
        "{opened} were opened after things had settled"
    );
    assert!(
        world.longest_wait() <= 100 * MS,
        "{:?}",
        world.longest_wait()
    );
    assert!(world.sessions.iter().all(|s| s.statements > 100));
}

#[test]
fn more_keys_than_connections_take_turns() {
    let crowds: Vec<_> = (0..6)
        .map(|account| Crowd {
            worker: account % 2,
            account,
            sessions: 2,
            statement: MS,
            rest: Duration::ZERO,
        })
        .collect();
    let mut world = World::new(2, 6, 3, &crowds);
    world.run(20 * S);
    let opened = world.sum().counts.opened;
    assert!(world.longest_wait() <= S, "{:?}", world.longest_wait());
    assert!(opened <= 20 * 20, "{opened}: each has its turn first");
}

#[test]
fn a_connection_released_early_goes_to_waiters_of_another_worker() {
    let once = |worker, account, statement| Crowd {
        worker,
        account,
        sessions: 1,
        statement,
        rest: 1000 * S,
    };
    for worker in [0, 1] {
        let mut world = World::new(2, 2, 1, &[once(0, 0, 100 * MS)]);
        // The first worker has no other event, and is not woken again.
        world.run(50 * MS);
        world.come(once(worker, 1, MS));
        world.run(5 * S);
        assert!(
            world.longest_wait() <= 200 * MS,
            "{:?}",
            world.longest_wait()
        );
    }
}

#[test]
fn an_idle_connection_is_maintained_without_waiters() {
    let once = Crowd {
        worker: 0,
        account: 0,
        sessions: 1,
        statement: MS,
        rest: 1_000_000 * S,
    };
    let mut world = World::new(1, 1, 1, &[once]);
    world.run(2 * S);
    world.run(1000 * S);
    let sum = world.sum();
    assert!(sum.counts.pings > 0 || sum.connections() == 0, "{sum:?}");
}
