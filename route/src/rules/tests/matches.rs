//! Which statements each condition matches.

use super::*;

/// Whether a rule with these lines matches.
fn holds(lines: &str, case: &Case<'_>) -> bool {
    let compiled = compile(&format!("[[rule]]\nname = \"r\"\n{lines}\n"));
    case.is_matched(&compiled.rules)
}

/// Each statement, and whether a rule with these lines matches it.
fn check(lines: &str, cases: &[(&str, bool)]) {
    for (statement, expected) in cases {
        assert_eq!(
            holds(lines, &Case::of(statement)),
            *expected,
            "{lines}: {statement}"
        );
    }
}

#[test]
fn a_rule_without_conditions_matches_every_statement() {
    check("", &[("SELECT 1", true), ("", true), ("not SQL '", true)]);
}

#[test]
fn users_are_matched_by_name() {
    for (lines, user, expected) in [
        ("user = \"app\"", "app", true),
        ("user = [\"app\", \"batch\"]", "batch", true),
        ("user = \"app\"", "App", false),
        ("user = \"app\"", "", false),
        ("user = \"app_*\"", "app_1", true),
        ("user = \"!app\"", "app", false),
        ("user = \"!app\"", "root", true),
        ("user = [\"app*\", \"!app_test\"]", "app_test", false),
    ] {
        let case = Case {
            user,
            ..Case::of("SELECT 1")
        };
        assert_eq!(holds(lines, &case), expected, "{lines} {user}");
    }
}

#[test]
fn schemas_are_those_of_the_session() {
    for (lines, schema, expected) in [
        ("schema = \"shop\"", "shop", true),
        ("schema = \"shop\"", "SHOP", true),
        ("schema = \"shop\"", "", false),
        ("schema = \"!shop\"", "", true),
        ("schema = \"tenant_*\"", "tenant_17", true),
    ] {
        let case = Case {
            schema,
            ..Case::of("SELECT 1 FROM other.t")
        };
        assert_eq!(holds(lines, &case), expected, "{lines} {schema}");
    }
}

#[test]
fn networks_and_listeners_are_the_clients() {
    for (lines, address, listener, expected) in [
        ("networks = \"10.0.0.0/8\"", Some("10.0.0.7"), ":4050", true),
        (
            "networks = \"10.0.0.0/8\"",
            Some("11.0.0.7"),
            ":4050",
            false,
        ),
        (
            "networks = [\"::1\", \"10.0.0.7\"]",
            Some("::1"),
            ":4050",
            true,
        ),
        ("networks = \"0.0.0.0/0\"", None, "/run/p.sock", false),
        ("listener = \":4050\"", None, ":4050", true),
        ("listener = \":4050\"", None, "/run/p.sock", false),
        (
            "listener = [\":4050\", \"/run/p.sock\"]",
            None,
            "/run/p.sock",
            true,
        ),
    ] {
        let case = Case {
            address: address.map(|it| it.parse().unwrap()),
            listener: Some(listener.parse().unwrap()),
            ..Case::of("SELECT 1")
        };
        assert_eq!(
            holds(lines, &case),
            expected,
            "{lines} {address:?} {listener}"
        );
    }
}

#[test]
fn digests_are_named_by_any_statement_of_theirs_by_their_text_and_by_hash() {
    let point = "SELECT c FROM t WHERE id = 7";
    let list = "SELECT c FROM t WHERE id IN (1, 2, 3)";
    let hash = sql::digest(point.as_bytes(), Flags::default()).hash();
    let cases = [
        (point, true),
        ("select  c from `t` where id='x'", true),
        (list, false),
    ];
    check("digest = \"SELECT c FROM t WHERE id = ?\"", &cases);
    check("digest = \"select c from t where id = 12\"", &cases);
    check(&format!("digest = \"0x{hash:016X}\""), &cases);
    // The text of a digest, which is not valid SQL.
    let cases = [
        (list, true),
        ("SELECT c FROM t WHERE id IN (7)", true),
        (point, false),
    ];
    check("digest = \"SELECT c FROM t WHERE id IN (...)\"", &cases);
    let insert = "INSERT INTO t VALUES (1, 2), (3, 4)";
    check(
        "digest = \"INSERT INTO t VALUES (...), ...\"",
        &[(insert, true), (list, false)],
    );
}

#[test]
fn regular_expressions_look_at_the_text_or_at_the_digest() {
    check(
        "regex = \"from users\\\\b\"",
        &[
            ("SELECT * FROM Users", true),
            ("SELECT * FROM users_old", false),
            ("SELECT 'from users'", true),
        ],
    );
    check(
        "digest_regex = \"from users\\\\b\"",
        &[
            ("SELECT * \n FROM  `Users`", true),
            ("SELECT 'from users'", false),
        ],
    );
}

#[test]
fn kinds_are_those_of_each_statement_sent() {
    check(
        "kind = [\"SELECT\", \"DROP\"]",
        &[
            ("SELECT 1", true),
            ("DROP TABLE t", true),
            ("INSERT INTO t SELECT 1", false),
            ("EXPLAIN SELECT 1", false),
            ("DELETE FROM t; DROP TABLE t", true),
        ],
    );
}

#[test]
fn tables_are_those_that_are_named() {
    check(
        "tables = [\"shop.orders\", \"log_*\"]",
        &[
            ("SELECT * FROM orders", true),
            ("SELECT * FROM other.orders", false),
            ("UPDATE other.log_1 SET a = 1", true),
            ("SELECT 1", false),
        ],
    );
}

#[test]
fn tags_are_in_comments_and_in_query_attributes() {
    check(
        "tag = [\"batch\", \"app=shop*\"]",
        &[
            ("SELECT 1 /* tag: batch */", true),
            ("/* pilotfish: tag=batch */ SELECT 1", true),
            ("SELECT 1 /*app='shop%2F1'*/", true),
            ("SELECT 1 /* batch */", false),
            ("SELECT 1", false),
        ],
    );
    check(
        "tag = \"!batch\"",
        &[("SELECT 1", true), ("SELECT 1 /* tag: a, batch */", false)],
    );
    for (attributes, expected) in [
        (vec![("tag", "batch")], true),
        (vec![("app", "batch")], false),
    ] {
        let case = Case {
            attributes,
            ..Case::of("SELECT 1")
        };
        assert_eq!(holds("tag = \"batch\"", &case), expected);
    }
}

#[test]
fn times_past_midnight_belong_to_the_day_before() {
    for (lines, day, time, expected) in [
        ("time = \"22:00-06:00\"", Day::Monday, "23:00", true),
        ("time = \"22:00-06:00\"", Day::Monday, "05:59", true),
        ("time = \"22:00-06:00\"", Day::Monday, "06:00", false),
        ("days = [\"sat\", \"sun\"]", Day::Sunday, "12:00", true),
        ("days = [\"sat\", \"sun\"]", Day::Monday, "00:00", false),
        (
            "time = \"22:00-06:00\"\ndays = \"sun\"",
            Day::Sunday,
            "23:00",
            true,
        ),
        (
            "time = \"22:00-06:00\"\ndays = \"sun\"",
            Day::Monday,
            "05:00",
            true,
        ),
        (
            "time = \"22:00-06:00\"\ndays = \"sun\"",
            Day::Sunday,
            "05:00",
            false,
        ),
        (
            "time = \"22:00-06:00\"\ndays = \"sun\"",
            Day::Monday,
            "23:00",
            false,
        ),
    ] {
        let time = LocalTime {
            day,
            time: time.parse().unwrap(),
        };
        let case = Case {
            time,
            ..Case::of("SELECT 1")
        };
        assert_eq!(holds(lines, &case), expected, "{lines} {time:?}");
    }
}

/// The number of 10,000 sessions, or statements of one session, that a rule matches.
fn taken(lines: &str, throws: impl Fn(u64) -> Chance) -> usize {
    let compiled = compile(&format!("[[rule]]\nname = \"r\"\n{lines}\n"));
    let is_taken = |number: &u64| {
        let case = Case {
            chance: throws(*number),
            ..Case::of("SELECT 1")
        };
        case.is_matched(&compiled.rules)
    };
    (0..10_000).filter(is_taken).count()
}

#[test]
fn a_percentage_is_of_sessions_or_of_statements() {
    let sessions = |number: u64| Chance::Thrown {
        session: number << 32,
        statement: 7,
    };
    let statements = |number: u64| Chance::Thrown {
        session: 7,
        statement: number,
    };
    let of_sessions = "percentage = 25";
    let of_statements = "percentage = 2.5\npercentage_of = \"statement\"";
    assert!((2300..2700).contains(&taken(of_sessions, sessions)));
    assert!((200..300).contains(&taken(of_statements, statements)));
    // The rule matches all statements of a session or none.
    assert!([0, 10_000].contains(&taken(of_sessions, statements)));
    assert_eq!(taken("percentage = 100", sessions), 10_000);
    assert_eq!(taken("percentage = 0", sessions), 0);
}

#[test]
fn two_rules_of_one_percentage_take_others() {
    let compiled = compile(
        "[[rule]]\nname = \"a\"\npercentage = 50\nstop = false\n\
         [[rule]]\nname = \"b\"\npercentage = 50\nstop = false\n",
    );
    let mut seen = std::collections::BTreeMap::<Vec<String>, u32>::new();
    for session in 0..4000 {
        let case = Case {
            chance: Chance::Thrown {
                session,
                statement: 0,
            },
            ..Case::of("SELECT 1")
        };
        *seen.entry(case.matched(&compiled.rules)).or_default() += 1;
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
    assert!(
        seen.values().all(|count| (900..1100).contains(count)),
        "{seen:?}"
    );
}

#[test]
fn a_rule_matches_only_if_all_its_conditions_hold() {
    let lines = "user = \"app\"\nkind = \"SELECT\"\ntables = \"orders\"\nschema = \"shop\"";
    let case = Case::of("SELECT * FROM orders");
    assert!(holds(lines, &case));
    for other in [
        Case {
            user: "x",
            ..case.clone()
        },
        Case {
            schema: "x",
            ..case.clone()
        },
        Case {
            text: b"SELECT * FROM lines",
            ..case.clone()
        },
        Case {
            text: b"DELETE FROM orders",
            ..case.clone()
        },
    ] {
        assert!(!holds(lines, &other));
    }
}

#[test]
fn sql_mode_decides_how_a_statement_is_read() {
    let statement = Case::of("SELECT * FROM \"orders\"");
    let quoted = Case {
        flags: Flags {
            ansi_quotes: true,
            ..Flags::default()
        },
        ..statement.clone()
    };
    assert!(!holds("tables = \"orders\"", &statement));
    assert!(holds("tables = \"orders\"", &quoted));
}
