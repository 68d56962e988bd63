use std::time::Duration;

use sql::{Flags, Server};

use super::*;
use crate::BackendId;

const MARIADB: Server = Server::MariaDb(101_100);
const MYSQL: Server = Server::MySql(90_700);

fn may_use(text: &str, server: Server, transaction: Transaction) -> Result<(), NotLaneable> {
    let flags = Flags {
        server,
        ..Flags::default()
    };
    may_use_lane(&sql::facts(text.as_bytes(), flags), server, transaction)
}

#[test]
fn only_plain_reads_of_data_may_use_a_lane() {
    let all = [
        "SELECT c FROM t WHERE id = 1",
        "select t.a, COUNT(*) from s.t join u using (id) where a in (1, 2) group by t.a limit 3",
        "(SELECT a FROM t) UNION (SELECT b FROM u)",
        "WITH x AS (SELECT 1 AS a) SELECT * FROM x JOIN t ON x.a = t.a",
        "/* from the shop */ SELECT NOW(), USER(), a FROM t",
    ];
    for text in all {
        for server in [MARIADB, MYSQL] {
            assert_eq!(may_use(text, server, Transaction::None), Ok(()), "{text}");
        }
    }
    assert_eq!(may_use("SELECT 1", MYSQL, Transaction::None), Ok(()));
    assert_eq!(
        may_use("SELECT 1", MARIADB, Transaction::None),
        Err(NotLaneable::NoTable)
    );
}

#[test]
fn statements_above_the_bound_use_no_lane_and_get_the_reason() {
    let all = [
        ("INSERT INTO t VALUES (1)", NotLaneable::NoSelect),
        ("SELECT a FROM t; SELECT b FROM t", NotLaneable::NoSelect),
        ("SELECT 'open", NotLaneable::NoSelect),
        ("SHOW TABLES", NotLaneable::NoSelect),
        ("SET autocommit = 0", NotLaneable::NoSelect),
        ("CALL p()", NotLaneable::NoSelect),
        ("EXPLAIN SELECT a FROM t", NotLaneable::NoSelect),
        ("SELECT a FROM t FOR UPDATE", NotLaneable::MayWrite),
        ("SELECT a FROM t LOCK IN SHARE MODE", NotLaneable::MayWrite),
        ("SELECT my_function(a) FROM t", NotLaneable::MayWrite),
        (
            "SELECT a INTO OUTFILE '/tmp/x' FROM t",
            NotLaneable::MayWrite,
        ),
        ("SELECT a INTO @x FROM t", NotLaneable::MayWrite),
        ("SELECT @x := a FROM t", NotLaneable::LeavesSomething),
        ("SELECT GET_LOCK('a', 1) FROM t", NotLaneable::MayWrite),
        (
            "SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1",
            NotLaneable::LeavesSomething,
        ),
        (
            "SELECT LAST_INSERT_ID(a) FROM t",
            NotLaneable::LeavesSomething,
        ),
        ("SELECT LAST_INSERT_ID(), a FROM t", NotLaneable::AsksOwn),
        ("SELECT FOUND_ROWS(), a FROM t", NotLaneable::AsksOwn),
        ("SELECT ROW_COUNT(), a FROM t", NotLaneable::AsksOwn),
        ("SELECT CONNECTION_ID(), a FROM t", NotLaneable::AsksOwn),
        ("SELECT @x, a FROM t", NotLaneable::AsksOwn),
        ("SELECT @@sql_mode, a FROM t", NotLaneable::AsksOwn),
        ("SELECT @@warning_count, a FROM t", NotLaneable::AsksOwn),
        (
            "SELECT * FROM performance_schema.threads",
            NotLaneable::AsksOwn,
        ),
        ("SELECT SLEEP(1), a FROM t", NotLaneable::TakesTime),
        ("SELECT BENCHMARK(10, 1), a FROM t", NotLaneable::TakesTime),
        ("SELECT IS_FREE_LOCK('a'), a FROM t", NotLaneable::MayWrite),
    ];
    for (text, why) in all {
        let found = may_use(text, MYSQL, Transaction::None);
        assert!(found.is_err(), "{text}");
        assert_eq!(found, Err(why), "{text}");
    }
    for transaction in [
        Transaction::Implicit,
        Transaction::Open,
        Transaction::Reading,
    ] {
        let found = may_use("SELECT a FROM t", MYSQL, transaction);
        assert_eq!(found, Err(NotLaneable::Transaction));
    }
}

const HERE: BackendId = BackendId(1);
const DIGEST: u64 = 0x1234;

fn seen(microseconds: u64, bytes: u64) -> Observed {
    Observed {
        took: Duration::from_micros(microseconds),
        bytes,
        has_warned: false,
    }
}

#[test]
fn an_unknown_digest_uses_no_lane_at_first() {
    let mut known = KnownDigests::default();
    assert_eq!(known.of(HERE, DIGEST).is_short(), Err(NotLaneable::Unknown));
    for _ in 0..3 {
        assert_eq!(known.of(HERE, DIGEST).is_short(), Err(NotLaneable::Unknown));
        known.note(HERE, DIGEST, &seen(50, 200));
    }
    assert_eq!(known.of(HERE, DIGEST).is_short(), Ok(()));
    // Another backend has its own statistics.
    let elsewhere = known.of(BackendId(2), DIGEST);
    assert_eq!(elsewhere.is_short(), Err(NotLaneable::Unknown));
}

#[test]
fn a_slow_or_large_digest_uses_no_lane_until_it_is_short_again() {
    let mut known = KnownDigests::default();
    for (slow, why) in [
        (seen(50_000, 200), NotLaneable::Slow),
        (seen(50, 1 << 20), NotLaneable::Large),
    ] {
        for _ in 0..20 {
            known.note(HERE, DIGEST, &seen(50, 200));
        }
        assert_eq!(known.of(HERE, DIGEST).is_short(), Ok(()));
        known.note(HERE, DIGEST, &slow);
        assert_eq!(known.of(HERE, DIGEST).is_short(), Err(why));
        for _ in 0..100 {
            known.note(HERE, DIGEST, &seen(50, 200));
        }
        assert_eq!(known.of(HERE, DIGEST).is_short(), Ok(()));
    }
}

#[test]
fn a_warning_is_remembered_for_a_while() {
    let mut known = KnownDigests::default();
    let warned = Observed {
        has_warned: true,
        ..seen(50, 200)
    };
    known.note(HERE, DIGEST, &warned);
    for _ in 0..64 {
        assert_eq!(known.of(HERE, DIGEST).is_short(), Err(NotLaneable::Warns));
        known.note(HERE, DIGEST, &seen(50, 200));
    }
    assert_eq!(known.of(HERE, DIGEST).is_short(), Ok(()));
}

#[test]
fn digest_stats_are_bounded_and_used_digests_stay() {
    let mut known = KnownDigests::default();
    for other in 0..100_000u64 {
        known.note(HERE, other, &seen(50, 200));
        if other % 1000 == 0 {
            known.note(HERE, u64::MAX, &seen(50, 200));
        }
    }
    assert!(known.len() <= 2 * 4096);
    assert_eq!(known.of(HERE, u64::MAX).is_short(), Ok(()));
}

#[test]
fn each_reason_has_words_of_its_own() {
    let words: std::collections::HashSet<_> = NotLaneable::ALL
        .iter()
        .map(NotLaneable::to_string)
        .collect();
    assert_eq!(words.len(), NotLaneable::ALL.len());
}
