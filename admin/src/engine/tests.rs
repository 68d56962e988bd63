//! What servers answer to, from their spelling to SQLite's result.

#![allow(clippy::unwrap_used)]

use rusqlite::types::Value;

use super::*;
use crate::spelling::{Text, tokens};

fn answer(text: &str) -> Value {
    let tokens = tokens(text).unwrap();
    let spelled = Text::new(text, &tokens).in_sqlite().unwrap();
    let asker = Asker {
        user: "root@localhost".to_owned(),
        client: "127.0.0.1:1".to_owned(),
        id: 1,
        schema: Schema::Pilotfish,
    };
    let prepared = prepare(spelled, &asker).map_err(|fault| format!("{text}: {fault}"));
    let prepared = prepared.unwrap();
    let value = prepared
        .database
        .query_row(&prepared.text, [], |row| row.get(0));
    value.map_err(|error| format!("{text}: {error}")).unwrap()
}

#[test]
fn answers_are_those_of_servers() {
    let text = |text: &str| Value::Text(text.to_owned());
    for (expression, expected) in [
        ("7/2", Value::Real(3.5)),
        ("1/0", Value::Null),
        ("SUM(1)/SUM(3) > 0.3", Value::Integer(1)),
        ("7 DIV 2 + 7 % 4", Value::Integer(6)),
        ("'1' = 1 AND 1 = '1'", Value::Integer(1)),
        ("'7s' > 5", Value::Integer(1)),
        ("'abc' > 5 OR 'abc' IN (1, 2)", Value::Integer(0)),
        ("CONCAT('x', NULL)", Value::Null),
        ("CONCAT_WS('-', 'x', NULL, 1)", text("x-1")),
        ("FORMAT(1234567.891, 2)", text("1,234,567.89")),
        ("LENGTH('é') * 10 + CHAR_LENGTH('é')", Value::Integer(21)),
        (r"'SELECT_1' LIKE 'select\_%'", Value::Integer(1)),
        (r"'SELECT 1' LIKE 'SELECT\_%'", Value::Integer(0)),
        ("'SELECT 1' RLIKE '^select'", Value::Integer(1)),
        ("NULL <=> NULL && 1", Value::Integer(1)),
        ("IF(1, 'a', 'b')", text("a")),
        (
            "(SELECT GROUP_CONCAT(DISTINCT x ORDER BY x DESC SEPARATOR '; ') \
             FROM (SELECT 1 AS x UNION ALL SELECT NULL UNION ALL SELECT 'a,\"' UNION ALL SELECT 2.5 UNION ALL SELECT 1))",
            text("a,\"; 2.5; 1"),
        ),
        (
            "(SELECT GROUP_CONCAT(DISTINCT x ORDER BY y) FROM (SELECT 'b' AS x, 1 AS y UNION ALL SELECT 'a', 2 UNION ALL SELECT 'b', 3))",
            text("b,a"),
        ),
        (
            "(SELECT GROUP_CONCAT(DISTINCT NULL SEPARATOR ';'))",
            Value::Null,
        ),
        ("IFNULL(NULL, NULLIF(1, 2))", Value::Integer(1)),
        ("ISNULL(NULL)", Value::Integer(1)),
        (
            "'2026-01-01' + INTERVAL 1 MONTH - INTERVAL 1 DAY",
            text("2026-01-31"),
        ),
        ("NOW() - INTERVAL 5 MINUTE < NOW()", Value::Integer(1)),
        (
            "TIMESTAMPDIFF(MINUTE, NOW() - INTERVAL 5 MINUTE, NOW())",
            Value::Integer(5),
        ),
        ("DATE('2026-01-01 10:00:00.123')", text("2026-01-01")),
        ("EXTRACT(YEAR FROM '2026-01-01')", Value::Integer(2026)),
        (
            "CAST('1.5' AS UNSIGNED) + CONVERT('1', SIGNED)",
            Value::Integer(3),
        ),
        ("CAST(1.005 AS CHAR(3))", text("1.0")),
        (
            "CONVERT('2026-01-01',DATETIME)",
            text("2026-01-01 00:00:00"),
        ),
        ("15.7 / 2 * 2 DIV 10 + AVG(7) DIV 2", Value::Integer(4)),
        ("!5 = 0 AND !NULL IS NULL", Value::Integer(1)),
        ("CAST('1.237' AS DECIMAL(10,2))", Value::Real(1.24)),
        ("SUBSTRING('abc' FROM 2 FOR 1)", text("b")),
        ("POSITION('c' IN 'abc')", Value::Integer(3)),
        (
            "GROUP_CONCAT(x ORDER BY x DESC SEPARATOR '-') FROM (SELECT 1 AS x UNION SELECT 2)",
            text("2-1"),
        ),
        (
            "COUNT(DISTINCT a, b) FROM (SELECT 1 AS a, 2 AS b UNION ALL SELECT 1, 2 UNION ALL SELECT 1, NULL)",
            Value::Integer(1),
        ),
        ("SQL_NO_CACHE 1 LIMIT 0, 1", Value::Integer(1)),
        ("@@version_comment", text("Pilotfish, the admin port")),
        ("@@limits.sessions_max", Value::Null),
    ] {
        assert_eq!(
            answer(&format!("SELECT {expression}")),
            expected,
            "{expression}"
        );
    }
}
