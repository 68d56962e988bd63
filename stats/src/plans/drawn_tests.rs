//! Parses tables as MySQL's command-line client prints them, for tests.

use wire::rows::Rows;

/// Returns the rows of a printed table.
pub(crate) fn drawn(table: &str) -> Rows {
    let mut lines = table.lines().map(str::trim);
    let lines = lines.by_ref().filter(|line| line.starts_with('|'));
    let mut rows = lines.map(|line| -> Vec<Option<String>> {
        let cells = line.trim_matches('|').split('|').map(str::trim);
        cells
            .map(|it| (it != "NULL").then(|| it.to_owned()))
            .collect()
    });
    let columns = rows.next().unwrap_or_default();
    Rows {
        columns: columns.into_iter().flatten().collect(),
        rows: rows.collect(),
    }
}
