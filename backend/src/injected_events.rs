//! Finds the client's statement in `performance_schema`: among the last statements of the connection's thread, the row
//! about this one. The proxy's own statements are in the table too, and their number depends on what had to be asked.

use crate::injected_results::{Finding, ResultTable};
use wire::Command;

/// How many bytes of the text are compared; servers keep only the beginning of long texts.
const COMPARED_BYTES_MAX: usize = 900;

/// The servers' event name for the execution of a prepared statement.
const EXECUTION: &str = "statement/com/Execute";

/// Columns that identify the row and are not reported.
const ABOUT: [&str; 2] = ["is_on", "SQL_TEXT"];

/// The row of the client's statement with this text, or why there is none.
pub fn of_statement(finding: Finding, command: Command, text: &[u8]) -> Finding {
    let Finding::Table(table) = finding else {
        return finding;
    };
    let rows = 0..table.rows_count();
    if rows
        .clone()
        .any(|row| table.value(row, "is_on") != Some("1"))
        || rows.is_empty()
    {
        return Finding::Skipped("performance_schema is off on the server");
    }
    if table.value(0, "EVENT_NAME").is_none() {
        return Finding::Skipped(
            "the server keeps no statements of this connection: its consumers events_statements_current and \
             events_statements_history are off, or its instruments, or the thread's are",
        );
    }
    let is_it = |row: &usize| match command {
        Command::STMT_EXECUTE => table.value(*row, "EVENT_NAME") == Some(EXECUTION),
        _ => {
            let kept = table.value(*row, "SQL_TEXT").unwrap_or_default();
            !kept.is_empty() && compared(kept.as_bytes()) == compared(text)
        }
    };
    match { rows }.find(is_it) {
        Some(row) => Finding::Table(table.row_without(row, &ABOUT)),
        None => Finding::Skipped("the statement is not among the last ones of its connection"),
    }
}

/// How many rows the statement has examined, according to that row.
pub fn rows_examined(table: &ResultTable) -> Option<u64> {
    table.value(0, "ROWS_EXAMINED")?.parse().ok()
}

/// Prepares a text for the comparison: servers drop characters around it, and may return it in another character set.
fn compared(text: &[u8]) -> Vec<u8> {
    let is_around = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';' || *byte == 0;
    let begin = text.iter().position(|it| !is_around(it)).unwrap_or(0);
    let end = text.iter().rposition(|it| !is_around(it));
    let text = text.get(begin..end.map_or(begin, |end| end + 1));
    let ascii = text.unwrap_or_default().iter().filter(|it| it.is_ascii());
    ascii.take(COMPARED_BYTES_MAX).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding_of(rows: &[[Option<&str>; 4]]) -> Finding {
        let columns = ["is_on", "EVENT_NAME", "SQL_TEXT", "ROWS_EXAMINED"];
        Finding::Table(ResultTable::of(&columns, rows))
    }

    fn found(finding: Finding, text: &str) -> Result<u64, &'static str> {
        match of_statement(finding, Command::QUERY, text.as_bytes()) {
            Finding::Table(table) => {
                assert_eq!(table.value(0, "SQL_TEXT"), None);
                rows_examined(&table).ok_or("no number")
            }
            Finding::Skipped(why) => Err(why),
            Finding::Nothing | Finding::Failed(_) => Err("no table"),
        }
    }

    #[test]
    fn the_clients_statement_is_distinguished_from_the_proxys_own() {
        let row = |text, examined| {
            [
                Some("1"),
                Some("statement/sql/select"),
                Some(text),
                Some(examined),
            ]
        };
        let rows = [
            row("SHOW SESSION STATUS", "400"),
            row("SELECT 'Z\u{fffd}rich'", "7"),
            row("SELECT 1", "1"),
        ];
        assert_eq!(found(finding_of(&rows), " SELECT 'Z\u{fc}rich' ; "), Ok(7));
        assert!(found(finding_of(&rows), "SELECT 2").is_err_and(|it| it.contains("not among")));
        let long = format!("SELECT '{}'", "x".repeat(2000));
        assert_eq!(found(finding_of(&[row(&long[..1024], "3")]), &long), Ok(3));
    }

    #[test]
    fn missing_events_are_reported_with_the_reason() {
        let off = [Some("0"), None, None, None];
        assert!(
            found(finding_of(&[off]), "SELECT 1")
                .is_err_and(|it| it.contains("is off on the server"))
        );
        let nothing = [Some("1"), None, None, None];
        let why = found(finding_of(&[nothing]), "SELECT 1");
        assert!(why.is_err_and(|it| it.contains("events_statements_history")));
        assert!(found(finding_of(&[]), "SELECT 1").is_err());
    }
}
