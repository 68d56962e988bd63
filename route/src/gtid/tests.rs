//! Positions: fixed cases, and comparison with naive sets of single transactions.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const A: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const B: &str = "ffffffff-71ca-11e1-9e33-c80aa9429562";

fn set(text: &str) -> GtidSet {
    GtidSet::parse(text.replace('A', A).replace('B', B).as_bytes()).unwrap()
}

fn shown(text: &str) -> String {
    set(text).to_string().replace(A, "A").replace(B, "B")
}

fn domains(text: &str) -> DomainPosition {
    DomainPosition::parse(text.as_bytes()).unwrap()
}

#[test]
fn a_set_is_written_in_order_with_ranges_joined() {
    assert_eq!(shown(""), "");
    assert_eq!(shown("A:5"), "A:5");
    assert_eq!(shown("B:1-3,\nA:7-9:1-5:6"), "A:1-9,B:1-3");
    assert_eq!(shown("A:1-5:3-7, A:9 ,"), "A:1-7:9");
    for uuid in [A.to_uppercase(), A.replace('-', "")] {
        let spelt = GtidSet::parse(format!("{uuid}:1-2").as_bytes());
        assert_eq!(spelt, Ok(set("A:1-2")));
    }
}

#[test]
fn tagged_and_untagged_transactions_are_distinct() {
    assert_eq!(
        shown("A:1-5:Red_1:1-3:7:green:4"),
        "A:1-5,A:green:4,A:red_1:1-3:7"
    );
    assert_eq!(shown("A:blue:1,A:blue:2"), "A:blue:1-2");
    assert!(!set("A:1-9").contains(&set("A:blue:1")));
    assert!(set("A:1:red:1-2").contains(&set("A:RED:2")));
}

#[test]
fn malformed_sets_are_refused() {
    for text in [
        "A",
        "A:",
        "A:0",
        "A:5-4",
        "A:1-",
        "A:-1",
        "A:1-2-3",
        "A:x y:1",
        "A:blue",
        "A:1:blue",
        "A:blue:green:1",
        "1-2",
        "0-1-100",
        "A:9223372036854775807",
        "A:99999999999999999999",
        ":1",
        "A:1;B:1",
        "AA:1",
    ] {
        let text = text.replace('A', A);
        assert!(GtidSet::parse(text.as_bytes()).is_err(), "{text}");
    }
    assert_eq!(shown("A:9223372036854775806"), "A:9223372036854775806");
}

#[test]
fn a_set_contains_the_transactions_of_its_ranges() {
    let executed = set("A:1-5:8-9,B:3");
    for (wanted, is_there) in [
        ("", true),
        ("A:1-5", true),
        ("A:2-4:9,B:3", true),
        ("A:5-8", false),
        ("A:10", false),
        ("A:6", false),
        ("B:2-3", false),
        ("A:1,B:4", false),
    ] {
        assert_eq!(executed.contains(&set(wanted)), is_there, "{wanted}");
    }
}

#[test]
fn a_condensed_set_has_filled_its_smallest_gaps() {
    let mut gaps = set("A:1:10:12:30,B:1:9");
    gaps.condense(4);
    assert_eq!(gaps, set("A:1:10-12:30,B:1-9"));
    gaps.condense(1);
    assert_eq!(gaps, set("A:1-30,B:1-9"));
}

#[test]
fn a_domain_has_its_last_transaction() {
    assert_eq!(domains(" 1-2-5,0-1-100").to_string(), "0-1-100,1-2-5");
    assert_eq!(domains("0-1-100,0-2-7,0-3-101").to_string(), "0-3-101");
    assert_eq!(domains("").to_string(), "");
    assert!(domains("0-1-100,1-1-1").contains(&domains("0-2-100")));
    assert!(!domains("0-1-100,1-1-1").contains(&domains("0-1-101")));
    assert!(!domains("0-1-100").contains(&domains("1-1-1")));
    let mut merged = domains("0-1-5,2-1-5");
    merged.merge(&domains("0-2-6,1-1-1,2-2-4"));
    assert_eq!(merged, domains("0-2-6,1-1-1,2-1-5"));
}

#[test]
fn malformed_positions_of_domains_are_refused() {
    for text in [
        "0",
        "0-1",
        "0-1-",
        "0-1-1-1",
        "-1-1",
        "4294967296-1-1",
        "0-4294967296-1",
        "0-1-18446744073709551616",
        "a-1-1",
        "0 -1-1",
        "0-1-1;",
    ] {
        assert!(DomainPosition::parse(text.as_bytes()).is_err(), "{text}");
    }
    assert_eq!(
        domains("4294967295-4294967295-18446744073709551615").to_string(),
        "4294967295-4294967295-18446744073709551615"
    );
}

#[test]
fn a_position_knows_its_family() {
    let mysql = Position::parse_any(format!("{A}:1").as_bytes()).unwrap();
    let mariadb = Position::parse_any(b"0-1-1").unwrap();
    assert_eq!(
        (mysql.family(), mariadb.family()),
        (Family::MySql, Family::MariaDb)
    );
    assert!(!mysql.contains(&mariadb) && !mariadb.contains(&mysql));
    let mut replaced = mysql.clone();
    replaced.merge(&mariadb);
    assert_eq!(replaced, mariadb);
    assert_eq!(
        Family::of_version(b"5.5.5-10.11.6-MariaDB-log"),
        Family::MariaDb
    );
    assert_eq!(Family::of_version(b"9.7.0"), Family::MySql);
}

#[test]
fn a_wait_is_for_so_many_seconds() {
    let limit = Duration::from_millis(500);
    let mysql = Position::parse(Family::MySql, format!("{A}:1-5,\n{B}:7").as_bytes()).unwrap();
    assert_eq!(
        mysql.wait_statement(limit),
        format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{A}:1-5,{B}:7',0.5)")
    );
    let mariadb = Position::parse(Family::MariaDb, b"0-1-100,1-2-5").unwrap();
    assert_eq!(
        mariadb.wait_statement(Duration::from_secs(2)),
        "SELECT MASTER_GTID_WAIT('0-1-100,1-2-5',2)"
    );
}

/// A transaction: of one of two servers, under one of two tags, with a small number.
type Transaction = (bool, bool, u64);

fn naive() -> impl Strategy<Value = BTreeSet<Transaction>> {
    proptest::collection::btree_set((any::<bool>(), any::<bool>(), 1u64..24), 0..40)
}

fn text_of(transactions: &BTreeSet<Transaction>) -> String {
    let pieces = transactions.iter().map(|(server, tag, number)| {
        let server = if *server { A } else { B };
        let tag = if *tag { ":blue" } else { "" };
        format!("{server}{tag}:{number}")
    });
    pieces.collect::<Vec<_>>().join(",")
}

fn set_of(transactions: &BTreeSet<Transaction>) -> GtidSet {
    GtidSet::parse(text_of(transactions).as_bytes()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_written_set_is_read_as_the_same(transactions in naive()) {
        let set = set_of(&transactions);
        prop_assert_eq!(GtidSet::parse(set.to_string().as_bytes()), Ok(set));
    }

    #[test]
    fn sets_agree_with_naive_ones(one in naive(), other in naive()) {
        let (set, theirs) = (set_of(&one), set_of(&other));
        prop_assert_eq!(set.contains(&theirs), one.is_superset(&other));
        prop_assert_eq!(set.is_empty(), one.is_empty());
        let mut merged = set.clone();
        merged.merge(&theirs);
        let both: BTreeSet<_> = one.union(&other).copied().collect();
        prop_assert_eq!(&merged, &set_of(&both));
        prop_assert!(merged.contains(&set) && merged.contains(&theirs));
    }

    #[test]
    fn a_condensed_set_contains_the_original_set(transactions in naive(), max in 1usize..8) {
        let set = set_of(&transactions);
        let mut condensed = set.clone();
        condensed.condense(max);
        prop_assert!(condensed.contains(&set));
        // Two servers with two tags each need at least four ranges.
        prop_assert!(condensed.ranges() <= max.max(4));
    }

    #[test]
    fn any_text_that_parses_as_a_position_round_trips(text in "[0-9a-fA:,\\- \n_-]{0,80}", bytes: Vec<u8>) {
        let text = text.replace('A', A);
        for text in [text.as_bytes(), &bytes] {
            if let Ok(position) = Position::parse_any(text) {
                let family = position.family();
                prop_assert_eq!(Position::parse(family, position.to_string().as_bytes()), Ok(position));
            }
        }
    }

    #[test]
    fn domains_agree_with_naive_ones(
        one in proptest::collection::btree_map(0u32..4, 1u64..9, 0..4),
        other in proptest::collection::btree_map(0u32..4, 1u64..9, 0..4),
    ) {
        let text = |map: &std::collections::BTreeMap<u32, u64>| {
            map.iter().map(|(d, s)| format!("{d}-1-{s}")).collect::<Vec<_>>().join(",")
        };
        let (position, theirs) = (domains(&text(&one)), domains(&text(&other)));
        let contains = other.iter().all(|(d, s)| one.get(d).is_some_and(|ours| ours >= s));
        prop_assert_eq!(position.contains(&theirs), contains);
        prop_assert_eq!(position.to_string(), text(&one));
        let mut merged = position.clone();
        merged.merge(&theirs);
        prop_assert!(merged.contains(&position) && merged.contains(&theirs));
        let mut both = one.clone();
        for (d, s) in &other {
            let ours = both.entry(*d).or_insert(*s);
            *ours = (*ours).max(*s);
        }
        prop_assert_eq!(merged.to_string(), text(&both));
    }
}
