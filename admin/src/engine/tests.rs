//! Statements of clients, from their text to SQLite's result.

#![allow(clippy::unwrap_used)]

use rusqlite::types::Value;

use super::*;
use crate::dialect::{Text, tokens};

fn answer(text: &str) -> Result<Value, Fault> {
    let tokens = tokens(text).unwrap();
    let written = Text::new(text, &tokens).in_sqlite()?;
    let asker = Asker {
        user: "root@localhost".to_owned(),
        role: config::AdminRole::Stats,
        client: "127.0.0.1:1".to_owned(),
        id: 1,
        schema: Schema::Pilotfish,
    };
    let prepared = prepare(written, &asker)?;
    let mut statement = prepared.database.prepare(&prepared.text)?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

#[test]
fn queries_of_client_libraries_are_answered() {
    let text = |text: &str| Value::Text(text.to_owned());
    for (expression, expected) in [
        ("@@version_comment", text("Pilotfish, the admin port")),
        ("@@session.max_allowed_packet", Value::Integer(1_048_576)),
        ("@@limits.sessions_max", Value::Null),
        ("USER()", text("root@localhost")),
        ("current_user()", text("root@localhost")),
        ("CURRENT_ROLE()", text("stats")),
        ("DATABASE()", text("pilotfish")),
        ("CONNECTION_ID()", Value::Integer(1)),
        ("1 FROM DUAL", Value::Integer(1)),
        (r#""it's" || 'it\'s'"#, text("it'sit's")),
        (
            "x FROM (SELECT 1 AS x UNION SELECT 2) LIMIT 1, 1",
            Value::Integer(2),
        ),
        ("'SELECT 1' LIKE 'select%'", Value::Integer(1)),
        ("CONCAT('a', 1)", text("a1")),
        ("IIF(1, 'a', 'b')", text("a")),
        (
            "unixepoch('2026-01-01 00:00:00') % 86400",
            Value::Integer(0),
        ),
    ] {
        assert_eq!(
            answer(&format!("SELECT {expression}")),
            Ok(expected),
            "{expression}"
        );
    }
}

#[test]
fn statements_for_servers_are_refused_with_an_alternative() {
    for (statement, number, instead) in [
        ("SELECT NOW()", 1305, "datetime('now')"),
        ("SELECT UNIX_TIMESTAMP()", 1305, "unixepoch"),
        ("SELECT LEFT('a', 1)", 1305, "substr"),
        ("SELECT 7 DIV 2", 1064, "SQLite"),
        ("SELECT 1 <=> 1", 1064, "SQLite"),
        ("SELECT 'a' REGEXP 'a'", 1305, "LIKE"),
        ("SELECT * FROM mysql_servers", 1146, "backends"),
        (
            "SELECT * FROM stats_mysql_query_digest_reset",
            1146,
            "RESET DIGESTS",
        ),
        (
            "SELECT * FROM information_schema.STATISTICS",
            1146,
            "no indexes",
        ),
    ] {
        let fault = answer(statement).unwrap_err();
        assert_eq!(fault.code.number, number, "{statement}: {fault}");
        assert!(fault.text.contains(instead), "{statement}: {fault}");
    }
}

#[test]
fn a_hostile_pattern_is_refused() {
    let fault = answer("SELECT 'x' LIKE hex(zeroblob(200))").unwrap_err();
    assert!(fault.text.contains("too complex"), "{fault}");
}
