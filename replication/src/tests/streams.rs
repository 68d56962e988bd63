use std::time::Duration;

use binlog::Limits;

use super::*;
use crate::error::StreamError;
use crate::event_stream::EventStream;

const LIMITS: Limits = Limits {
    event_bytes_max: 40 << 20,
    inflated_bytes_max: 40 << 20,
};

fn stream(limits: Limits) -> (EventStream, ScriptedServer) {
    let (client, server) = ScriptedServer::pair("10.11.14-MariaDB");
    let patience = Duration::from_secs(30);
    (
        EventStream::new(client, Checksum::None, limits, patience),
        server,
    )
}

async fn next_length(stream: &mut EventStream) -> Result<usize, String> {
    let event = stream.next().await;
    event
        .map(|raw| raw.bytes().len())
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn events_come_with_the_checksums_that_the_format_says() {
    let (mut stream, mut server) = stream(LIMITS);
    server.event(0, &format_event(Checksum::Crc32)).await;
    let good = event(EventType::XID, 300, &[1; 8], Checksum::Crc32);
    server.event(1, &good).await;
    let mut bad = good.clone();
    bad[20] ^= 1;
    server.event(2, &bad).await;
    assert!(next_length(&mut stream).await.is_ok());
    assert_eq!(next_length(&mut stream).await, Ok(good.len()));
    let text = next_length(&mut stream).await.unwrap_err();
    assert!(
        text.contains("XID event at 300") && text.contains("checksum"),
        "{text}"
    );
}

#[tokio::test]
async fn marks_of_semi_synchronous_replication_stand_in_front_of_events() {
    let xid = event(EventType::XID, 300, &[1; 8], Checksum::None);
    let marked = |flags: u8| [&[0, 0xef, flags][..], &xid].concat();
    let (plain, mut server) = stream(LIMITS);
    let mut stream_on = plain.semi_sync();
    // After each event that asks for an acknowledgement, the sequence id starts at 1 again.
    for (sequence, flags) in [(0, 0), (1, 0), (2, 1), (1, 1), (1, 0)] {
        server.packet(sequence, &marked(flags)).await;
    }
    server.event(2, &xid).await;
    for expected in [false, false, true, true, false] {
        let (raw, asks) = stream_on.next_with_ack_request().await.unwrap();
        assert_eq!((raw.bytes(), asks), (&xid[..], expected));
    }
    // A stream whose first event has a mark requires a mark on every event.
    let text = next_length(&mut stream_on).await.unwrap_err();
    assert!(text.contains("mark of semi-synchronous"), "{text}");

    // A server without semi-synchronous replication, and an event whose time begins like a mark.
    let (plain, mut server) = stream(LIMITS);
    let mut stream_off = plain.semi_sync();
    let mut odd = xid.clone();
    odd[0] = 0xef;
    server.event(0, &xid).await;
    server.event(1, &odd).await;
    for bytes in [&xid, &odd] {
        let (raw, asks) = stream_off.next_with_ack_request().await.unwrap();
        assert_eq!((raw.bytes(), asks), (&bytes[..], false));
    }
}

#[tokio::test]
async fn an_event_with_a_wrong_length_is_reported() {
    for change in [-1_i32, 1] {
        let (mut stream, mut server) = stream(LIMITS);
        let mut bytes = event(EventType::XID, 300, &[1; 8], Checksum::None);
        let length = (bytes.len() as i32 + change) as u32;
        bytes[9..13].copy_from_slice(&length.to_le_bytes());
        server.event(0, &bytes).await;
        let text = next_length(&mut stream).await.unwrap_err();
        assert!(text.contains("event length"), "{text}");
    }
}

#[tokio::test]
async fn an_event_of_several_packets_is_one() {
    const PACKET: usize = 0xff_ffff;
    // The status byte counts toward the first packet's length.
    for length in [PACKET - 2, PACKET - 1, PACKET, 2 * PACKET - 1, 2 * PACKET] {
        let (mut stream, mut server) = stream(LIMITS);
        let body = vec![7; length - binlog::HEADER_BYTES];
        let mut payload = vec![0];
        payload.extend(event(EventType::ANNOTATE_ROWS, 300, &body, Checksum::None));
        let sending = tokio::spawn(async move {
            let mut sequence = 0;
            for packet in payload.chunks(PACKET) {
                server.packet(sequence, packet).await;
                sequence += 1;
            }
            if payload.len() % PACKET == 0 {
                server.packet(sequence, &[]).await;
            }
            server
        });
        assert_eq!(next_length(&mut stream).await, Ok(length));
        drop(sending.await.unwrap());
    }
}

#[tokio::test]
async fn an_event_beyond_the_limit_ends_the_stream() {
    let (mut stream, mut server) = stream(Limits {
        event_bytes_max: 1000,
        inflated_bytes_max: 1000,
    });
    let long = event(EventType::ANNOTATE_ROWS, 300, &[7; 2000], Checksum::None);
    server.event(0, &long).await;
    let text = next_length(&mut stream).await.unwrap_err();
    assert!(text.contains("longer than 1001 bytes"), "{text}");
}

#[tokio::test]
async fn an_eof_or_error_of_the_server_ends_the_stream_with_its_cause() {
    let (mut ended, mut server) = stream(LIMITS);
    server.packet(0, &[0xfe, 0, 0, 0, 0]).await;
    assert!(matches!(ended.next().await, Err(StreamError::Ended)));

    let (mut displaced, mut server) = stream(LIMITS);
    let text =
        "A replica with the same server_uuid/server_id as this replica has connected to the source";
    server.error(0, 1236, text).await;
    let displaced = displaced.next().await.map(|_| ()).unwrap_err();
    assert_eq!(displaced.kind(), "displaced");
    assert!(displaced.to_string().contains(text), "{displaced}");

    let (mut refused, mut server) = stream(LIMITS);
    server.error(0, 1236, "Misconfigured source").await;
    let refused = refused.next().await.map(|_| ());
    assert!(
        matches!(refused, Err(StreamError::Refused { number: 1236, .. })),
        "{refused:?}"
    );

    let (mut purged, mut server) = stream(LIMITS);
    let text = "Could not find GTID state requested by slave in any binlog files";
    server.error(0, 1236, text).await;
    let purged = purged.next().await.map(|_| ()).unwrap_err().to_string();
    assert!(
        purged.contains("on_purged") && purged.contains(text),
        "{purged}"
    );

    let (mut closed, server) = stream(LIMITS);
    drop(server);
    assert!(matches!(closed.next().await, Err(StreamError::Client(_))));

    let (mut nonsense, mut server) = stream(LIMITS);
    server.packet(0, &[0x42]).await;
    let nonsense = nonsense.next().await.map(|_| ());
    assert!(
        matches!(nonsense, Err(StreamError::Event { .. })),
        "{nonsense:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_replication_stream_ends_if_the_server_is_silent() {
    let (mut stream, _server) = stream(LIMITS);
    assert!(matches!(stream.next().await, Err(StreamError::Silent(30))));
}

#[tokio::test]
async fn every_truncation_of_an_event_is_an_error() {
    let whole = event(EventType::XID, 300, &[1; 8], Checksum::None);
    for length in 0..whole.len() {
        let (mut stream, mut server) = stream(LIMITS);
        server.event(0, &whole[..length]).await;
        assert!(stream.next().await.is_err(), "{length}");
    }
}
