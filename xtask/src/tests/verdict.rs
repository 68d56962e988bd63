//! Green or red. A failed test is run once more, alone. A test that then passes is flaky, and a run may have a few
//! flaky tests. Some failures are red at once.

use super::FLAKY_MAX;
use super::output::Run;

/// Tests whose failure may mean that statements or rows were lost, doubled or mixed up: by the first part of their
/// names.
const NEVER_FLAKY: &[&str] = &["bank", "ledger", "outage", "random", "simulation"];

/// The message of the end-to-end tests when the proxy has panicked.
const PANIC: &str = "the proxy panicked";

/// The outcome of the tests.
#[derive(Debug, Default)]
pub struct Verdict {
    passed: usize,
    /// Tests that passed the second time.
    flaky: Vec<String>,
    /// A line for each failure.
    failed: Vec<String>,
}

impl Verdict {
    /// Takes in a binary's run. `again` runs one test of it alone.
    pub fn judge(&mut self, run: &Run, again: impl Fn(&str) -> Run) {
        self.passed += run.passed;
        if !run.is_whole {
            self.failed.push(format!("{} ended early", run.binary));
        }
        // So many failures are not random, and repeating them all would take long.
        let may_repeat = run.failed.len() <= 2 * FLAKY_MAX;
        for (test, told) in &run.failed {
            let name = format!("{} {test}", run.binary);
            if let Some(reason) = red_at_once(test, told) {
                self.failed.push(format!("{name}: {reason}"));
            } else if !may_repeat {
                self.failed.push(name);
            } else {
                println!("\n== once more, alone: {name}");
                let second = again(test);
                match second.is_whole && second.passed == 1 {
                    true => self.flaky.push(name),
                    false => self.failed.push(name),
                }
            }
        }
    }

    /// Takes in another verdict.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.flaky.extend(other.flaky);
        self.failed.extend(other.failed);
    }

    /// True when nothing failed and few tests are flaky.
    pub fn is_green(&self) -> bool {
        self.failed.is_empty() && self.flaky.len() <= FLAKY_MAX && self.passed > 0
    }

    /// What failed and what is flaky, a line each, and the sum.
    pub fn text(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        lines.extend(self.failed.iter().map(|name| format!("FAILED {name}")));
        lines.extend(self.flaky.iter().map(|name| format!("FLAKY  {name}")));
        if self.flaky.len() > FLAKY_MAX {
            let count = self.flaky.len();
            lines.push(format!("{count} flaky tests; a run bears {FLAKY_MAX}"));
        }
        let passed = self.passed + self.flaky.len();
        lines.push(format!("{passed} passed, {} failed", self.failed.len()));
        lines.join("\n")
    }
}

/// Why a failure is not repeated, if it is not.
fn red_at_once(test: &str, told: &str) -> Option<&'static str> {
    let first = test.split("::").next().unwrap_or(test);
    if NEVER_FLAKY.contains(&first) {
        return Some("data may have been lost, so this is never called flaky");
    }
    told.contains(PANIC).then_some("the proxy panicked")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run in which these tests failed with these words.
    fn failed(tests: &[(&str, &str)]) -> Run {
        let owned = |&(name, told): &(&str, &str)| (name.to_owned(), told.to_owned());
        Run {
            passed: 5,
            failed: tests.iter().map(owned).collect(),
            is_whole: true,
            ..Run::default()
        }
    }

    fn passes(_: &str) -> Run {
        Run {
            passed: 1,
            is_whole: true,
            ..Run::default()
        }
    }

    fn fails(test: &str) -> Run {
        Run {
            passed: 0,
            ..failed(&[(test, "")])
        }
    }

    fn judged(run: &Run, again: impl Fn(&str) -> Run) -> Verdict {
        let mut verdict = Verdict::default();
        verdict.judge(run, again);
        verdict
    }

    #[test]
    fn a_test_that_passes_the_second_time_is_flaky_and_green() {
        let verdict = judged(&failed(&[("text::a", "")]), passes);
        assert!(verdict.is_green());
        assert!(
            verdict.text().contains("FLAKY   text::a"),
            "{}",
            verdict.text()
        );
    }

    #[test]
    fn a_test_that_fails_twice_is_red() {
        assert!(!judged(&failed(&[("text::a", "")]), fails).is_green());
    }

    #[test]
    fn four_flaky_tests_are_red() {
        let four = ["a", "b", "c", "d"].map(|name| (name, ""));
        assert!(judged(&failed(&four[..3]), passes).is_green());
        assert!(!judged(&failed(&four), passes).is_green());
    }

    #[test]
    fn a_ledger_and_a_panic_of_the_proxy_are_never_flaky() {
        let ledger = failed(&[("ledger::nothing_is_lost", "")]);
        assert!(!judged(&ledger, passes).is_green());
        let panic = failed(&[("text::a", "assertion\nthe proxy panicked\n")]);
        assert!(!judged(&panic, passes).is_green());
    }

    #[test]
    fn a_binary_that_ended_early_is_red() {
        let mut run = failed(&[]);
        run.is_whole = false;
        assert!(!judged(&run, passes).is_green());
    }

    #[test]
    fn a_run_without_a_test_is_red() {
        assert!(!Verdict::default().is_green());
    }
}
