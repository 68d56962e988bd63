//! The table of names: a table that a server reads or changes is among those that the facts name.

use pilotfish_sql::{Flags, Server, facts};

const SERVERS: [Server; 3] = [
    Server::MySql(90_704),
    Server::MariaDb(101_119),
    Server::MariaDb(110_809),
];

/// What each server says of a statement, and the statement.
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

/// Whether a statement is judged to name the table `secret`.
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
