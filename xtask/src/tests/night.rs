//! What the check of a change leaves to the night. Nothing here is never run: `make nightly` runs every test.

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

/// Cells of scripts, and the chain of a primary, the proxy and eight replicas under load.
pub fn end_to_end(tests: &[String]) -> Vec<String> {
    let mut waiting = cells_of_scripts(tests);
    let chains = tests.iter().filter(|test| test.contains("::chain::"));
    waiting.extend(chains.cloned());
    waiting
}

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

/// Always the same for a name, whatever the compiler's version.
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
    fn both_diagonals_are_in_use() {
        assert_ne!(diagonal("scripts::a"), diagonal("scripts::b"));
    }

    #[test]
    fn a_test_in_fewer_cells_is_run() {
        let tests = ["text::a::mariadb", "text::a::mysql", "scripts::plain"].map(str::to_owned);
        assert!(cells_of_scripts(&tests).is_empty());
    }
}
