use super::*;
use crate::{Analysis, Charset, Server, facts};

const FLAGS: Flags = Flags {
    no_backslash_escapes: false,
    ansi_quotes: false,
    ignore_space: false,
    charset: Charset::UTF8MB4,
    schema: crate::Schema::Plain,
    server: Server::MariaDb(110_400),
};

/// Reads a text as a worker does. Returns whether the cache knew it, and asserts that cached facts equal read ones.
fn is_known(cache: &mut FactsCache, text: &str, flags: Flags) -> bool {
    let text = text.as_bytes();
    let mut found = Facts::default();
    match cache.find_known(&mut found, text, flags) {
        Some(known) => {
            let mut read = Analysis::default();
            read.read(text, flags);
            assert_eq!(found, read.facts);
            assert!(
                known
                    .digest
                    .is_none_or(|digest| digest == read.digest.hash())
            );
            true
        }
        None => {
            let mut read = Analysis::default();
            read.read(text, flags);
            cache.keep(&read.facts, text, flags, Some(read.digest.hash()));
            false
        }
    }
}

/// Whether the cache knows the second text after the first text was read twice.
fn makes_known(first: &str, second: &str) -> bool {
    let mut cache = FactsCache::default();
    assert!(!is_known(&mut cache, first, FLAGS) && !is_known(&mut cache, first, FLAGS));
    is_known(&mut cache, second, FLAGS)
}

#[test]
fn statements_that_differ_in_plain_values_have_the_same_facts() {
    for (first, second) in [
        (
            "SELECT c FROM sbtest1 WHERE id=5",
            "SELECT c FROM sbtest1 WHERE id=12345",
        ),
        (
            "SELECT c FROM t WHERE id BETWEEN 1 AND 100 AND b IN (SELECT x FROM u WHERE y = 'abc') ORDER BY c",
            "SELECT c FROM t WHERE id BETWEEN 99 AND 7 AND b IN (SELECT x FROM u WHERE y = '') ORDER BY c",
        ),
        (
            "INSERT INTO s.t (a, b) VALUES (1, 'x'), (22, 'yy')",
            "INSERT INTO s.t (a, b) VALUES (333, 'a \" ` -- # b'), (4, '')",
        ),
        (
            "UPDATE t SET c='1-2-3' WHERE id=4",
            "UPDATE t SET c='44-5' WHERE id=123",
        ),
        (
            "DELETE FROM `a 1` WHERE \"x\" = 1;",
            "DELETE FROM `a 1` WHERE \"x\" = 22;",
        ),
        (
            "select `t1`.c, @x FROM t1 LIMIT 1",
            "select `t1`.c, @x FROM t1 LIMIT 20",
        ),
        (
            "SELECT a.b FROM t WHERE f(1, g(2)) = 3 FOR UPDATE",
            "SELECT a.b FROM t WHERE f(10, g(0)) = 4 FOR UPDATE",
        ),
    ] {
        assert!(makes_known(first, second), "{first}");
    }
}

#[test]
fn tokens_other_than_plain_values_must_be_equal() {
    let first = "SELECT c1 FROM t WHERE a = 1.5 AND b = -7 AND c = 0x1F AND d = 'x'";
    assert!(makes_known(first, first));
    for second in [
        "SELECT c2 FROM t WHERE a = 1.5 AND b = -7 AND c = 0x1F AND d = 'x'",
        "SELECT c1 FROM t WHERE a = 1.6 AND b = -7 AND c = 0x1F AND d = 'x'",
        "SELECT c1 FROM t WHERE a = 1.5 AND b = -8 AND c = 0x1F AND d = 'x'",
        "SELECT c1 FROM t WHERE a = 1.5 AND b = -7 AND c = 0x2F AND d = 'x'",
        "SELECT c1 FROM t WHERE a = 1.5 AND b = -7 AND c = 0x1F AND d = 1",
        "SELECT c1 FROM t WHERE a = 1.5 AND b = -7 AND c = 0x1F AND d = 'x' ",
        "SELECT c1 FROM t WHERE a = 1.5 AND b = -7 AND c = 0x1F AND d = 'x''y'",
        "SELECT c1 FROM t WHERE a = 1.5 AND b = -7 AND c = 0x1F AND d = 'x\\''",
        "SELECT c1 FROM t WHERE a = 1.5 AND b = -7 AND c = 0x1F AND d = 'é'",
    ] {
        assert!(!makes_known(first, second), "{second}");
    }
    assert!(!makes_known("SELECT 1 , a FROM t", "SELECT  1, a FROM t"));
}

#[test]
fn statements_whose_facts_may_depend_on_values_are_not_kept() {
    for text in [
        "SET a = 1",
        "KILL 5",
        "SELECT 1; SELECT 2",
        "SELECT GET_LOCK('a', 1)",
        "SELECT /* 1 */ 2",
        "SELECT 'a' /*! , 1 */",
        "SELECT $a$ FROM t WHERE x = '$a$'",
        "SELECT 1 FROM ` 1 `",
        "SELECT \" 1 \"",
        "SELECT CONNECTION_ID(), 1",
        "SELECT 'open",
        "SELECT 1 -- 2 ",
    ] {
        assert!(!makes_known(text, text), "{text}");
    }
    let gbk = Flags {
        charset: Charset::GBK,
        ..FLAGS
    };
    let mut cache = FactsCache::default();
    assert!((0..4).all(|_| !is_known(&mut cache, "SELECT 1", gbk)));
}

#[test]
fn cached_facts_depend_on_the_lexer_flags() {
    let ansi = Flags {
        ansi_quotes: true,
        ..FLAGS
    };
    let mut cache = FactsCache::default();
    let text = "SELECT a FROM \"t\" WHERE b = 1";
    for flags in [FLAGS, ansi] {
        assert!(!is_known(&mut cache, text, flags));
        is_known(&mut cache, text, flags);
    }
    for flags in [FLAGS, ansi, FLAGS, ansi] {
        assert!(is_known(&mut cache, text, flags));
    }
}

#[test]
fn a_cached_text_without_digest_gets_its_digest_later() {
    let text = b"SELECT 1 FROM t";
    let mut cache = FactsCache::default();
    let mut found = Facts::default();
    for _ in 0..2 {
        assert_eq!(cache.find_known(&mut found, text, FLAGS), None);
        cache.keep(&facts(text, FLAGS), text, FLAGS, None);
    }
    let known = cache.find_known(&mut found, text, FLAGS);
    assert_eq!(known, Some(CachedText { digest: None }));
    cache.wants_digest();
    cache.keep(&facts(text, FLAGS), text, FLAGS, Some(7));
    let known = cache.find_known(&mut found, text, FLAGS);
    assert_eq!(known, Some(CachedText { digest: Some(7) }));
}

#[test]
fn statements_that_occur_once_evict_no_other() {
    let mut cache = FactsCache::default();
    let known = "SELECT c FROM t WHERE id = 1";
    assert!(!is_known(&mut cache, known, FLAGS) && !is_known(&mut cache, known, FLAGS));
    for at in 0..10 * SLOTS {
        assert!(!is_known(
            &mut cache,
            &format!("SELECT c{at} FROM t"),
            FLAGS
        ));
    }
    assert!(is_known(&mut cache, known, FLAGS));
}
