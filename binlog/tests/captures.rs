//! Files that servers wrote: every event is read, and written again byte for byte; what the rows hold is what was
//! inserted. `captures/README.md` says how the files were made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pilotfish_binlog::{
    Checksum, Decoder, Event, EventReader, EventType, Limits, RawEvent, describe, describe_row,
    put_event,
};
use serde_json::Value;

/// Every captured file.
pub fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let mut files = Vec::new();
    for server in std::fs::read_dir(root).unwrap() {
        let server = server.unwrap().path();
        if server.is_dir() {
            let entries = std::fs::read_dir(server).unwrap();
            files.extend(entries.map(|it| it.unwrap().path()));
        }
    }
    files.sort();
    assert!(files.len() >= 14, "{files:?}");
    files
}

/// The events of a file as bytes, each with what ends it.
pub fn events(file: &[u8]) -> Vec<(Checksum, Vec<u8>)> {
    let mut reader = EventReader::new(file, Limits::default());
    let mut events = Vec::new();
    while let Some((_, event)) = reader.next_event().unwrap() {
        events.push((event.checksum(), event.bytes().to_vec()));
    }
    events
}

/// A file's events as JSON, with rows, and with the events of payloads behind them.
fn described(server: &str, number: usize) -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let file = root.join(server).join(format!("bin.{number:06}"));
    let file = std::fs::read(file).unwrap();
    let mut decoder = Decoder::new(Limits::default());
    let mut found = Vec::new();
    for (checksum, bytes) in events(&file) {
        let raw = RawEvent::parse(&bytes, checksum).unwrap();
        let event = decoder.decode(&raw).unwrap();
        found.push(json(&raw, &event));
        let Event::TransactionPayload(payload) = &event else {
            continue;
        };
        let mut within = payload.events(Limits::default()).unwrap();
        while let Some(bytes) = within.next_event().unwrap() {
            let raw = RawEvent::parse(bytes, Checksum::None).unwrap();
            let event = decoder.decode_within(&raw).unwrap();
            found.push(json(&raw, &event));
        }
    }
    found
}

fn json(raw: &RawEvent<'_>, event: &Event<'_>) -> Value {
    let mut text = String::new();
    describe(raw.header(), event).put_json(&mut text);
    let mut value: Value = serde_json::from_str(&text).unwrap();
    if let Event::Rows(rows, Some(table)) = event {
        let mut list = Vec::new();
        for change in rows.changes(table, Limits::default()).unwrap() {
            let change = change.unwrap();
            let mut images = BTreeMap::new();
            for (name, row) in [("before", change.before), ("after", change.after)] {
                if let Some(row) = row {
                    let mut text = String::new();
                    describe_row(&row, table).put_json(&mut text);
                    images.insert(name, serde_json::from_str::<Value>(&text).unwrap());
                }
            }
            list.push(serde_json::to_value(images).unwrap());
        }
        value["rows"] = Value::Array(list);
    }
    value
}

#[test]
fn every_event_is_written_again_byte_for_byte() {
    for path in files() {
        let file = std::fs::read(&path).unwrap();
        let mut again = b"\xfebin".to_vec();
        for (checksum, bytes) in events(&file) {
            let raw = RawEvent::parse(&bytes, checksum).unwrap();
            let start = again.len();
            put_event(&mut again, raw.header(), raw.body(), checksum).unwrap();
            if raw.header().event_type == EventType::FORMAT_DESCRIPTION {
                // The file was open when the server closed its copy; the flag is not summed.
                assert_eq!(raw.verify(), Ok(()));
            }
            assert_eq!(again[start..], bytes, "{}", path.display());
        }
        assert_eq!(again, file, "{}", path.display());
    }
}

#[test]
fn bodies_that_can_be_made_are_those_of_the_servers() {
    let mut made = BTreeMap::<String, usize>::new();
    for path in files() {
        let file = std::fs::read(&path).unwrap();
        let mut decoder = Decoder::new(Limits::default());
        for (checksum, bytes) in events(&file) {
            let raw = RawEvent::parse(&bytes, checksum).unwrap();
            let mut body = Vec::new();
            match decoder.decode(&raw).unwrap() {
                Event::FormatDescription(it) => it.encode(&mut body),
                Event::Rotate(it) => it.encode(&mut body),
                Event::MariadbGtid(it) => it.encode(&mut body),
                Event::GtidList(it) => it.encode(&mut body),
                Event::PreviousGtids(it) => it.encode(&mut body),
                _ => continue,
            }
            let name = raw.header().event_type.to_string();
            assert_eq!(body, raw.body(), "{name} of {}", path.display());
            *made.entry(name).or_default() += 1;
        }
    }
    let names: Vec<&str> = made.keys().map(String::as_str).collect();
    let expected = [
        "FORMAT_DESCRIPTION",
        "GTID_LIST",
        "MARIADB_GTID",
        "PREVIOUS_GTIDS",
        "ROTATE",
    ];
    assert_eq!(names, expected);
}

#[test]
fn dump() {
    for (server, n) in [("mariadb-10.11", 5), ("mariadb-11.8", 4), ("mysql-9.7", 5)] {
        for number in 1..=n {
            for event in described(server, number) {
                println!("{server} {number} {event}");
            }
        }
    }
}
