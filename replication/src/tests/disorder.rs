use binlog::{Limits, Query, RawEvent};
use route::Family;

use super::*;
use crate::error::StreamError;
use crate::follow::{Brought, Follower, Statements};
use crate::position::Position;

struct Texts(Vec<String>);

impl Statements for Texts {
    fn statement(&mut self, _: &EventHeader, query: &Query<'_>) {
        self.0
            .push(String::from_utf8_lossy(&query.text).into_owned());
    }
}

/// The result of the last of these events, after a position in domain 0, and the statements of all events.
fn follow(behind: &str, events: &[Vec<u8>]) -> (Result<Brought, StreamError>, Vec<String>) {
    let position = Position::parse(Family::MariaDb, behind).unwrap();
    let mut follower = Follower::new(Limits::default());
    let mut texts = Texts(Vec::new());
    let format = format_event(Checksum::None);
    let raw = RawEvent::parse(&format, Checksum::Crc32).unwrap();
    let mut last = follower.take(&raw, &position, &mut texts);
    for bytes in events {
        assert!(last.is_ok(), "{last:?}");
        let raw = RawEvent::parse(bytes, Checksum::None).unwrap();
        last = follower.take(&raw, &position, &mut texts);
    }
    (last, texts.0)
}

const STANDALONE: u8 = MariadbGtidEvent::FLAG_STANDALONE;

#[test]
fn a_repeated_transaction_ends_the_replication_stream() {
    let (last, _) = follow("0-1-5", &[gtid(300, 5, STANDALONE)]);
    let text = last.unwrap_err().to_string();
    assert!(text.contains("0-1-5 again"), "{text}");
    let (last, texts) = follow(
        "0-1-5",
        &[gtid(300, 6, STANDALONE), query(400, "DROP TABLE t")],
    );
    assert!(matches!(last, Ok(Brought::Transaction(gtid)) if gtid.to_string() == "0-1-6"));
    assert_eq!(texts, ["DROP TABLE t"]);
}

#[test]
fn a_position_that_goes_backward_ends_the_stream() {
    let (last, _) = follow("", &[gtid(500, 1, STANDALONE), query(400, "DROP TABLE t")]);
    let text = last.unwrap_err().to_string();
    assert!(
        text.contains("position 400") && text.contains("500"),
        "{text}"
    );
}

#[test]
fn a_position_may_wrap_and_begins_anew_in_another_file() {
    let wrapped = [
        gtid(u32::MAX - 10, 1, STANDALONE),
        query(50, "DROP TABLE t"),
    ];
    assert!(follow("", &wrapped).0.is_ok());
    let mut rotate = 4_u64.to_le_bytes().to_vec();
    rotate.extend(b"bin.000002");
    let rotate = event(EventType::ROTATE, 600, &rotate, Checksum::None);
    let next_file = [
        gtid(500, 1, STANDALONE),
        query(550, "DROP TABLE t"),
        rotate,
        gtid(300, 2, 0),
    ];
    assert!(follow("", &next_file).0.is_ok());
}

#[test]
fn an_alter_that_only_begins_or_fails_is_no_change() {
    for flags in [
        MariadbGtidEvent::EXTRA_START_ALTER,
        MariadbGtidEvent::EXTRA_ROLLBACK_ALTER,
    ] {
        let event_of = MariadbGtidEvent {
            gtid: MariadbGtid {
                domain: 0,
                server: 1,
                sequence: 1,
            },
            flags: STANDALONE,
            commit_id: None,
            xid: None,
            extra_flags: flags,
            extra_engines: None,
            alter_start: (flags != MariadbGtidEvent::EXTRA_START_ALTER).then_some(1),
            thread_id: None,
        };
        let mut body = Vec::new();
        event_of.encode(&mut body);
        let begin = event(EventType::MARIADB_GTID, 300, &body, Checksum::None);
        let (last, texts) = follow("", &[begin, query(400, "ALTER TABLE t ADD a INT")]);
        assert!(matches!(last, Ok(Brought::Transaction(_))));
        assert!(texts.is_empty());
    }
}

#[test]
fn an_event_that_is_not_known_ends_the_stream_unless_it_may_be_skipped() {
    let unknown = event(EventType(99), 300, b"", Checksum::None);
    let text = follow("", &[unknown]).0.unwrap_err().to_string();
    assert!(text.contains("type 99"), "{text}");
    let header = EventHeader {
        time: 0,
        event_type: EventType(99),
        server_id: 1,
        length: 0,
        next_position: 300,
        flags: EventFlags::IGNORABLE,
    };
    let mut skipped = Vec::new();
    put_event(&mut skipped, &header, b"", Checksum::None).unwrap();
    assert!(matches!(follow("", &[skipped]).0, Ok(Brought::Nothing)));
}

#[test]
fn following_a_stream_does_not_decode_row_events() {
    // As rows, these bytes would be invalid.
    let rows = event(EventType::WRITE_ROWS_V1, 300, b"nonsense", Checksum::None);
    assert!(matches!(follow("", &[rows]).0, Ok(Brought::Nothing)));
}
