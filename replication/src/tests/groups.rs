use binlog::{Decoder, Event, Limits, MysqlGtidEvent, RawEvent};

use super::*;
use binlog::{GroupStep, GroupTracker};

/// The indexes of the events at which a transaction ends.
fn ends(events: &[Vec<u8>]) -> Vec<usize> {
    let mut decoder = Decoder::new(Limits::default());
    let format = format_event(Checksum::None);
    let raw = RawEvent::parse(&format, Checksum::Crc32).unwrap();
    decoder.decode(&raw).unwrap();
    let mut tracker = GroupTracker::default();
    let mut places = Vec::new();
    for (place, bytes) in events.iter().enumerate() {
        let raw = RawEvent::parse(bytes, Checksum::None).unwrap();
        let event = decoder.decode(&raw).unwrap();
        if matches!(tracker.take(&event), GroupStep::Ends(_)) {
            places.push(place);
        }
    }
    places
}

fn xid() -> Vec<u8> {
    event(EventType::XID, 0, &[0; 8], Checksum::None)
}

fn mysql_gtid() -> Vec<u8> {
    let mut body = vec![0];
    body.extend([7; 16]);
    body.extend(5_u64.to_le_bytes());
    event(EventType::GTID, 0, &body, Checksum::None)
}

const STANDALONE: u8 = MariadbGtidEvent::FLAG_STANDALONE;

#[test]
fn transactions_of_mariadb_end_where_they_are_whole() {
    let cases: &[(&[Vec<u8>], &[usize])] = &[
        (
            &[gtid(0, 1, STANDALONE), query(0, "CREATE TABLE t (a INT)")],
            &[1],
        ),
        (
            &[gtid(0, 1, 0), query(0, "INSERT INTO t VALUES (1)"), xid()],
            &[2],
        ),
        (
            &[
                gtid(0, 1, 0),
                query(0, "INSERT INTO t VALUES (1)"),
                query(0, "COMMIT"),
            ],
            &[2],
        ),
        (
            &[gtid(0, 1, 0), query(0, "CREATE TABLE t (a INT)"), xid()],
            &[2],
        ),
        (
            &[gtid(0, 1, 0), query(0, "SAVEPOINT a"), query(0, "rollback")],
            &[2],
        ),
        (&[query(0, "CREATE TABLE t (a INT)")], &[]),
    ];
    for (events, places) in cases {
        assert_eq!(ends(events), *places);
    }
}

#[test]
fn transactions_of_mysql_end_where_they_are_whole() {
    let cases: &[(&[Vec<u8>], &[usize])] = &[
        (&[mysql_gtid(), query(0, "CREATE TABLE t (a INT)")], &[1]),
        (
            &[mysql_gtid(), query(0, "BEGIN"), query(0, "INSERT"), xid()],
            &[3],
        ),
        (&[mysql_gtid(), query(0, "BEGIN"), query(0, "COMMIT")], &[2]),
        (
            &[
                mysql_gtid(),
                query(0, "CREATE TABLE t (a INT) START TRANSACTION"),
                xid(),
            ],
            &[2],
        ),
        (
            &[
                mysql_gtid(),
                query(0, "XA START X'31',X'',1"),
                query(0, "XA END X'31',X'',1"),
            ],
            &[],
        ),
        (&[mysql_gtid(), query(0, "XA COMMIT X'31',X'',1")], &[1]),
    ];
    for (events, places) in cases {
        assert_eq!(ends(events), *places);
    }
}

#[test]
fn an_anonymous_transaction_has_no_end_that_counts() {
    let mut tracker = GroupTracker::default();
    let begin = Event::MysqlGtid(MysqlGtidEvent::default());
    assert_eq!(tracker.take(&begin), GroupStep::Within);
    assert_eq!(tracker.take(&Event::Xid(1)), GroupStep::Within);
}
