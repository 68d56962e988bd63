//! The table of names: a table that a server reads or changes is among those that the facts name.

use pilotfish_sql::{Flags, Marks, Server, facts};

const SERVERS: [Server; 3] = [
    Server::MySql(90_704),
    Server::MariaDb(101_119),
    Server::MariaDb(110_809),
];

/// The verdict of each server on a statement, and the statement.
fn rows() -> impl Iterator<Item = ([&'static str; 3], &'static str)> {
    let lines = include_str!("names.tsv").lines();
    lines.filter(|line| !line.starts_with('#')).map(|line| {
        let columns: Vec<_> = line.split('\t').collect();
        let [mysql, mariadb, next, text] = columns[..] else {
            panic!("{line}");
        };
        ([mysql, mariadb, next], text)
    })
}

/// Whether the facts of a statement name the table `secret`.
fn names_secret(text: &str, server: Server) -> bool {
    let flags = Flags {
        server,
        ..Flags::default()
    };
    let facts = facts(text.as_bytes(), flags);
    let is_secret = |name: &[u8]| name.eq_ignore_ascii_case(b"secret");
    facts
        .tables()
        .any(|table| is_secret(&table.name.name(text.as_bytes())))
}

#[test]
fn no_table_that_a_server_touches_is_missing() {
    let mut wrong = Vec::new();
    for (said, text) in rows() {
        for (said, server) in said.into_iter().zip(SERVERS) {
            for reader in [server, Server::Unknown] {
                if said != "-" && !names_secret(text, reader) {
                    wrong.push(format!("{text} {reader:?}"));
                }
            }
        }
    }
    wrong.dedup();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_cte_name_is_not_reported_as_a_table_within_its_scope() {
    for text in [
        "WITH secret AS (SELECT 1 AS a) SELECT * FROM secret",
        "WITH `secret` AS (SELECT 1 AS a) SELECT * FROM other, (SELECT * FROM secret) d",
        "WITH secret AS (SELECT 1 AS a), x AS (SELECT * FROM secret) SELECT * FROM x, secret",
        "WITH RECURSIVE secret AS (SELECT 1 AS a UNION SELECT a + 1 FROM secret) SELECT * FROM secret",
        "SELECT * FROM (WITH secret AS (SELECT 1 AS a) SELECT * FROM secret) d",
        "SELECT a, (WITH secret AS (SELECT 1) SELECT f((1)) FROM secret) FROM other",
        "INSERT INTO other WITH secret AS (SELECT 1) SELECT (2), a FROM secret",
        "CREATE VIEW v AS WITH secret AS (SELECT 1) SELECT (1) FROM secret",
    ] {
        for server in SERVERS {
            assert!(!names_secret(text, server), "{text}");
        }
    }
}

#[test]
fn a_thousand_tables_are_kept_and_an_overflow_is_reported() {
    let text = |count: usize| {
        let tables: Vec<_> = (0..count).map(|number| format!("t{number}")).collect();
        format!("SELECT 1 FROM {}", tables.join(", "))
    };
    for (count, kept, is_crowded) in [(1024, 1024, false), (1025, 1024, true)] {
        let facts = facts(text(count).as_bytes(), Flags::default());
        assert_eq!(facts.tables().count(), kept);
        assert_eq!(facts.marks.has(Marks::CROWDED), is_crowded);
    }
    let statements = |count: usize| facts("DO 1;".repeat(count).as_bytes(), Flags::default());
    assert_eq!(statements(256).statements.len(), 256);
    assert!(!statements(256).marks.has(Marks::CROWDED));
    assert!(statements(257).marks.has(Marks::CROWDED));
}
