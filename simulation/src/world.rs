//! A world: servers, proxies, clients and faults, all drawn from one seed, from its begin to its end.
//!
//! ```text
//!  plan (drawn) ─► servers with data ─► proxies ─► actors and chaos, until all operations are done
//!                                                   └─► calm: faults heal ─► sessions end ─► books are compared
//! ```

pub mod administration;
mod changing;
mod chaos;
mod counters;
mod end;
mod inspection;
mod link_faults;
mod plan;
mod setting;
mod watch;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use net::memory::use_network;
use tokio::runtime::{Builder, LocalOptions};
use tokio::task::{JoinHandle, spawn_local};

use crate::actor::{Actor, Part};
use crate::books::Books;
use crate::client::Login;
use crate::network::{Host, Hosts};
use crate::seed::Dice;
use crate::trace::Trace;
pub use counters::Counted;
pub use plan::{Plan, WORLDS, WorldKind};
use setting::Setting;

/// The longest that a world may last, in virtual time.
const WORLD_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// The outcome of a world.
#[derive(Debug)]
pub struct Outcome {
    /// The world's seed.
    pub seed: u64,
    /// The world's kind.
    pub kind: WorldKind,
    /// The number of operations that the world was to have.
    pub operations: usize,
    /// The world's plan, as a text.
    pub plan: String,
    /// Statements that were answered.
    pub statements: u64,
    /// The length of the run, in virtual time.
    pub virtual_time: Duration,
    /// Errors that were met and allowed, by their numbers.
    pub errors: Vec<(u16, u64)>,
    /// The invariant that does not hold.
    pub broken: Option<String>,
    /// The last events.
    pub last_events: Vec<String>,
    /// Equal for two worlds only if the same events happened at the same times; 0 without a trace.
    pub digest: u64,
}

impl Outcome {
    /// Returns the outcome of a world whose thread has panicked outside of every task.
    pub fn of_panic(kind: WorldKind, seed: u64, operations: usize) -> Self {
        Self {
            seed,
            kind,
            operations,
            plan: String::new(),
            statements: 0,
            virtual_time: Duration::ZERO,
            errors: Vec::new(),
            broken: Some("the simulation itself has panicked".to_owned()),
            last_events: Vec::new(),
            digest: 0,
        }
    }
}

/// Runs a world of so many operations. With `traces`, the outcome has the last events and a digest.
pub fn run(kind: WorldKind, seed: u64, operations: usize, traces: bool) -> Outcome {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build_local(LocalOptions::default())
        .expect("a runtime without input and output takes memory only");
    runtime.block_on(live(kind, seed, operations, traces))
}

async fn live(kind: WorldKind, seed: u64, operations: usize, traces: bool) -> Outcome {
    let began = net::clock::now();
    let trace = Trace::begin(traces);
    let books = Books::open(trace.clone());
    let mut dice = Dice::new(seed);
    let plan = Plan::draw(kind, &mut dice);
    let hosts = Hosts::new(dice.split());
    let _network = use_network(Rc::new(Host {
        hosts: Rc::clone(&hosts),
        address: proxies_host(),
    }));
    match Setting::build(&plan, &hosts, &books, &trace, &mut dice).await {
        Ok(setting) => {
            let acting = act(&plan, &setting, operations, &mut dice);
            if tokio::time::timeout(WORLD_LIMIT, acting).await.is_err() {
                books.broken("the world does not come to its end".to_owned());
            }
            end::compare(setting, &plan).await;
        }
        Err(what) => books.broken(format!("the world cannot begin: {what}")),
    }
    Outcome {
        seed,
        kind,
        operations,
        plan: format!("{plan:?}"),
        statements: books.statements(),
        virtual_time: net::clock::now() - began,
        errors: books.errors().into_iter().collect(),
        broken: books.what_is_broken(),
        last_events: trace.last(),
        digest: if traces { trace.digest() } else { 0 },
    }
}

/// Runs the actors and the faults until all operations are done.
async fn act(plan: &Plan, setting: &Setting, operations: usize, dice: &mut Dice) {
    let each = operations.div_ceil(plan.clients);
    let actors: Vec<JoinHandle<()>> = (0..plan.clients)
        .map(|number| {
            let part = Part {
                number,
                hosts: Rc::clone(&setting.hosts),
                login: login(number),
                doors: setting.doors.clone(),
                books: setting.books.clone(),
                trace: setting.trace.clone(),
                dice: dice.split(),
                operations: each,
                kind: plan.kind,
                allowed: plan.allowed(),
                lock_wait_default: setting.lock_wait_default,
            };
            spawn_local(Actor::live(part))
        })
        .collect();
    let mut tasks: Vec<JoinHandle<()>> = (0..plan.kind.faults_at_once())
        .map(|_| {
            let chaos = chaos::reign(plan.clone(), setting.in_reach(), dice.split());
            spawn_local(chaos)
        })
        .collect();
    let inspection = inspection::inspect(plan.clone(), setting.in_reach());
    tasks.push(spawn_local(inspection));
    for actor in actors {
        if let Err(error) = actor.await {
            setting.books.broken(format!("an actor failed: {error}"));
        }
    }
    for task in tasks {
        task.abort();
        // The task ends at once. Its faults are repaired next.
        let _ = task.await;
    }
    chaos::calm(plan, &setting.in_reach());
}

/// The host of a client.
fn client_host(number: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 2, (number >> 8) as u8, number as u8))
}

fn login(number: usize) -> Login {
    Login {
        host: client_host(number),
        address: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        user: "app".to_owned(),
        password: "app-password".to_owned(),
        schema: None,
        deprecates_eof: true,
        tally: None,
    }
}

/// The host that all proxies are on.
pub fn proxies_host() -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 1, 0, 1))
}

/// Where a server listens.
pub fn server_address(number: usize) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, 1 + number as u8), 3306))
}

/// Where a proxy listens.
pub fn proxy_address(number: usize, listener: usize) -> SocketAddr {
    SocketAddr::new(proxies_host(), 4040 + 10 * number as u16 + listener as u16)
}
