//! Row images of tables that real servers have described, and documents of MySQL's type JSON with their changes.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use binlog::{
    Checksum, ColumnType, Decoder, Event, EventFlags, EventHeader, EventReader, EventType, Limits,
    RawEvent, Value, apply_changes, describe_row, put_event,
};

use crate::binlog::{LIMITS, capture, first_event};
use crate::input::Input;

/// The number of tables of a server's file that are used. A byte of the input chooses one.
const TABLES_MAX: usize = 256;

/// The events by which servers describe their tables, of MySQL and of MariaDB.
static TABLES: LazyLock<[Vec<Vec<u8>>; 2]> = LazyLock::new(|| [false, true].map(tables));

fn tables(is_mariadb: bool) -> Vec<Vec<u8>> {
    let mut reader = EventReader::new(capture(is_mariadb), Limits::default());
    let mut tables = Vec::new();
    while let Ok(Some((_, raw))) = reader.next_event() {
        if raw.header().event_type == EventType::TABLE_MAP && tables.len() < TABLES_MAX {
            tables.push(raw.bytes().to_vec());
        }
    }
    assert!(!tables.is_empty(), "the file has tables");
    tables
}

/// Returns the types of row events that servers of the family write.
fn types(is_mariadb: bool) -> &'static [EventType] {
    match is_mariadb {
        true => &[
            EventType::WRITE_ROWS_V1,
            EventType::UPDATE_ROWS_V1,
            EventType::DELETE_ROWS_V1,
            EventType::WRITE_ROWS_COMPRESSED_V1,
            EventType::UPDATE_ROWS_COMPRESSED_V1,
            EventType::DELETE_ROWS_COMPRESSED_V1,
        ],
        false => &[
            EventType::WRITE_ROWS,
            EventType::UPDATE_ROWS,
            EventType::DELETE_ROWS,
            EventType::PARTIAL_UPDATE_ROWS,
        ],
    }
}

/// Returns the length of the head before the number of columns: table, flags, and on MySQL empty extra data.
fn head_bytes(is_mariadb: bool) -> usize {
    match is_mariadb {
        true => 8,
        false => 10,
    }
}

/// `family:1 table:1 type:1`, then the number of columns, the bitmaps and the rows.
pub fn row_images(data: &[u8]) {
    let mut input = Input::new(data);
    let is_mariadb = input.u8() & 1 == 1;
    let tables = &TABLES[usize::from(is_mariadb)];
    let table = &tables[usize::from(input.u8()) % tables.len()];
    let types = types(is_mariadb);
    let event_type = types[usize::from(input.u8()) % types.len()];
    let raw = RawEvent::parse(table, Checksum::Crc32).expect("a server wrote it");
    let id: [u8; 6] = raw.body()[..6].try_into().expect("it has an id");
    let mut decoder = decoder(is_mariadb);
    decoder.decode(&raw).expect("a server wrote it");
    let body = rows_body(id, is_mariadb, input.rest());
    print_rows(&mut decoder, event_type, &body, &mut |_| {});
}

/// The tables and rows of the captured files.
pub(crate) fn row_image_seeds() -> Vec<Vec<u8>> {
    let mut seeds = BTreeSet::new();
    for is_mariadb in [false, true] {
        let mut reader = EventReader::new(capture(is_mariadb), Limits::default());
        let mut tables = 0_usize;
        while let Ok(Some((_, raw))) = reader.next_event() {
            let event_type = raw.header().event_type;
            tables += usize::from(event_type == EventType::TABLE_MAP);
            let number = types(is_mariadb).iter().position(|it| *it == event_type);
            let (Some(number), 1..=TABLES_MAX) = (number, tables) else {
                continue;
            };
            let head = [u8::from(is_mariadb), (tables - 1) as u8, number as u8];
            let rows = raw.body().get(head_bytes(is_mariadb)..);
            seeds.insert([&head[..], rows.unwrap_or_default()].concat());
        }
    }
    seeds.into_iter().collect()
}

/// `length:2 document changes`: an update of a document in part.
pub fn json_documents(data: &[u8]) {
    const ID: [u8; 6] = [1, 0, 0, 0, 0, 0];
    let mut input = Input::new(data);
    let length = usize::from(input.u16());
    let document = input.bytes(length);
    let mut decoder = decoder(false);
    // One table `s.t` with one column, whose lengths have four bytes.
    let table = [
        &ID[..],
        &[1, 0, 1, b's', 0, 1, b't', 0, 1, ColumnType::JSON.0, 1, 4, 1],
    ]
    .concat();
    event(EventType::TABLE_MAP, &table, |raw| {
        decoder.decode(raw).expect("it is a table");
    });
    let with_length = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes(), bytes].concat();
    // One column in both images; no NULL; the second image has changes of the first JSON column.
    let rows = [
        &[1, 1, 1, 0][..],
        &with_length(document),
        &[1, 1, 0],
        &with_length(input.rest()),
    ]
    .concat();
    let body = rows_body(ID, false, &rows);
    let mut check = |row: binlog::RowChange<'_>| {
        let [before, after] = [row.before, row.after].map(first_value);
        let (Some(Value::Json(document)), Some(Value::JsonChanges(changes))) = (before, after)
        else {
            return;
        };
        if let Some(changed) = apply_changes(&document, &changes) {
            assert_json(&changed);
        }
    };
    print_rows(
        &mut decoder,
        EventType::PARTIAL_UPDATE_ROWS,
        &body,
        &mut check,
    );
}

fn first_value(row: Option<binlog::Row<'_>>) -> Option<Value<'_>> {
    row?.values.into_iter().next()?
}

/// `{"a": 1}` and its changes, one after another and each alone.
pub(crate) fn json_seeds() -> Vec<Vec<u8>> {
    const DOCUMENT: &[u8] = &[0, 1, 0, 12, 0, 11, 0, 1, 0, 5, 1, 0, b'a'];
    const CHANGES: [&[u8]; 4] = [
        b"\x00\x03$.a\x03\x05\x05\x00",
        b"\x01\x03$.b\x03\x05\x07\x00",
        b"\x01\x08$.\"a b\"[0]\x04\x0c\x02hi",
        b"\x02\x03$.a",
    ];
    let seed = |changes: &[u8]| {
        let length = (DOCUMENT.len() as u16).to_le_bytes();
        [&length, DOCUMENT, changes].concat()
    };
    let alone = CHANGES.iter().map(|it| seed(it));
    alone.chain([seed(&CHANGES.concat()), seed(b"")]).collect()
}

fn decoder(is_mariadb: bool) -> Decoder {
    let mut decoder = Decoder::new(LIMITS);
    let bytes = first_event(is_mariadb);
    let raw = RawEvent::parse(&bytes, Checksum::Crc32).expect("the event is whole");
    decoder.decode(&raw).expect("a server wrote it");
    decoder
}

/// Returns a body: the head before the number of columns, and the rest.
fn rows_body(id: [u8; 6], is_mariadb: bool, rest: &[u8]) -> Vec<u8> {
    let no_extra: &[u8] = match is_mariadb {
        true => &[],
        false => &[2, 0],
    };
    [&id[..], &[1, 0], no_extra, rest].concat()
}

/// Builds an event from a body.
fn event<T>(event_type: EventType, body: &[u8], take: impl FnOnce(&RawEvent<'_>) -> T) -> T {
    let header = EventHeader {
        time: 1,
        event_type,
        server_id: 1,
        length: 0,
        next_position: 0,
        flags: EventFlags(0),
    };
    let mut bytes = Vec::new();
    put_event(&mut bytes, &header, body, Checksum::Crc32).expect("it is short");
    let raw = RawEvent::parse(&bytes, Checksum::Crc32).expect("it was just written");
    take(&raw)
}

/// Reads the rows of an event until one cannot be read. Each row is JSON.
fn print_rows(
    decoder: &mut Decoder,
    event_type: EventType,
    body: &[u8],
    check: &mut dyn FnMut(binlog::RowChange<'_>),
) {
    event(event_type, body, |raw| {
        let Ok(Event::Rows(rows, Some(table))) = decoder.decode(raw) else {
            return;
        };
        let Ok(changes) = rows.changes(&table, LIMITS) else {
            return;
        };
        for change in changes.map_while(Result::ok).take(ROWS_MAX) {
            for row in [&change.before, &change.after].into_iter().flatten() {
                let mut json = String::new();
                describe_row(row, &table).put_json(&mut json);
                assert_json(&json);
            }
            check(change);
        }
    });
}

/// The number of rows that are read, at most. A limit is needed because a row of NULLs has few bytes.
const ROWS_MAX: usize = 1000;

fn assert_json(text: &str) {
    let read = serde_json::from_str::<serde_json::Value>(text);
    assert!(read.is_ok(), "{text}");
}
