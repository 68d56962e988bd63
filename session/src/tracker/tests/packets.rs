//! Sequence ids and lengths of packets.

use super::script::{EOF_KEPT, LIMIT, Script};
use super::*;

#[test]
fn payloads_of_exactly_one_packet_are_continued_by_an_empty_one() {
    let script = Script::new(EOF_KEPT);
    let mut statement = vec![b' '; wire::PACKET_PAYLOAD_MAX];
    statement[0] = 3;
    let script = script.command(&statement).ok(2);
    assert!(script.play(1 << 16).0.is_idle());
}

#[test]
fn sequence_ids_must_follow() {
    let mut tracker = Script::new(EOF_KEPT).tracker();
    let violation = tracker.client_bytes(&mut [1, 0, 0, 7, 0x0e], |_| {});
    assert_eq!(
        violation,
        Err(Violation::Sequence {
            expected: 0,
            found: 7
        })
    );
    let mut tracker = Script::new(EOF_KEPT).tracker();
    tracker
        .client_bytes(&mut [1, 0, 0, 0, 0x0e], |_| {})
        .unwrap();
    let violation = tracker.backend_bytes(&mut [7, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0], |_| {});
    assert_eq!(
        violation,
        Err(Violation::Sequence {
            expected: 1,
            found: 5
        })
    );
}

#[test]
fn sequence_ids_are_written_anew_where_one_side_compresses() {
    let mut tracker = Tracker::new(
        EOF_KEPT,
        StatusFlags(2),
        Sequences::Renumbered,
        Pipelining::OneByOne,
        LIMIT,
    );
    let mut ping = [1, 0, 0, 9, 0x0e];
    tracker.client_bytes(&mut ping, |_| {}).unwrap();
    assert_eq!(ping[3], 0);
    let mut ok = [7, 0, 0, 44, 0, 0, 0, 2, 0, 0, 0];
    tracker.backend_bytes(&mut ok, |_| {}).unwrap();
    assert_eq!(ok[3], 1);
}

#[test]
fn the_first_packet_of_a_clients_frame_has_its_number() {
    let mut tracker = Tracker::new(
        EOF_KEPT,
        StatusFlags(2),
        Sequences::Renumbered,
        Pipelining::Deep,
        LIMIT,
    );
    tracker.client_bytes(&mut [1, 0, 0, 0, 3], |_| {}).unwrap();
    let mut packets = Vec::new();
    put_packets(&mut packets, 1, &[1]);
    put_packets(&mut packets, 2, b"\x03def");
    tracker.align(6);
    tracker.backend_bytes(&mut packets, |_| {}).unwrap();
    assert_eq!((packets[3], packets[8]), (6, 7));
    // Within a packet there is no sequence id to set.
    tracker.backend_bytes(&mut [5, 0], |_| {}).unwrap();
    tracker.align(40);
    let mut rest = [0, 3, 0xfe, 0, 0, 2, 0];
    tracker.backend_bytes(&mut rest, |_| {}).unwrap();
    assert_eq!(rest[1], 8);
}

#[test]
fn a_payload_beyond_the_limit_is_refused_before_it_has_passed() {
    let mut tracker = Tracker::new(
        EOF_KEPT,
        StatusFlags(2),
        Sequences::Checked,
        Pipelining::Deep,
        100,
    );
    let violation = tracker.client_bytes(&mut [101, 0, 0, 0, 3], |_| {});
    assert_eq!(violation, Err(Violation::PayloadTooLarge { limit: 100 }));
}

#[test]
fn truncated_replies_name_the_missing_item() {
    for length in 1..7 {
        let mut tracker = Script::new(EOF_KEPT).tracker();
        tracker
            .client_bytes(&mut [1, 0, 0, 0, 0x0e], |_| {})
            .unwrap();
        let mut reply = Vec::new();
        put_packets(&mut reply, 1, &[0, 0, 0, 2, 0, 0, 0][..length]);
        let violation = tracker.backend_bytes(&mut reply, |_| {});
        assert!(
            matches!(
                violation,
                Err(Violation::Malformed(wire::Malformed::Truncated(_)))
            ),
            "{length}"
        );
    }
}
