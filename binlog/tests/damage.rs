//! Damaged, shortened and made-up events give an error that names the fault, and never a panic.

use pilotfish_binlog::{
    Checksum, Decoder, Event, EventError, EventFlags, EventHeader, EventReader, EventType, Fault,
    Limits, RawEvent, describe, describe_row, put_event,
};
use proptest::prelude::*;

use crate::captures::{events, files};

/// Decodes an event to its last value.
fn read(decoder: &mut Decoder, bytes: &[u8]) -> Result<(), EventError> {
    let raw = RawEvent::parse(bytes, Checksum::None)?;
    let event = decoder.decode(&raw)?;
    let _ = describe(raw.header(), &event).to_string();
    match &event {
        Event::Rows(rows, Some(table)) => {
            for change in rows.changes(table, decoder.limits())? {
                let change = change?;
                for row in [change.before, change.after].into_iter().flatten() {
                    let mut text = String::new();
                    describe_row(&row, table).put_json(&mut text);
                    serde_json::from_str::<serde_json::Value>(&text).unwrap();
                }
            }
        }
        Event::TransactionPayload(payload) => {
            let mut within = payload.events(decoder.limits())?;
            while let Some(bytes) = within.next_event()? {
                let raw = RawEvent::parse(bytes, Checksum::None)?;
                decoder.decode_within(&raw)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// An event without its checksum, and with its length corrected.
fn without_checksum(checksum: Checksum, bytes: &[u8]) -> Vec<u8> {
    let raw = RawEvent::parse(bytes, checksum).unwrap();
    let mut plain = Vec::new();
    put_event(&mut plain, raw.header(), raw.body(), Checksum::None).unwrap();
    plain
}

fn small_limits() -> Limits {
    Limits {
        event_bytes_max: 1 << 20,
        inflated_bytes_max: 1 << 20,
    }
}

#[test]
fn no_event_that_ends_too_early_is_a_panic() {
    for path in files() {
        let file = std::fs::read(&path).unwrap();
        let mut decoder = Decoder::new(small_limits());
        for (checksum, bytes) in events(&file) {
            let whole = without_checksum(checksum, &bytes);
            let raw = RawEvent::parse(&whole, Checksum::None).unwrap();
            let is_format = raw.header().event_type == EventType::FORMAT_DESCRIPTION;
            for length in 0..raw.body().len() {
                let mut short = Vec::new();
                put_event(
                    &mut short,
                    raw.header(),
                    &raw.body()[..length],
                    Checksum::None,
                )
                .unwrap();
                if !is_format {
                    let _ = read(&mut decoder, &short);
                }
            }
            // The decoder reads the whole event too, because it may be a table map.
            let _ = read(&mut decoder, &whole);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 300 } else { 3000 }))]

    #[test]
    fn no_byte_that_is_changed_is_a_panic(
        file in 0..14_usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let file = std::fs::read(&files()[file]).unwrap();
        let mut all: Vec<Vec<u8>> = events(&file)
            .iter()
            .map(|(checksum, bytes)| without_checksum(*checksum, bytes))
            .collect();
        for (event, byte, value) in changes {
            let event = event.index(all.len());
            let bytes = &mut all[event];
            // The length in the header stays, because the decoder would not read an event of another length.
            let at = 19 + byte.index(bytes.len() - 19 + 1);
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        let mut decoder = Decoder::new(small_limits());
        for bytes in &all {
            let _ = read(&mut decoder, bytes);
        }
    }
}

#[test]
fn a_changed_byte_fails_the_checksum_with_the_position() {
    let file = std::fs::read(&files()[0]).unwrap();
    let mut reader = EventReader::new(&file[..], Limits::default());
    reader.next_event().unwrap();
    let (position, _) = reader.next_event().unwrap().unwrap();
    let mut damaged = file.clone();
    damaged[position as usize + 19] ^= 1;
    let mut reader = EventReader::new(&damaged[..], Limits::default());
    reader.next_event().unwrap();
    let error = reader.next_event().unwrap_err();
    assert_eq!(error.position, position);
    assert!(
        matches!(error.fault, Fault::Event(EventError::Checksum { .. })),
        "{error}"
    );
}

#[test]
fn a_file_that_ends_within_an_event_is_reported_with_the_position() {
    let file = std::fs::read(&files()[0]).unwrap();
    let mut reader = EventReader::new(&file[..], Limits::default());
    let mut last = 0;
    while let Some((position, _)) = reader.next_event().unwrap() {
        last = position;
    }
    for length in [last as usize + 3, last as usize + 19, file.len() - 1] {
        let mut reader = EventReader::new(&file[..length], Limits::default());
        let error = loop {
            match reader.next_event() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the end was not missed"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.position, last);
        assert!(matches!(error.fault, Fault::Truncated { .. }), "{error}");
    }
}

#[test]
fn files_of_another_format_and_encrypted_files_are_refused() {
    let fault = |bytes: &[u8]| {
        EventReader::new(bytes, Limits::default())
            .next_event()
            .unwrap_err()
    };
    assert!(matches!(fault(b"SQLite format 3").fault, Fault::NotBinlog));
    assert!(matches!(fault(b"").fault, Fault::NotBinlog));
    assert!(matches!(
        fault(b"\xfdbin and so on").fault,
        Fault::Encrypted
    ));
}

/// Lets a decoder that knows MariaDB's event layout decode one event.
fn decode(event_type: EventType, flags: EventFlags, body: &[u8]) -> Result<String, EventError> {
    let file = std::fs::read(&files()[0]).unwrap();
    let mut decoder = Decoder::new(small_limits());
    let (checksum, bytes) = &events(&file)[0];
    decoder
        .decode(&RawEvent::parse(bytes, *checksum).unwrap())
        .unwrap();
    let header = EventHeader {
        time: 0,
        event_type,
        server_id: 1,
        length: 0,
        next_position: 0,
        flags,
    };
    let mut event = Vec::new();
    put_event(&mut event, &header, body, Checksum::Crc32).unwrap();
    let raw = RawEvent::parse(&event, Checksum::Crc32).unwrap();
    raw.verify().unwrap();
    decoder.decode(&raw).map(|event| format!("{event:?}"))
}

#[test]
fn an_unknown_event_is_skipped_only_if_it_may_be() {
    let unknown = EventType(99);
    let skipped = decode(unknown, EventFlags::IGNORABLE, b"whatever");
    assert_eq!(skipped, Ok("Ignored".to_owned()));
    let error = decode(unknown, EventFlags::default(), b"whatever");
    assert_eq!(error, Err(EventError::UnknownType(99)));
    let encrypted = decode(EventType::START_ENCRYPTION, EventFlags::default(), &[0; 17]);
    assert_eq!(encrypted, Err(EventError::Encrypted));
    let old = decode(EventType::WRITE_ROWS_V0, EventFlags::default(), &[0; 17]);
    assert_eq!(old, Err(EventError::Obsolete(EventType::WRITE_ROWS_V0)));
}

#[test]
fn rows_without_a_table_map_are_an_error() {
    let body = [7, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 5];
    let error = decode(EventType::WRITE_ROWS_V1, EventFlags::default(), &body);
    assert_eq!(error, Err(EventError::UnknownTable(7)));
    let end = [0xff, 0xff, 0xff, 0, 0, 0, 1, 0, 0];
    assert!(decode(EventType::WRITE_ROWS_V1, EventFlags::default(), &end).is_ok());
}

#[test]
fn events_that_only_streams_and_groups_have_are_read() {
    let told = |event_type, body: &[u8]| decode(event_type, EventFlags::default(), body).unwrap();
    let heartbeat = told(
        EventType::HEARTBEAT_V2,
        b"\x01\x05bin.1\x02\x09\xfe\0\0\0\0\x01\0\0\0\0",
    );
    assert!(heartbeat.contains("Some(4294967296)"), "{heartbeat}");
    assert!(told(EventType::HEARTBEAT, b"bin.1").contains("position: None"));
    assert!(told(EventType::INCIDENT, b"\x01\0\x04lost").contains("number: 1"));
    let view = [&[b'v'; 40][..], &7_u64.to_le_bytes(), &2_u32.to_le_bytes()].concat();
    assert!(told(EventType::VIEW_CHANGE, &view).contains("sequence: 7, entries: 2"));
    assert!(told(EventType::ANONYMOUS_GTID, &[0; 25]).contains("number: 0"));
}

#[test]
fn the_fragments_of_a_rows_event_become_the_event() {
    let file = std::fs::read(&files()[0]).unwrap();
    let mut decoder = Decoder::new(small_limits());
    let mut seen = 0;
    for (checksum, bytes) in events(&file) {
        let plain = without_checksum(checksum, &bytes);
        let raw = RawEvent::parse(&plain, Checksum::None).unwrap();
        if raw.header().event_type != EventType::WRITE_ROWS_V1 {
            decoder.decode(&raw).unwrap();
            continue;
        }
        let pieces: Vec<&[u8]> = plain.chunks(plain.len().div_ceil(3)).collect();
        for (index, piece) in pieces.iter().enumerate() {
            let mut body = (pieces.len() as u32).to_le_bytes().to_vec();
            body.extend((index as u32 + 1).to_le_bytes());
            body.push(u8::from(index == 0));
            if index == 0 {
                body.extend((plain.len() as u64).to_le_bytes());
            }
            body.extend(*piece);
            let header = EventHeader {
                event_type: EventType::PARTIAL_ROW_DATA,
                ..*raw.header()
            };
            let mut event = Vec::new();
            put_event(&mut event, &header, &body, Checksum::None).unwrap();
            let event = RawEvent::parse(&event, Checksum::None).unwrap();
            match decoder.decode(&event).unwrap() {
                Event::RowsFragment(_) => assert!(index + 1 < pieces.len()),
                Event::Rows(rows, Some(table)) => {
                    assert_eq!(index + 1, pieces.len());
                    seen += rows.changes(&table, small_limits()).unwrap().count();
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn a_compressed_event_that_says_or_becomes_too_much_is_refused() {
    // Post-header of a QUERY event without schema and status variables, and the end of the schema's name.
    let mut body = vec![0; 14];
    let query = |body: &[u8]| decode(EventType::QUERY_COMPRESSED, EventFlags::default(), body);
    body.extend([0x84, 0x40, 0, 0, 0]);
    let error = Err(EventError::Inflated {
        item: "statement",
        limit: 1 << 20,
    });
    assert_eq!(query(&body), error);
    // The event states 3 bytes, but its content decompresses to a million bytes.
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, &[b'x'; 1_000_000]).unwrap();
    let bomb = encoder.finish().unwrap();
    body.truncate(14);
    body.extend([0x81, 3]);
    body.extend(&bomb);
    assert_eq!(query(&body), Err(EventError::Compression("statement")));
}

#[test]
fn a_payload_is_read_no_further_than_it_says() {
    let events = [0_u8; 1 << 16];
    let packed = zstd::encode_all(&events[..], 3).unwrap();
    // The body: its length, zstd, 19 bytes uncompressed.
    let mut body = vec![1, 3, 0xfc];
    body.extend((packed.len() as u16).to_le_bytes());
    body.extend([2, 1, 0, 3, 1, 19, 0]);
    body.extend(&packed);
    let file = std::fs::read(&files()[0]).unwrap();
    let mut decoder = Decoder::new(small_limits());
    let (checksum, format) = &crate::captures::events(&file)[0];
    decoder
        .decode(&RawEvent::parse(format, *checksum).unwrap())
        .unwrap();
    let header = EventHeader {
        event_type: EventType::TRANSACTION_PAYLOAD,
        ..*RawEvent::parse(format, *checksum).unwrap().header()
    };
    let mut event = Vec::new();
    put_event(&mut event, &header, &body, Checksum::None).unwrap();
    let raw = RawEvent::parse(&event, Checksum::None).unwrap();
    let Event::TransactionPayload(payload) = decoder.decode(&raw).unwrap() else {
        panic!("it is a payload");
    };
    // An event header of zero bytes has the length 0.
    let mut within = payload.events(small_limits()).unwrap();
    assert!(within.next_event().is_err());
    assert_eq!(within.next_event(), Ok(None));
}
