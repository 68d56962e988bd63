//! The table of routes: the target of each statement, and the reason, are those that the table lists.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;

use pilotfish_route::{Transaction, Wanted, wanted};
use sql::{Flags, Server};

const MYSQL: Server = Server::MySql(90_704);
const MARIADB: Server = Server::MariaDb(101_119);
const NEWER_MARIADB: Server = Server::MariaDb(110_700);

/// A row of the table.
struct Row {
    line: usize,
    readers: &'static [Server],
    /// The expected target in each of [`TRANSACTIONS`].
    expected: [&'static str; 4],
    statement: String,
}

const TRANSACTIONS: [Transaction; 4] = [
    Transaction::None,
    Transaction::Implicit,
    Transaction::Reading,
    Transaction::Open,
];

const STAYS: &str = "same InTransaction";

fn rows() -> Vec<Row> {
    let lines = include_str!("routes.tsv").lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.starts_with('#'));
    lines.map(|(index, line)| row(index + 1, line)).collect()
}

fn row(line: usize, text: &'static str) -> Row {
    let columns: Vec<_> = text.split('\t').collect();
    let [dialect, outside, off, reading, statement] = columns[..] else {
        panic!("line {line} has {} columns", columns.len());
    };
    let meant = |column| match column {
        "=" => outside,
        "stays" => STAYS,
        said => said,
    };
    Row {
        line,
        readers: match dialect {
            "my" => &[MYSQL],
            "maria" => &[MARIADB],
            "newer" => &[NEWER_MARIADB],
            "unknown" => &[Server::Unknown],
            "both" => &[Server::Unknown, MYSQL, MARIADB],
            other => panic!("line {line} is of {other}"),
        },
        expected: [outside, meant(off), meant(reading), STAYS],
        statement: statement.replace('⏎', "\n"),
    }
}

fn described(statement: &str, server: Server, transaction: Transaction) -> String {
    let flags = Flags {
        server,
        ..Flags::default()
    };
    let facts = sql::facts(statement.as_bytes(), flags);
    let wanted = wanted(&facts, transaction);
    let role = match wanted {
        Wanted::Primary(_) => "primary",
        Wanted::Replica(_) => "replica",
        Wanted::Same(_) => "same",
    };
    format!("{role} {:?}", wanted.why())
}

#[test]
fn every_statement_wants_to_run_where_it_was_written_down() {
    let mut wrong = Vec::new();
    for row in rows() {
        for (transaction, expected) in TRANSACTIONS.into_iter().zip(row.expected) {
            for server in row.readers {
                let told = described(&row.statement, *server, transaction);
                if told != expected {
                    wrong.push(format!(
                        "line {} for {server:?}, transaction {transaction:?}: {}\n  \
                         expected {expected}\n  told     {told}",
                        row.line, row.statement
                    ));
                    break;
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_table_is_long_and_has_each_statement_once() {
    let rows = rows();
    assert!(rows.len() >= 400, "{} rows", rows.len());
    let mut seen = BTreeSet::new();
    for row in &rows {
        let key = (
            row.readers.len(),
            format!("{:?}", row.readers),
            &row.statement,
        );
        assert!(seen.insert(key), "line {} is there already", row.line);
    }
}
