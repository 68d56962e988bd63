//! Runs worlds under seeds: new ones for a time, or one again.

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;
use simulation::runs::{Summary, run_alone, run_traced};
use simulation::seed::Dice;
use simulation::world::{WORLDS, WorldKind};

/// As in the proxy itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs worlds: the proxy's own code between simulated clients and a model of servers, under a seed.
#[derive(Parser)]
struct Arguments {
    /// Runs the world of this seed, and no other.
    #[arg(long)]
    seed: Option<u64>,
    /// How long new seeds are run.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// How many worlds are run, however long that takes.
    #[arg(long)]
    worlds: Option<u64>,
    /// The kind of world: calm, rough, replicas, switching, crowd, changing, reads, everything, links, pairs. Without it each seed has the next kind.
    #[arg(long)]
    world: Option<String>,
    /// Operations of a world; one is a statement or a few.
    #[arg(long, default_value_t = 4000)]
    operations: usize,
    /// The first of the new seeds; without it, chance.
    #[arg(long)]
    first_seed: Option<u64>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let kind = match arguments.world.as_deref().map(kind_of) {
        None => None,
        Some(Some(kind)) => Some(kind),
        Some(None) => {
            let names: Vec<_> = WORLDS.iter().map(|world| world.0).collect();
            eprintln!("simulation: --world is one of: {}", names.join(", "));
            return ExitCode::from(2);
        }
    };
    if let Some(seed) = arguments.seed {
        return once(kind, seed, arguments.operations);
    }
    for_a_time(kind, &arguments)
}

fn kind_of(name: &str) -> Option<WorldKind> {
    WORLDS
        .iter()
        .find(|world| world.0 == name)
        .map(|world| world.1)
}

/// The kind of the world that a seed has where none is asked for.
fn kind_by(seed: u64) -> WorldKind {
    WORLDS[(seed % WORLDS.len() as u64) as usize].1
}

fn once(kind: Option<WorldKind>, seed: u64, operations: usize) -> ExitCode {
    let outcome = run_traced(kind.unwrap_or(kind_by(seed)), seed, operations);
    println!("{outcome}");
    match outcome.broken {
        None => ExitCode::SUCCESS,
        Some(_) => ExitCode::FAILURE,
    }
}

fn for_a_time(kind: Option<WorldKind>, arguments: &Arguments) -> ExitCode {
    let by_chance = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Dice::new(now.map_or(0, |now| now.as_nanos() as u64)).number() % 1_000_000_000
    };
    let first = arguments.first_seed.unwrap_or_else(by_chance);
    let until = Instant::now() + Duration::from_secs(arguments.seconds);
    let mut summary = Summary::begin();
    let mut seed = first;
    let goes_on = |ran: u64| match arguments.worlds {
        Some(worlds) => ran < worlds,
        None => Instant::now() < until,
    };
    while goes_on(seed - first) {
        let outcome = run_alone(kind.unwrap_or(kind_by(seed)), seed, arguments.operations);
        summary.add(&outcome);
        if outcome.broken.is_some() {
            println!("{outcome}");
            println!("{summary}");
            return ExitCode::FAILURE;
        }
        seed += 1;
    }
    println!("seeds {first} to {}: {summary}", seed - 1);
    ExitCode::SUCCESS
}
