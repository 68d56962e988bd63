//! GTID sets of both families, compared with sets of single numbers.

use std::collections::BTreeSet;

use pilotfish_binlog::{
    GtidError, Interval, MariadbGtid, MariadbGtidSet, MysqlGtid, MysqlGtidSet, SourceId,
};
use proptest::prelude::*;

const UUIDS: [&str; 2] = [
    "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa",
    "bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb",
];

fn source(index: usize) -> SourceId {
    let uuid = UUIDS[index % 2].parse().unwrap();
    let tag = (index >= 2).then(|| "blue".parse().unwrap());
    SourceId { uuid, tag }
}

/// A set as its single numbers.
type Model = BTreeSet<(usize, u64)>;

fn set(model: &Model) -> MysqlGtidSet {
    let mut set = MysqlGtidSet::default();
    for (index, number) in model {
        set.add(&MysqlGtid {
            source: source(*index),
            number: *number,
        });
    }
    set
}

fn models() -> impl Strategy<Value = Model> {
    proptest::collection::btree_set((0..4_usize, 1..40_u64), 0..60)
}

proptest! {
    #[test]
    fn mysql_gtid_sets_agree_with_a_simple_set_model(left in models(), right in models()) {
        let (a, b) = (set(&left), set(&right));
        prop_assert_eq!(a.contains_all(&b), left.is_superset(&right));
        let mut union = a.clone();
        union.union(&b);
        prop_assert_eq!(&union, &set(&left.union(&right).copied().collect()));
        let mut rest = a.clone();
        rest.subtract(&b);
        prop_assert_eq!(&rest, &set(&left.difference(&right).copied().collect()));
        for index in 0..4 {
            for number in 1..41 {
                let gtid = MysqlGtid { source: source(index), number };
                prop_assert_eq!(a.contains(&gtid), left.contains(&(index, number)));
            }
        }
        prop_assert_eq!(&a.to_string().parse::<MysqlGtidSet>().unwrap(), &a);
        let mut bytes = Vec::new();
        a.encode(&mut bytes);
        prop_assert_eq!(&MysqlGtidSet::decode(&bytes).unwrap(), &a);
        for length in 0..bytes.len() {
            prop_assert!(MysqlGtidSet::decode(&bytes[..length]).is_err());
        }
    }

    #[test]
    fn intervals_in_any_order_are_the_same_set(
        intervals in proptest::collection::vec((1..60_u64, 0..9_u64), 1..20),
    ) {
        let mut added = MysqlGtidSet::default();
        let mut numbers = Model::new();
        let mut text = UUIDS[0].to_owned();
        for (start, length) in intervals {
            let end = start + length;
            added.add_interval(source(0), Interval { start, end });
            numbers.extend((start..=end).map(|number| (0, number)));
            text += &format!(":{start}-{end}");
        }
        prop_assert_eq!(&added, &set(&numbers));
        prop_assert_eq!(&text.parse::<MysqlGtidSet>().unwrap(), &added);
    }
}

#[test]
fn a_set_of_mysql_is_read_as_servers_and_people_write_it() {
    let written = |text: &str| text.parse::<MysqlGtidSet>().map(|it| it.to_string());
    let [a, b] = UUIDS;
    assert_eq!(written(""), Ok(String::new()));
    let spread = format!(" {}:5:1-3:4 ,\n{b}:7:Red:1-2:blue:3,", a.to_uppercase());
    assert_eq!(
        written(&spread),
        Ok(format!("{a}:1-5,{b}:7:blue:3:red:1-2"))
    );
    let wrong = [
        a.to_owned(),
        format!("{a}:0"),
        format!("{a}:5-3"),
        format!("{a}:1-"),
        format!("{a}:9223372036854775807"),
        format!("{a}:red"),
        format!("{a}:1:red:2:9x"),
        format!("{}:1", &a[1..]),
    ];
    for text in wrong {
        assert!(
            matches!(written(&text), Err(GtidError::Invalid(_))),
            "{text}"
        );
    }
    // Adjacent numbers in reverse order: parsing stays fast, and one interval is left.
    let numbers: Vec<String> = (1..200_000).rev().map(|it| it.to_string()).collect();
    let set: MysqlGtidSet = format!("{a}:{}", numbers.join(":")).parse().unwrap();
    assert_eq!(set.intervals_count(), 1);
}

#[test]
fn a_mariadb_position_contains_all_earlier_gtids_of_its_domain() {
    let set = |text: &str| text.parse::<MariadbGtidSet>().unwrap();
    let gtid = |text: &str| text.parse::<MariadbGtid>().unwrap();
    let position = set("1-2-7, 0-1-100");
    assert_eq!(position.to_string(), "0-1-100,1-2-7");
    assert!(position.contains(&gtid("0-9-100")));
    assert!(!position.contains(&gtid("0-1-101")));
    assert!(!position.contains(&gtid("2-1-1")));
    let mut other = set("0-2-120,3-1-1");
    other.union(&position);
    assert_eq!(other.to_string(), "0-2-120,1-2-7,3-1-1");
    assert!(other.contains_all(&position) && !position.contains_all(&other));
    other.subtract(&position);
    assert_eq!(other.to_string(), "0-2-120,3-1-1");
    for wrong in [
        "0-1",
        "0-1-2-3",
        "a-1-2",
        "0-1-2,0-2-3",
        "4294967296-1-1",
        "0--1-2",
        "+1-1-1",
    ] {
        assert!(wrong.parse::<MariadbGtidSet>().is_err(), "{wrong}");
    }
}
