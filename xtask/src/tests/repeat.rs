//! Repeats tests beside a load and says how often each one fails.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Suite;
use super::binaries::build;
use crate::Outcome;

/// Threads of a load for each processor.
const LOAD: usize = 2;

/// Runs the tests whose names contain `pattern` so often, while other threads keep the processors busy.
pub fn repeat(root: &Path, pattern: &str, times: usize) -> Outcome {
    let binaries = build(root, Suite::Change).map_err(|error| vec![error])?;
    let mut failures: BTreeMap<String, usize> = BTreeMap::new();
    let end = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        for _ in 0..LOAD * processors {
            scope.spawn(|| {
                while !end.load(Ordering::Relaxed) {
                    std::hint::spin_loop()
                }
            });
        }
        for binary in &binaries {
            let name = |test: &str| format!("{}::{} {test}", binary.package, binary.target);
            let tests = binary.list(pattern);
            failures.extend(tests.iter().map(|test| (name(test), 0)));
            for _ in 0..if tests.is_empty() { 0 } else { times } {
                let run = binary.run(&[pattern.to_owned()], Suite::Change);
                let failed: Vec<String> = match run.is_whole {
                    true => run.failed.iter().map(|(test, _)| name(test)).collect(),
                    false => tests.iter().map(|test| name(test)).collect(),
                };
                for test in failed {
                    *failures.entry(test).or_default() += 1;
                }
            }
        }
        end.store(true, Ordering::Relaxed);
    });
    if failures.is_empty() {
        return Err(vec![format!("no test's name contains {pattern:?}")]);
    }
    let line = |(test, failed): (&String, &usize)| {
        format!(
            "{:>3} % {failed:>4} of {times}  {test}",
            failed * 100 / times.max(1)
        )
    };
    let lines: Vec<String> = failures.iter().map(line).collect();
    match failures.values().all(|&failed| failed == 0) {
        true => Ok(lines.join("\n")),
        false => Err(lines),
    }
}
