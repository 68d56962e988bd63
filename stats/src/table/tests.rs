#![allow(clippy::unwrap_used)]

use std::time::Duration;

use system::Entropy;

use super::*;

struct StatsTable {
    table: DigestTable,
    attribution: Arc<Attribution>,
}

impl StatsTable {
    fn new(bytes_max: usize) -> Self {
        let keys = Entropy::seeded(7).hash_keys().unwrap();
        Self {
            table: DigestTable::new(bytes_max, 7),
            attribution: Arc::new(Attribution::new(&keys, "'a'@'%'".into(), "a", b"shop")),
        }
    }

    fn say(&mut self, digest: u64) {
        self.say_on(digest, BackendId(1));
    }

    fn say_on(&mut self, digest: u64, backend: BackendId) {
        self.say_in(digest, backend, None);
    }

    fn say_in(&mut self, digest: u64, backend: BackendId, due: Option<Due>) -> bool {
        let text = self
            .table
            .text_of(digest, format!("SELECT {digest}").as_bytes());
        let said = EndedStatement {
            digest,
            text: &text,
            attribution: &self.attribution,
            backend: Some(backend),
            sample: Some(b"SELECT 'value'"),
        };
        let ended = Ended {
            backend: Duration::from_micros(digest),
            ..Ended::default()
        };
        self.table
            .note(&said, &ended, due, |id| Some(format!("db{}", id.0).into()))
    }

    fn counts(&self) -> Vec<(String, u64)> {
        let mut rows = self.table.piece(0, usize::MAX / 2).0;
        rows.sort_by_key(|row| row.digest);
        let rows = rows.into_iter();
        rows.map(|row| (row.text.to_string(), row.counts.count))
            .collect()
    }
}

#[test]
fn equal_digests_are_one_row() {
    let mut kept = StatsTable::new(1 << 20);
    for digest in [1, 2, 1, 1] {
        kept.say(digest);
    }
    kept.say_on(2, BackendId(7));
    let of = |text: &str, count| (text.to_owned(), count);
    assert_eq!(
        kept.counts(),
        [of("SELECT 1", 3), of("SELECT 2", 1), of("SELECT 2", 1)]
    );
    let taken = kept.table.take();
    assert!(kept.counts().is_empty());
    assert_eq!((taken.into_rows().len(), kept.table.bytes()), (3, 0));
}

#[test]
fn memory_is_bounded_and_evictions_are_counted() {
    let bytes_max = 200_000;
    let mut kept = StatsTable::new(bytes_max);
    for round in 0..20_000u64 {
        // A few digests occur often, most of them once.
        kept.say(1 + round % 10);
        kept.say(1000 + round);
        assert!(kept.table.bytes() <= bytes_max);
    }
    let (remainder, evicted) = kept.table.remainder();
    let counted: u64 = kept.counts().iter().map(|(_, count)| count).sum();
    assert_eq!(counted + remainder.count, 40_000);
    assert_eq!(evicted, remainder.count, "what is often said has stayed");
    assert!(kept.table.len() > 300, "{}", kept.table.len());
    kept.table.resize(0);
    assert_eq!((kept.table.len(), kept.table.bytes()), (0, 0));
    assert_eq!(kept.table.remainder().0.count, 40_000);
}

#[test]
fn reading_the_table_in_pieces_returns_every_row() {
    let mut kept = StatsTable::new(1 << 20);
    (0..1000).for_each(|digest| kept.say(digest));
    let (mut next, mut count) = (Some(0), 0);
    while let Some(from) = next {
        let (rows, rest) = kept.table.piece(from, 64);
        count += rows.len();
        next = rest;
    }
    assert_eq!(count, 1000);
}

#[test]
fn ten_thousand_digests_need_no_more_than_they_may() {
    let mut kept = StatsTable::new(usize::MAX);
    let text = format!("SELECT {} FROM t WHERE id = ?", "column, ".repeat(25));
    for digest in 0..10_000u64 {
        let text = kept.table.text_of(digest, text.as_bytes());
        let said = EndedStatement {
            digest,
            text: &text,
            attribution: &kept.attribution,
            backend: None,
            sample: None,
        };
        for took in 0..20 {
            let ended = Ended {
                backend: Duration::from_micros(50 + 11 * took * took),
                ..Ended::default()
            };
            kept.table.note(&said, &ended, None, |_| None);
        }
    }
    let megabytes = kept.table.bytes() / (1 << 20);
    assert!(megabytes < 11, "{megabytes}");
}

#[test]
fn a_statement_is_due_once_in_an_interval_and_when_all_is_forgotten() {
    let mut kept = StatsTable::new(1 << 20);
    let mut is_due = |second, since| {
        let due = Due {
            second,
            interval: 60,
            since,
        };
        kept.say_in(1, BackendId(1), Some(due))
    };
    assert!(is_due(5, 0));
    assert!(!is_due(5, 0));
    assert!(!is_due(64, 0));
    assert!(is_due(65, 0));
    assert!(is_due(70, 69), "what was known is forgotten");
    assert!(!is_due(71, 69));
    // A statement in the second of the reset may have run before the reset.
    assert!(is_due(71, 70));
    assert!(!is_due(72, 70));
    assert!(!kept.say_in(2, BackendId(1), None), "nobody asks");
}
