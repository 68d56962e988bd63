//! The tests that the check of a change leaves to the night. `make nightly` runs every test.

use std::collections::HashSet;

/// No test waits for the night.
pub fn nothing(_: &[String]) -> Vec<String> {
    Vec::new()
}

/// Client libraries: variants beyond those that cover each family, both kinds of session, TLS and compression once,
/// and another project's suite.
pub fn libraries(tests: &[String]) -> Vec<String> {
    let waits = |test: &&String| test.starts_with("nightly::") || test.starts_with("perl::");
    tests.iter().filter(waits).cloned().collect()
}

/// Cells of scripts, one family of each test that is about the proxy alone, and the chain of a primary, the proxy and eight replicas
/// under load.
pub fn end_to_end(tests: &[String]) -> Vec<String> {
    let mut waiting = cells_of_scripts(tests);
    waiting.extend(families_of_the_night(tests));
    let chains = tests.iter().filter(|test| test.contains("::chain::"));
    waiting.extend(chains.cloned());
    waiting
}

/// An example of the manual runs on both families where both can, and so do some tests that take long. A change runs one
/// of the families, which the name of the test chooses.
fn families_of_the_night(tests: &[String]) -> Vec<String> {
    let all: HashSet<&str> = tests.iter().map(String::as_str).collect();
    let waits = |test: &&String| {
        let mut prefixes = OF_ONE_FAMILY.into_iter();
        let Some(prefix) = prefixes.find(|it| test.starts_with(it)) else {
            return false;
        };
        let name = test.strip_prefix(prefix).unwrap_or_default();
        name.rsplit_once("::").is_some_and(|(name, family)| {
            let is_on = |family: &str| all.contains(format!("{prefix}{name}::{family}").as_str());
            FAMILIES.into_iter().all(is_on) && FAMILIES[diagonal(name)] != family
        })
    };
    tests.iter().filter(waits).cloned().collect()
}

const OF_ONE_FAMILY: [&str; 4] = [
    // A broker and its clients take six seconds of processor time. What differs between families is in the feed before it.
    "feeding::changes::kafka::",
    "manual::the_example_of::",
    "schema_history::day::",
    "schema_history::replica::",
];

const FAMILIES: [&str; 2] = ["mariadb", "mysql"];

/// Tests of scripts come in four cells: two families of servers, with sessions of their own or with shared
/// connections. A change runs the two of one diagonal, so both families and both kinds; the test's name chooses which.
fn cells_of_scripts(tests: &[String]) -> Vec<String> {
    let all: HashSet<&str> = tests.iter().map(String::as_str).collect();
    let waits = |test: &&String| {
        let Some((name, cell)) = test.rsplit_once("::") else {
            return false;
        };
        let is_in_four_cells = CELLS
            .iter()
            .flatten()
            .all(|cell| all.contains(format!("{name}::{cell}").as_str()));
        is_in_four_cells && !CELLS[diagonal(name)].contains(&cell)
    };
    tests.iter().filter(waits).cloned().collect()
}

const CELLS: [[&str; 2]; 2] = [["mariadb", "mysql_pooled"], ["mysql", "mariadb_pooled"]];

/// Returns a number that depends only on the name, and not on the compiler's version.
fn diagonal(name: &str) -> usize {
    name.bytes().map(usize::from).sum::<usize>() % CELLS.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_four_cells(name: &str) -> Vec<String> {
        let cells = CELLS.iter().flatten();
        cells.map(|cell| format!("{name}::{cell}")).collect()
    }

    #[test]
    fn a_change_runs_no_chain() {
        let tests = ["feeding::chain::a::mysql", "feeding::a::mysql"].map(str::to_owned);
        assert_eq!(end_to_end(&tests), [tests[0].clone()]);
    }

    #[test]
    fn a_change_runs_each_example_of_the_manual_on_one_family() {
        let tests = ["rules::mariadb", "rules::mysql", "lua::mariadb"];
        let tests = tests.map(|test| format!("{}{test}", OF_ONE_FAMILY[0]));
        let waiting = end_to_end(&tests);
        assert_eq!(waiting.len(), 1);
        assert!(waiting[0].contains("rules"));
    }

    #[test]
    fn a_change_runs_both_families_and_both_kinds_of_session() {
        for name in ["scripts::a", "scripts::b"] {
            let all = in_four_cells(name);
            let waiting = cells_of_scripts(&all);
            let run: Vec<_> = all.iter().filter(|test| !waiting.contains(test)).collect();
            assert_eq!(run.len(), 2);
            assert!(run.iter().any(|test| test.contains("mariadb")));
            assert!(run.iter().any(|test| test.contains("mysql")));
            assert!(run.iter().any(|test| test.ends_with("_pooled")));
            assert!(run.iter().any(|test| !test.ends_with("_pooled")));
        }
    }

    #[test]
    fn a_change_starts_a_broker_of_kafka_for_one_family() {
        let tests = ["order::mariadb", "order::mysql", "quota"];
        let tests = tests.map(|name| format!("feeding::changes::kafka::{name}"));
        let waiting = end_to_end(&tests);
        assert_eq!(waiting.len(), 1, "{waiting:?}");
    }

    #[test]
    fn chosen_cells_of_two_tests_lie_on_different_diagonals() {
        assert_ne!(diagonal("scripts::a"), diagonal("scripts::b"));
    }

    #[test]
    fn a_test_in_fewer_cells_is_run() {
        let tests = ["text::a::mariadb", "text::a::mysql", "scripts::plain"].map(str::to_owned);
        assert!(cells_of_scripts(&tests).is_empty());
    }
}
