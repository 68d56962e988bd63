//! Worlds that run on threads of their own, and what many have come to.

use std::cell::RefCell;
use std::fmt;
use std::panic::{self, PanicHookInfo};
use std::sync::Once;
use std::time::{Duration, Instant};

use crate::world::{Outcome, WORLDS, WorldKind, run};

thread_local! {
    /// The first panic of this thread's world: one of a task ends that task alone, and is a fault all the same.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs a world on a thread of its own: nothing is left there by the one before. A panic anywhere in it is a broken
/// invariant. One that shows a broken invariant is run again, with its trace.
pub fn run_alone(kind: WorldKind, seed: u64, operations: usize) -> Outcome {
    let outcome = run_once(kind, seed, operations, false);
    let Some(broken) = outcome.broken else {
        return outcome;
    };
    let mut traced = run_traced(kind, seed, operations);
    if traced.broken.is_none() {
        traced.broken = Some(format!("{broken}; the same seed has not shown it again"));
    }
    traced
}

/// The same, with the trace in any case.
pub fn run_traced(kind: WorldKind, seed: u64, operations: usize) -> Outcome {
    run_once(kind, seed, operations, true)
}

fn run_once(kind: WorldKind, seed: u64, operations: usize, traces: bool) -> Outcome {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| panic::set_hook(Box::new(note)));
    let running = std::thread::Builder::new().spawn(move || {
        let mut outcome = run(kind, seed, operations, traces);
        if let Some(panic) = PANIC.take() {
            outcome.broken = Some(format!("a panic: {panic}"));
        }
        outcome
    });
    let ended = running.expect("the system has a thread to give").join();
    ended.unwrap_or_else(|_| Outcome::of_panic(kind, seed, operations))
}

fn note(info: &PanicHookInfo<'_>) {
    let text = info.to_string();
    eprintln!("{text}");
    PANIC.with_borrow_mut(|panic| {
        panic.get_or_insert(text);
    });
}

/// What many worlds have come to.
pub struct Summary {
    began: Instant,
    worlds: u64,
    statements: u64,
    virtual_time: Duration,
}

impl Summary {
    /// Of none.
    pub fn begin() -> Self {
        Self {
            began: Instant::now(),
            worlds: 0,
            statements: 0,
            virtual_time: Duration::ZERO,
        }
    }

    /// One more.
    pub fn add(&mut self, outcome: &Outcome) {
        self.worlds += 1;
        self.statements += outcome.statements;
        self.virtual_time += outcome.virtual_time;
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = self.began.elapsed().as_secs_f64();
        let (worlds, statements) = (self.worlds, self.statements);
        let rate = statements as f64 / took;
        let hours = self.virtual_time.as_secs_f64() / 3600.0;
        write!(
            f,
            "{worlds} worlds, {statements} statements in {took:.1} s ({rate:.0} a second), {hours:.1} hours of virtual time"
        )
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = WORLDS.iter().find(|world| world.1 == self.kind);
        let name = named.map_or("", |world| world.0);
        let (seed, operations) = (self.seed, self.operations);
        writeln!(f, "world {name}, seed {seed}: {}", self.plan)?;
        writeln!(
            f,
            "{} statements, {:.1} s of virtual time, errors {:?}, digest {:016x}",
            self.statements,
            self.virtual_time.as_secs_f64(),
            self.errors,
            self.digest
        )?;
        let Some(broken) = &self.broken else {
            return f.write_str("all invariants hold");
        };
        for event in &self.last_events {
            writeln!(f, "{event}")?;
        }
        writeln!(f, "BROKEN: {broken}")?;
        write!(
            f,
            "again: make simulate SEED={seed} WORLD={name} OPERATIONS={operations}"
        )
    }
}
