//! Runs the tests: builds them once, runs each binary with the number of threads that suits it, repeats what has
//! failed, and says at the end what each step took.
//!
//! ```text
//!  cargo test --no-run ─► binaries ─► run ─► failed? ─► once more, alone ─► passed: FLAKY
//!                                                                       └─► failed: red
//! ```
//!
//! A run stays green with at most [`FLAKY_MAX`] flaky tests. A test whose failure may mean that data was lost, and
//! each panic inside the proxy, is red at once.

mod binaries;
mod night;
mod output;
mod repeat;
mod summary;
mod verdict;

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use crate::Outcome;
use binaries::{Binary, build};
use output::Run;
pub use repeat::repeat;
use summary::Summary;
use verdict::Verdict;

/// More flaky tests than this make a run red.
const FLAKY_MAX: usize = 3;

/// Which tests to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// The tests that need no server.
    Fast,
    /// All tests that each change must pass.
    Change,
    /// All tests.
    Nightly,
}

/// A kind of tests that run together.
struct Step {
    name: &'static str,
    /// Whether a binary belongs to this step.
    takes: fn(&Binary) -> bool,
    /// Test threads of each binary.
    threads: usize,
    /// Binaries at once.
    at_once: usize,
    /// Names of tests that are left out, by their first part.
    skips: &'static [&'static str],
    /// Which of a binary's tests wait for the night.
    waiting: fn(&[String]) -> Vec<String>,
    /// Names of tests that alone are run, by their first part.
    only: &'static [&'static str],
}

/// The tests of the program that start servers.
const SANDBOX: &[&str] = &["sandbox"];

/// The numbers of threads are measured; see docs/testing.md.
const STEPS: [Step; 4] = [
    Step {
        name: "units",
        takes: |binary| !binary.is_end_to_end(),
        threads: 2,
        at_once: 2,
        skips: SANDBOX,
        waiting: night::nothing,
        only: &[],
    },
    Step {
        name: "end to end",
        takes: |binary| binary.is_end_to_end() && binary.target == "e2e",
        threads: 6,
        at_once: 1,
        skips: &[],
        waiting: night::end_to_end,
        only: &[],
    },
    Step {
        name: "sandbox",
        takes: |binary| binary.package == "pilotfish",
        threads: 2,
        at_once: 1,
        skips: &[],
        waiting: night::nothing,
        only: SANDBOX,
    },
    Step {
        name: "client libraries",
        takes: |binary| binary.is_end_to_end() && binary.target == "libraries",
        threads: 3,
        at_once: 1,
        skips: &[],
        waiting: night::libraries,
        only: &[],
    },
];

/// Builds and runs the tests of a suite.
pub fn run(root: &Path, suite: Suite) -> Outcome {
    let summary = Summary::new(root);
    let began = Instant::now();
    let binaries = build(root, suite).map_err(|error| vec![error])?;
    summary.step("build tests", true, began.elapsed());
    let steps = match suite {
        Suite::Fast => &STEPS[..1],
        Suite::Change | Suite::Nightly => &STEPS[..],
    };
    let mut verdict = Verdict::default();
    for step in steps {
        let began = Instant::now();
        println!("\n== {}", step.name);
        let of_step = step.run(&binaries, suite);
        summary.step(step.name, of_step.is_green(), began.elapsed());
        verdict.add(of_step);
    }
    let text = verdict.text();
    summary.note(&text);
    match verdict.is_green() {
        true => Ok(text),
        false => Err(vec![text]),
    }
}

/// Builds the tests and names the file of an end-to-end binary, for programs that run it in their own way.
pub fn path(root: &Path, target: &str) -> Outcome {
    let binaries = build(root, Suite::Change).map_err(|error| vec![error])?;
    let is_meant = |binary: &&Binary| {
        binary.is_end_to_end() && binary.is_integration && binary.target == target
    };
    let found = binaries.iter().find(is_meant).map(Binary::path);
    found.ok_or_else(|| vec![format!("the end-to-end tests have no binary {target:?}")])
}

impl Step {
    /// Runs the step's binaries, and then the failed tests once more.
    fn run(&self, binaries: &[Binary], suite: Suite) -> Verdict {
        let mine: Vec<&Binary> = binaries
            .iter()
            .filter(|binary| (self.takes)(binary))
            .collect();
        let mut verdict = Verdict::default();
        for (binary, run) in self.run_each(&mine, suite) {
            verdict.judge(&run, |test| binary.run_alone(test, suite));
        }
        verdict
    }

    /// Runs the binaries, so many at once.
    fn run_each<'a>(&self, binaries: &[&'a Binary], suite: Suite) -> Vec<(&'a Binary, Run)> {
        let waiting = Mutex::new(binaries.iter());
        let next = || waiting.lock().ok()?.next();
        let work = || {
            let mut runs = Vec::new();
            while let Some(&binary) = next() {
                runs.push((binary, binary.run(&self.arguments(binary, suite), suite)));
            }
            runs
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.at_once).map(|_| scope.spawn(work)).collect();
            let ended = workers.into_iter().map(|worker| worker.join());
            let ended = ended.map(|runs| runs.unwrap_or_else(|panic| resume_unwind(panic)));
            ended.flatten().collect()
        })
    }

    fn arguments(&self, binary: &Binary, suite: Suite) -> Vec<String> {
        let mut arguments = vec![format!("--test-threads={}", self.threads)];
        let waiting = match suite {
            Suite::Nightly => Vec::new(),
            Suite::Fast | Suite::Change => (self.waiting)(&binary.list("")),
        };
        if !waiting.is_empty() {
            println!("{} tests wait for the night", waiting.len());
            arguments.push("--exact".to_owned());
        }
        let skips = self.skips.iter().map(|&name| name.to_owned());
        for name in skips.chain(waiting) {
            arguments.push(format!("--skip={name}"));
        }
        arguments.extend(self.only.iter().map(|&name| name.to_owned()));
        arguments
    }
}
