//! The table of calls: what a server takes for the call of a stored function is never judged a built-in one.

use pilotfish_sql::{Flags, Marks, Server, facts};

const SERVERS: [Server; 3] = [
    Server::MySql(90_704),
    Server::MariaDb(101_119),
    Server::MariaDb(110_809),
];

/// Argument lists. The index is the number of arguments.
const ARGUMENTS: [&str; 3] = ["()", "(1)", "(1, 1)"];

/// A name and, for each server, whether a call of it may be a stored function's, by the number of arguments: with the
/// parenthesis right behind the name, and with a blank between.
struct Row {
    name: &'static str,
    cells: Vec<[bool; 3]>,
}

fn rows() -> impl Iterator<Item = Row> {
    let lines = include_str!("calls.tsv").lines();
    lines.filter(|line| !line.starts_with('#')).map(|line| {
        let mut columns = line.split('\t');
        let name = columns.next().unwrap_or_default();
        let has = |cell: &str| ["0", "1", "2"].map(|number| cell.contains(number));
        let cells: Vec<_> = columns.map(has).collect();
        assert_eq!(cells.len(), 2 * SERVERS.len(), "{line}");
        Row { name, cells }
    })
}

/// Whether the analysis reports that a statement calls a function that is not built in.
fn may_be_stored(text: &str, flags: Flags) -> bool {
    facts(text.as_bytes(), flags)
        .marks
        .has(Marks::UNKNOWN_FUNCTION)
}

#[test]
fn possible_stored_functions_are_never_taken_for_built_in_ones() {
    let mut wrong = Vec::new();
    for row in rows() {
        for (index, server) in SERVERS.into_iter().enumerate() {
            let blank = Flags {
                server,
                ..Flags::default()
            };
            let ignored = Flags {
                ignore_space: true,
                ..blank
            };
            for (number, arguments) in ARGUMENTS.into_iter().enumerate() {
                let [adjacent, spaced] = [0, 1].map(|at| row.cells[2 * index + at][number]);
                for (gap, flags, is_stored) in [
                    ("", blank, adjacent),
                    (" ", blank, spaced),
                    ("\n\t", blank, spaced),
                    ("/**/", blank, spaced),
                    (" ", ignored, adjacent),
                    ("/**/", ignored, spaced),
                ] {
                    for position in [
                        "SELECT ",
                        "SELECT 1 + ",
                        "SELECT a FROM t WHERE b = ",
                        "DO ",
                    ] {
                        let text = format!("{position}{}{gap}{arguments}", row.name);
                        if is_stored && !may_be_stored(&text, flags) {
                            wrong.push(format!("{text:?} {server:?}"));
                        }
                    }
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
fn built_in_functions_are_known_on_their_servers() {
    for (text, server) in [
        (
            "SELECT COUNT(*), SUM(a), NOW(), POINT(1, 2) FROM t",
            SERVERS[0],
        ),
        (
            "SELECT COUNT(*), SUM(a), NOW(), POINT(f.x, ABS(y)) FROM t f",
            SERVERS[1],
        ),
        ("SELECT RANK () OVER (), ABS (1) FROM t", SERVERS[0]),
        ("SELECT LINESTRING(POINT(0, 0), POINT(1, 1))", SERVERS[2]),
        (
            "SELECT * FROM t, JSON_TABLE(j, '$[*]' COLUMNS (a INT PATH '$.a', NESTED PATH '$.b' COLUMNS (c INT PATH '$'))) x",
            SERVERS[2],
        ),
        ("SELECT a FROM t WHERE MATCH (a) AGAINST ('x')", SERVERS[1]),
        ("SELECT a FROM t WHERE a LIKE 'x' ESCAPE ('!')", SERVERS[1]),
        ("SELECT a FROM t, LATERAL (SELECT 1) x", SERVERS[0]),
    ] {
        let flags = Flags {
            server,
            ..Flags::default()
        };
        assert!(!may_be_stored(text, flags), "{text} {server:?}");
    }
}
