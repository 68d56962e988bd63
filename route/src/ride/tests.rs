use std::time::Duration;

use sql::{Flags, Server};

use super::*;
use crate::BackendId;

const MARIADB: Server = Server::MariaDb(101_100);
const MYSQL: Server = Server::MySql(90_700);

fn rides(text: &str, server: Server, transaction: Transaction) -> Result<(), Stays> {
    let flags = Flags {
        server,
        ..Flags::default()
    };
    may_ride(&sql::facts(text.as_bytes(), flags), server, transaction)
}

#[test]
fn reads_of_data_and_nothing_else_ride() {
    let all = [
        "SELECT c FROM t WHERE id = 1",
        "select t.a, COUNT(*) from s.t join u using (id) where a in (1, 2) group by t.a limit 3",
        "(SELECT a FROM t) UNION (SELECT b FROM u)",
        "WITH x AS (SELECT 1 AS a) SELECT * FROM x JOIN t ON x.a = t.a",
        "/* from the shop */ SELECT NOW(), USER(), a FROM t",
    ];
    for text in all {
        for server in [MARIADB, MYSQL] {
            assert_eq!(rides(text, server, Transaction::None), Ok(()), "{text}");
        }
    }
    assert_eq!(rides("SELECT 1", MYSQL, Transaction::None), Ok(()));
    assert_eq!(
        rides("SELECT 1", MARIADB, Transaction::None),
        Err(Stays::NoTable)
    );
}

#[test]
fn what_is_more_than_that_stays_and_hears_why() {
    let all = [
        ("INSERT INTO t VALUES (1)", Stays::NoSelect),
        ("SELECT a FROM t; SELECT b FROM t", Stays::NoSelect),
        ("SELECT 'open", Stays::NoSelect),
        ("SHOW TABLES", Stays::NoSelect),
        ("SET autocommit = 0", Stays::NoSelect),
        ("CALL p()", Stays::NoSelect),
        ("EXPLAIN SELECT a FROM t", Stays::NoSelect),
        ("SELECT a FROM t FOR UPDATE", Stays::MayWrite),
        ("SELECT a FROM t LOCK IN SHARE MODE", Stays::MayWrite),
        ("SELECT my_function(a) FROM t", Stays::MayWrite),
        ("SELECT a INTO OUTFILE '/tmp/x' FROM t", Stays::MayWrite),
        ("SELECT a INTO @x FROM t", Stays::MayWrite),
        ("SELECT @x := a FROM t", Stays::LeavesSomething),
        ("SELECT GET_LOCK('a', 1) FROM t", Stays::MayWrite),
        (
            "SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1",
            Stays::LeavesSomething,
        ),
        ("SELECT LAST_INSERT_ID(a) FROM t", Stays::LeavesSomething),
        ("SELECT LAST_INSERT_ID(), a FROM t", Stays::AsksOwn),
        ("SELECT FOUND_ROWS(), a FROM t", Stays::AsksOwn),
        ("SELECT ROW_COUNT(), a FROM t", Stays::AsksOwn),
        ("SELECT CONNECTION_ID(), a FROM t", Stays::AsksOwn),
        ("SELECT @x, a FROM t", Stays::AsksOwn),
        ("SELECT @@sql_mode, a FROM t", Stays::AsksOwn),
        ("SELECT @@warning_count, a FROM t", Stays::AsksOwn),
        ("SELECT * FROM performance_schema.threads", Stays::AsksOwn),
        ("SELECT SLEEP(1), a FROM t", Stays::TakesTime),
        ("SELECT BENCHMARK(10, 1), a FROM t", Stays::TakesTime),
        ("SELECT IS_FREE_LOCK('a'), a FROM t", Stays::MayWrite),
    ];
    for (text, why) in all {
        let found = rides(text, MYSQL, Transaction::None);
        assert!(found.is_err(), "{text}");
        assert_eq!(found, Err(why), "{text}");
    }
    for transaction in [
        Transaction::Implicit,
        Transaction::Open,
        Transaction::Reading,
    ] {
        let found = rides("SELECT a FROM t", MYSQL, transaction);
        assert_eq!(found, Err(Stays::Transaction));
    }
}

const HERE: BackendId = BackendId(1);
const DIGEST: u64 = 0x1234;

fn seen(microseconds: u64, bytes: u64) -> Seen {
    Seen {
        took: Duration::from_micros(microseconds),
        bytes,
        has_warned: false,
    }
}

#[test]
fn what_is_unknown_has_to_show_itself_first() {
    let mut habits = Habits::default();
    assert_eq!(habits.of(HERE, DIGEST).is_short(), Err(Stays::Unknown));
    for _ in 0..3 {
        assert_eq!(habits.of(HERE, DIGEST).is_short(), Err(Stays::Unknown));
        habits.note(HERE, DIGEST, &seen(50, 200));
    }
    assert_eq!(habits.of(HERE, DIGEST).is_short(), Ok(()));
    // Elsewhere it may be another matter.
    let elsewhere = habits.of(BackendId(2), DIGEST);
    assert_eq!(elsewhere.is_short(), Err(Stays::Unknown));
}

#[test]
fn what_grows_slow_or_large_stays_until_it_is_short_again() {
    let mut habits = Habits::default();
    for (slow, why) in [
        (seen(50_000, 200), Stays::Slow),
        (seen(50, 1 << 20), Stays::Large),
    ] {
        for _ in 0..20 {
            habits.note(HERE, DIGEST, &seen(50, 200));
        }
        assert_eq!(habits.of(HERE, DIGEST).is_short(), Ok(()));
        habits.note(HERE, DIGEST, &slow);
        assert_eq!(habits.of(HERE, DIGEST).is_short(), Err(why));
        for _ in 0..100 {
            habits.note(HERE, DIGEST, &seen(50, 200));
        }
        assert_eq!(habits.of(HERE, DIGEST).is_short(), Ok(()));
    }
}

#[test]
fn a_warning_is_remembered_for_a_while() {
    let mut habits = Habits::default();
    let warned = Seen {
        has_warned: true,
        ..seen(50, 200)
    };
    habits.note(HERE, DIGEST, &warned);
    for _ in 0..64 {
        assert_eq!(habits.of(HERE, DIGEST).is_short(), Err(Stays::Warns));
        habits.note(HERE, DIGEST, &seen(50, 200));
    }
    assert_eq!(habits.of(HERE, DIGEST).is_short(), Ok(()));
}

#[test]
fn habits_are_bounded_and_what_is_used_is_kept() {
    let mut habits = Habits::default();
    for other in 0..100_000u64 {
        habits.note(HERE, other, &seen(50, 200));
        if other % 1000 == 0 {
            habits.note(HERE, u64::MAX, &seen(50, 200));
        }
    }
    assert!(habits.len() <= 2 * 4096);
    assert_eq!(habits.of(HERE, u64::MAX).is_short(), Ok(()));
}

#[test]
fn each_reason_has_words_of_its_own() {
    let words: std::collections::HashSet<_> = Stays::ALL.iter().map(Stays::to_string).collect();
    assert_eq!(words.len(), Stays::ALL.len());
}
