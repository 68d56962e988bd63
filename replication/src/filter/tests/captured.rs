//! Filters on whole files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use binlog::{
    Checksum, Decoder, Event, EventReader, EventType, Limits, MysqlGtidEvent, RawEvent, RowsKind,
    Value,
};
use config::{FilteredChange, ReplicationFilterConfig};
use route::Family;

use super::super::error::FilterError;
use super::super::{EventSink, Filter, Filtered};
use super::{drops, names, on};
use crate::error::StreamError;
use crate::follow::{Brought, Follower, Statements};
use crate::position::Position;
use crate::tests::system;

/// The events and transactions that a filter has passed on.
#[derive(Default)]
pub(super) struct Passed {
    /// Events with headers and without checksums.
    events: Vec<Vec<u8>>,
    /// Transactions of which the filter passed the begin, and then the transactions that ended.
    begun: Vec<String>,
    whole: Vec<String>,
    pub(super) filtered: Filtered,
}

impl EventSink for Passed {
    fn event(&mut self, raw: &RawEvent<'_>, brought: &Brought) -> Result<(), StreamError> {
        match brought {
            Brought::Begin(gtid) => self.begun.push(gtid.to_string()),
            Brought::Transaction(gtid) => self.whole.push(gtid.to_string()),
            _ => {}
        }
        let mut bytes = Vec::new();
        let checksum = match raw.header().event_type {
            EventType::FORMAT_DESCRIPTION => raw.checksum(),
            _ => Checksum::None,
        };
        binlog::put_event(&mut bytes, raw.header(), raw.body(), checksum).unwrap();
        self.events.push(bytes);
        Ok(())
    }
}

struct NoStatements;

impl Statements for NoStatements {
    fn statement(&mut self, _: &binlog::EventHeader, _: &binlog::Query<'_>) {}
}

pub(super) fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../binlog/tests/captures");
    let mut files = Vec::new();
    for server in ["mariadb-10.11", "mariadb-11.8", "mysql-9.7"] {
        let entries = std::fs::read_dir(root.join(server)).unwrap();
        files.extend(entries.map(|it| it.unwrap().path()));
    }
    files.sort();
    files
}

fn is_mysql(file: &Path) -> bool {
    file.to_string_lossy().contains("mysql")
}

fn family(file: &Path) -> Family {
    match is_mysql(file) {
        true => Family::MySql,
        false => Family::MariaDb,
    }
}

/// The events of a file after a filter.
pub(super) fn filter(
    file: &Path,
    settings: &[ReplicationFilterConfig],
) -> Result<Passed, StreamError> {
    let bytes = std::fs::read(file).unwrap();
    let mut reader = EventReader::new(&*bytes, Limits::default());
    let mut events = Vec::new();
    while let Some((_, raw)) = reader.next_event().unwrap() {
        events.push(raw.bytes().to_vec());
    }
    filter_events(file, &events, settings)
}

/// Filters events as if a server had sent them from this file.
fn filter_events(
    file: &Path,
    events: &[Vec<u8>],
    settings: &[ReplicationFilterConfig],
) -> Result<Passed, StreamError> {
    let limits = Limits::default();
    let family = family(file);
    let folder = tempfile::tempdir().unwrap();
    let made = Filter::new(
        settings,
        &config::ScriptConfig::default(),
        &system(0).clock,
        (family, Checksum::Crc32),
        limits,
        folder.path().to_owned(),
    );
    let mut filter = made.unwrap().unwrap();
    let mut follower = Follower::new(limits);
    let nothing = Position::empty(family);
    let mut passed = Passed::default();
    for bytes in events {
        let raw = RawEvent::parse(bytes, Checksum::Crc32).unwrap();
        let brought = follower.take(&raw, &nothing, &mut NoStatements).unwrap();
        let filtered = filter.take(&raw, &brought, &mut passed)?;
        passed.filtered.dropped += filtered.dropped;
        passed.filtered.changed += filtered.changed;
    }
    Ok(passed)
}

/// The events of a file, each with its type and body.
fn original(file: &Path) -> Vec<(EventType, Vec<u8>)> {
    let bytes = std::fs::read(file).unwrap();
    let mut reader = EventReader::new(&*bytes, Limits::default());
    let mut events = Vec::new();
    while let Some((_, raw)) = reader.next_event().unwrap() {
        events.push((raw.header().event_type, raw.body().to_vec()));
    }
    events
}

impl Passed {
    pub(super) fn each(&self, mut take: impl FnMut(&RawEvent<'_>, &Event<'_>)) {
        let mut decoder = Decoder::new(Limits::default());
        for bytes in &self.events {
            let checksum = match bytes[4] == EventType::FORMAT_DESCRIPTION.0 {
                true => Checksum::Crc32,
                false => Checksum::None,
            };
            let raw = RawEvent::parse(bytes, checksum).unwrap();
            let event = decoder.decode(&raw).unwrap();
            take(&raw, &event);
        }
    }

    pub(super) fn bodies(&self) -> Vec<(EventType, Vec<u8>)> {
        let mut events = Vec::new();
        self.each(|raw, _| events.push((raw.header().event_type, raw.body().to_vec())));
        events
    }

    /// Asserts that a replica can apply the events: each transaction is whole, and its stated length is right.
    pub(super) fn check(&self, file: &Path) {
        assert_eq!(self.begun, self.whole, "{}", file.display());
        let mut follower = Follower::new(Limits::default());
        let nothing = Position::empty(family(file));
        let mut ends = Vec::new();
        let (mut stated, mut bytes) = (None, 0);
        self.each(|raw, event| {
            bytes += raw.bytes().len() as u64 + 4;
            if let Event::MysqlGtid(MysqlGtidEvent {
                transaction_bytes, ..
            }) = event
            {
                stated = *transaction_bytes;
                bytes = raw.bytes().len() as u64 + 4;
            }
            let again = RawEvent::parse(raw.bytes(), raw.checksum()).unwrap();
            if let Brought::Transaction(gtid) =
                follower.take(&again, &nothing, &mut NoStatements).unwrap()
            {
                assert_eq!(stated.take(), is_mysql(file).then_some(bytes), "{gtid}");
                ends.push(gtid.to_string());
            }
        });
        assert_eq!(ends, self.whole, "{}", file.display());
    }
}

fn is_statement_text(event_type: EventType) -> bool {
    matches!(event_type, EventType::ANNOTATE_ROWS | EventType::ROWS_QUERY)
}

fn is_gtid(event_type: EventType) -> bool {
    matches!(event_type, EventType::GTID | EventType::GTID_TAGGED)
}

/// Whether a file has LOAD DATA as a statement. A filter cannot handle such a file.
fn has_load(file: &Path) -> bool {
    let mut all = original(file).into_iter();
    all.any(|(event_type, _)| event_type == EventType::BEGIN_LOAD_QUERY)
}

#[test]
fn a_filter_for_other_tables_takes_the_texts_of_statements_out_and_nothing_else() {
    for file in files() {
        let settings = [drops(&["elsewhere.t"], &[])];
        if has_load(&file) {
            let refused = filter(&file, &settings).err().unwrap();
            assert!(matches!(refused, StreamError::Filter(FilterError::Load)));
            continue;
        }
        let passed = filter(&file, &settings).unwrap();
        passed.check(&file);
        let kept = |(event_type, _): &(EventType, Vec<u8>)| !is_statement_text(*event_type);
        let original: Vec<_> = original(&file).into_iter().filter(kept).collect();
        let passed = passed.bodies();
        assert_eq!(passed.len(), original.len(), "{}", file.display());
        for (mine, its) in passed.iter().zip(&original) {
            assert_eq!(mine.0, its.0);
            // The filter removes the texts of statements, so the stated length of the transaction differs.
            assert!(mine.1 == its.1 || is_gtid(mine.0), "{}", file.display());
        }
    }
}

#[test]
fn a_transaction_whose_changes_are_all_dropped_stays_as_an_empty_one() {
    for file in files().iter().filter(|it| !has_load(it)) {
        let everything = filter(file, &[drops(&[], &[])]).unwrap();
        everything.check(file);
        let nothing = filter(file, &[drops(&["elsewhere.t"], &[])]).unwrap();
        assert_eq!(everything.whole, nothing.whole);
        let types: BTreeSet<u8> = everything.bodies().iter().map(|it| it.0.0).collect();
        for left in [
            EventType::TABLE_MAP,
            EventType::WRITE_ROWS,
            EventType::WRITE_ROWS_V1,
            EventType::UPDATE_ROWS,
            EventType::PARTIAL_UPDATE_ROWS,
            EventType::DELETE_ROWS_V1,
            EventType::QUERY_COMPRESSED,
            EventType::TRANSACTION_PAYLOAD,
        ] {
            assert!(!types.contains(&left.0), "{left} in {}", file.display());
        }
        everything.each(|_, event| {
            if let Event::Query(query) = event {
                let text = String::from_utf8_lossy(&query.text).into_owned();
                let word = text
                    .split_whitespace()
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                let is_control = ["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "XA"];
                assert!(is_control.contains(&word.as_str()), "{text}");
            }
        });
        assert!(everything.filtered.dropped > 0 || everything.whole.is_empty());
    }
}

#[test]
fn rows_of_one_kind_are_dropped_and_the_others_stay() {
    for file in files().iter().filter(|it| it.ends_with("bin.000001")) {
        let passed = filter(file, &[drops(&["shop.*"], &[FilteredChange::Delete])]).unwrap();
        passed.check(file);
        let types: BTreeSet<u8> = passed.bodies().iter().map(|it| it.0.0).collect();
        let of_kind = |first: EventType, second: EventType| {
            types.contains(&first.0) || types.contains(&second.0)
        };
        assert!(of_kind(EventType::WRITE_ROWS, EventType::WRITE_ROWS_V1));
        assert!(of_kind(EventType::UPDATE_ROWS, EventType::UPDATE_ROWS_V1));
        assert!(!of_kind(EventType::DELETE_ROWS, EventType::DELETE_ROWS_V1));
    }
}

#[test]
fn columns_are_dropped_nulled_replaced_and_hashed() {
    for file in files().iter().filter(|it| it.ends_with("bin.000001")) {
        let settings = ReplicationFilterConfig {
            columns_hashed: names(&["c"]),
            columns_null: names(&["d"]),
            columns_constant: names(&["g=gone"]),
            columns_dropped: names(&["i"]),
            ..on(&["shop.texts"])
        };
        let passed = filter(file, &[settings]).unwrap();
        passed.check(file);
        let mut seen = 0;
        passed.each(|raw, event| {
            let secret = |text: &[u8]| raw.bytes().windows(text.len()).any(|it| it == text);
            assert!(!secret(b"varchar") && !secret(b"long one") && !secret(b"medium"));
            let Event::Rows(rows, Some(table)) = event else {
                return;
            };
            if table.table != "texts" {
                return;
            }
            for change in rows.changes(table, Limits::default()).unwrap() {
                let row = change.unwrap().after.unwrap();
                let value = |name: &str| {
                    let is_it = |it: &binlog::Column| it.name.as_deref() == Some(name);
                    let index = table.columns.iter().position(is_it).unwrap();
                    row.values[index].clone()
                };
                if value("id") == Some(Value::Signed(1)) {
                    // sha256("a key" "varchar"), as long as the column.
                    let hash = Value::Text("f5fe46e03f47dbb70082".into());
                    assert_eq!(value("c"), Some(hash));
                    assert_eq!(value("g"), Some(Value::Text("gone".into())));
                    assert_eq!(value("a"), Some(Value::Text("abc".into())));
                }
                assert_eq!((value("d"), value("i")), (Some(Value::Null), None));
                seen += 1;
            }
        });
        assert_eq!(seen, 3);
    }
}

#[test]
fn columns_without_names_are_refused() {
    for file in files().iter().filter(|it| it.ends_with("bin.000003")) {
        let settings = ReplicationFilterConfig {
            columns_null: names(&["name"]),
            ..on(&["shop.*"])
        };
        let refused = filter(file, &[settings]).err().unwrap();
        let is_expected = matches!(refused, StreamError::Filter(FilterError::NoNames(_)));
        assert!(is_expected, "{refused}");
    }
}

#[test]
fn a_column_that_is_not_there_is_refused_for_one_table_and_passed_over_for_many() {
    for file in files().iter().filter(|it| it.ends_with("bin.000001")) {
        let settings = |tables: &[&str]| ReplicationFilterConfig {
            columns_null: names(&["email"]),
            ..on(tables)
        };
        let refused = filter(file, &[settings(&["shop.texts"])]).err().unwrap();
        let text = refused.to_string();
        assert_eq!(
            text,
            "table shop.texts has no column \"email\", which columns_null of its filter names"
        );
        filter(file, &[settings(&["shop.*"])]).unwrap().check(file);
        let key = ReplicationFilterConfig {
            columns_dropped: names(&["id"]),
            ..on(&["shop.texts"])
        };
        let refused = filter(file, &[key]).err().unwrap().to_string();
        assert!(refused.contains("primary key"), "{refused}");
    }
}

#[test]
fn a_compressed_transaction_is_unpacked_only_if_something_of_it_changes() {
    for file in files().iter().filter(|it| it.ends_with("bin.000004")) {
        let renamed = ReplicationFilterConfig {
            rename_schema: Some("store".to_owned()),
            ..on(&["shop.*"])
        };
        let passed = filter(file, &[renamed]).unwrap();
        passed.check(file);
        let mut schemas = BTreeSet::new();
        passed.each(|_, event| match event {
            Event::TableMap(map) => {
                schemas.insert(map.schema.clone());
            }
            Event::TransactionPayload(_) => panic!("it is still compressed"),
            _ => {}
        });
        assert_eq!(Vec::from_iter(schemas), ["store"]);
    }
}

/// One statement changes rows of two tables, and the filter drops the last of the rows.
#[test]
fn the_last_rows_that_pass_end_their_statement() {
    for file in files().iter().filter(|it| it.ends_with("bin.000001")) {
        let all = statement_for_two_tables(file);
        let passed = filter_events(file, &all, &[drops(&["shop.times"], &[])]).unwrap();
        let (mut tables, mut ends) = (Vec::new(), Vec::new());
        passed.each(|_, event| match event {
            Event::TableMap(map) => tables.push(map.table.clone()),
            Event::Rows(rows, _) => ends.push(rows.ends_statement()),
            _ => {}
        });
        assert_eq!((tables, ends), (vec!["numbers".to_owned()], vec![true]));
        let both = filter_events(file, &all, &[drops(&["shop.other"], &[])]).unwrap();
        let mut ends = Vec::new();
        both.each(|_, event| {
            if let Event::Rows(rows, _) = event {
                ends.push(rows.ends_statement());
            }
        });
        assert_eq!(ends, [false, true]);
    }
}

/// A transaction of a file. Its only statement inserts rows into `numbers` and `times`.
fn statement_for_two_tables(file: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(file).unwrap();
    let mut reader = EventReader::new(&*bytes, Limits::default());
    let mut decoder = Decoder::new(Limits::default());
    let (mut front, mut maps, mut rows, mut end) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut gtid = Vec::new();
    while let Some((_, raw)) = reader.next_event().unwrap() {
        let event = raw.bytes().to_vec();
        match decoder.decode(&raw).unwrap() {
            Event::FormatDescription(_) => front.push(event),
            Event::MysqlGtid(_) | Event::MariadbGtid(_) if rows.is_empty() => gtid = vec![event],
            Event::Query(query) if rows.is_empty() && *query.text == *b"BEGIN" => gtid.push(event),
            Event::TableMap(map) if ["numbers", "times"].contains(&&*map.table) => maps.push(event),
            Event::Rows(insert, Some(map))
                if insert.kind == RowsKind::Write
                    && ["numbers", "times"].contains(&&*map.table) =>
            {
                rows.push(event);
                if rows.len() == 1 {
                    front.append(&mut gtid);
                }
            }
            Event::Xid(_) if rows.len() == 2 && end.is_empty() => end.push(event),
            _ => {}
        }
    }
    // The table maps come from the two INSERT statements.
    let maps = [maps.first().unwrap().clone(), maps.last().unwrap().clone()];
    let flags = binlog::HEADER_BYTES + 6;
    rows[0][flags] &= !1;
    let mut all = [front, maps.to_vec(), rows, end].concat();
    // The events have no position in a log, so they may come in any order.
    let position = 13..17;
    all.iter_mut().for_each(|it| it[position.clone()].fill(0));
    all
}

#[test]
fn a_long_transaction_is_gathered_in_a_file() {
    let file = files().remove(0);
    let bytes = std::fs::read(&file).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut spool = super::super::spool::Spool::new(folder.path());
    let mut reader = EventReader::new(&*bytes, Limits::default());
    let (_, raw) = reader.next_event().unwrap().unwrap();
    let long = vec![7; 1 << 20];
    for _ in 0..10 {
        spool.push(raw.header(), &long).unwrap();
    }
    let (mut count, mut last) = (0, false);
    spool
        .drain(|raw, is_last| {
            assert_eq!(raw.body(), long);
            count += 1;
            last = is_last;
            Ok(())
        })
        .unwrap();
    assert_eq!((count, last), (10, true));
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}
