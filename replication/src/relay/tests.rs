//! A relay that is cut off at every byte, that skips transactions, that has a size limit, and that replicas read.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use binlog::{Checksum, EventType, Limits, RawEvent};
use route::Family;

use super::*;
use crate::follow::{Follower, Statements};
use crate::position::Position;
use crate::tests::{event, format_event, gtid, query};

/// A receiver of statements that ignores them.
struct Unread;

impl Statements for Unread {
    fn statement(&mut self, _: &binlog::EventHeader, _: &binlog::Query<'_>) {}
}

pub(crate) fn options(folder: &Path) -> RelayOptions {
    RelayOptions {
        folder: folder.to_owned(),
        server_id: 7,
        uuid: "00000000-0000-0000-0000-000000000007".to_owned(),
        bytes_max: 1 << 30,
        age_max: Duration::from_secs(3600),
        limits: Limits::default(),
        clock: system::Clock::new(Instant::now, SystemTime::now),
    }
}

fn at(text: &str) -> Position {
    Position::parse(Family::MariaDb, text).unwrap()
}

/// A transaction of several events, of about `bytes`.
pub(crate) fn transaction(sequence: u64, bytes: usize) -> Vec<Vec<u8>> {
    let text = format!("INSERT INTO a VALUES ('{}')", "x".repeat(bytes));
    vec![
        gtid(0, sequence, 0),
        query(0, &text),
        event(EventType::XID, 0, &[1; 8], Checksum::None),
    ]
}

/// Gives events to a relay, as a stream does.
pub(crate) fn write(relay: &mut RelayWriter, events: &[Vec<u8>]) {
    let log_file = match relay.log().has_started() {
        true => LogFile::Same,
        false => LogFile::New,
    };
    take(relay, events, log_file);
}

/// Whether the events come from the same log file of the server as those before.
#[derive(PartialEq)]
enum LogFile {
    Same,
    New,
}

fn take(relay: &mut RelayWriter, events: &[Vec<u8>], log_file: LogFile) {
    let mut follower = Follower::new(Limits::default());
    let format = format_event(Checksum::None);
    let raw = RawEvent::parse(&format, Checksum::Crc32).unwrap();
    let brought = follower.take(&raw, &at(""), &mut Unread).unwrap();
    if log_file == LogFile::New {
        relay.take(&raw, &brought).unwrap();
    }
    for bytes in events {
        let raw = RawEvent::parse(bytes, Checksum::None).unwrap();
        let brought = follower.take(&raw, &at(""), &mut Unread).unwrap();
        relay.take(&raw, &brought).unwrap();
        relay.sync_if_due().unwrap();
    }
}

/// The types of the events that a replica at position `had` gets, without the events of the files' heads.
fn read_from(log: &std::sync::Arc<RelayLog>, had: &str) -> Vec<EventType> {
    let mut reader = RelayReader::begin(log, at(had)).unwrap();
    let (mut out, mut types) = (Vec::new(), Vec::new());
    loop {
        out.clear();
        match reader.next(&mut out).unwrap() {
            Next::End => return types,
            Next::File(_) => {}
            Next::Event => {
                let raw = RawEvent::parse(&out, Checksum::Crc32).unwrap();
                raw.verify().unwrap();
                let found = raw.header().event_type;
                if ![EventType::FORMAT_DESCRIPTION, EventType::GTID_LIST].contains(&found) {
                    types.push(found);
                }
            }
        }
    }
}

#[test]
fn a_relay_that_is_cut_off_at_any_byte_has_whole_transactions_only() {
    let folder = tempfile::tempdir().unwrap();
    let mut relay = RelayWriter::open(options(folder.path()), &at("")).unwrap();
    let mut ends = Vec::new();
    for sequence in 1..=3 {
        write(&mut relay, &transaction(sequence, 10));
        relay.sync().unwrap();
        ends.push(relay.log().size().1);
    }
    drop(relay);
    let file = folder.path().join("pilotfish.000001");
    let whole = std::fs::read(&file).unwrap();
    assert_eq!(whole.len() as u64, ends[2]);
    for length in 0..=whole.len() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pilotfish.000001");
        std::fs::write(&path, &whole[..length]).unwrap();
        let relay = RelayWriter::open(options(folder.path()), &at("")).unwrap();
        let count = ends.iter().filter(|end| **end <= length as u64).count();
        let expected = match count {
            0 => String::new(),
            count => format!("0-1-{count}"),
        };
        assert_eq!(relay.log().position().to_string(), expected, "{length}");
        if relay.log().size().0 > 0 {
            assert_eq!(read_from(relay.log(), "").len(), count * 3, "{length}");
        }
        // The relay continues with the transactions that the stream sends again.
        let mut relay = relay;
        for sequence in 1..=4 {
            write(&mut relay, &transaction(sequence, 10));
        }
        relay.sync().unwrap();
        assert_eq!(read_from(relay.log(), "").len(), 4 * 3, "{length}");
    }
}

#[test]
fn a_transaction_that_has_only_begun_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut relay = RelayWriter::open(options(folder.path()), &at("")).unwrap();
    write(&mut relay, &transaction(1, 10));
    let long = transaction(2, 3 << 20);
    write(&mut relay, &long[..2]);
    relay.restart().unwrap();
    write(&mut relay, &transaction(2, 10));
    relay.sync().unwrap();
    assert_eq!(read_from(relay.log(), "").len(), 2 * 3);
    assert_eq!(read_from(relay.log(), "0-1-1").len(), 3);
    assert_eq!(read_from(relay.log(), "0-1-2").len(), 0);
}

#[test]
fn old_files_are_deleted_and_replicas_that_need_them_get_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(folder.path());
    options.bytes_max = 1 << 20;
    let mut relay = RelayWriter::open(options, &at("")).unwrap();
    for sequence in 1..=40 {
        write(&mut relay, &transaction(sequence, 100 << 10));
        relay.sync().unwrap();
        relay.sync_if_due().unwrap();
    }
    let (files, bytes) = relay.log().size();
    assert!(files > 2 && bytes < 2 << 20, "{files} files, {bytes} bytes");
    let deleted = relay.log().deleted();
    let start = RelayReader::begin(relay.log(), at("0-1-1")).err();
    assert_eq!(start, Some(Start::Deleted(deleted.clone())));
    let had = deleted.to_string();
    assert!(!read_from(relay.log(), &had).is_empty());
    let ahead = RelayReader::begin(relay.log(), at("0-1-41")).err();
    assert_eq!(ahead, Some(Start::Ahead(at("0-1-41"))));
}

#[test]
fn a_folder_has_one_writer_and_the_files_of_its_stream() {
    let folder = tempfile::tempdir().unwrap();
    let mut relay = RelayWriter::open(options(folder.path()), &at("")).unwrap();
    write(&mut relay, &transaction(1, 10));
    relay.sync().unwrap();
    let second = RelayWriter::open(options(folder.path()), &at("")).err();
    assert!(matches!(second, Some(RelayError::InUse(_))), "{second:?}");
    drop(relay);
    let behind = RelayWriter::open(options(folder.path()), &at("0-1-9")).err();
    assert!(
        matches!(behind, Some(RelayError::Behind { .. })),
        "{behind:?}"
    );
}

#[test]
fn transactions_of_another_log_file_of_the_server_begin_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut relay = RelayWriter::open(options(folder.path()), &at("")).unwrap();
    write(&mut relay, &transaction(1, 10));
    write(&mut relay, &transaction(2, 10));
    relay.sync().unwrap();
    assert_eq!(relay.log().size().0, 1);
    take(&mut relay, &transaction(3, 10), LogFile::New);
    relay.sync().unwrap();
    assert_eq!(relay.log().size().0, 2);
    assert_eq!(read_from(relay.log(), "").len(), 3 * 3);
    // A connection without a transaction leaves no file, and a restart of the proxy leaves no file.
    drop(relay);
    let mut relay = RelayWriter::open(options(folder.path()), &at("0-1-3")).unwrap();
    for _ in 0..3 {
        take(&mut relay, &[], LogFile::New);
    }
    assert_eq!(relay.log().size().0, 3);
}
