//! Events of the captured files, rewritten: what stays the same is the same byte for byte.

use std::borrow::Cow;

use pilotfish_binlog::{
    ColumnClass, ColumnFate, ColumnRewrite, Decoder, Event, EventType, HEADER_BYTES, Limits,
    NewValue, OldValue, RawEvent, Row, RowsEvent, TableMap, Value, rename_table, rewrite_query,
    with_transaction_bytes,
};

use crate::captures::{events, files};

/// Each event of the captured files, with its decoder.
fn each(mut take: impl FnMut(&RawEvent<'_>, &Event<'_>, &Decoder)) {
    for path in files() {
        let file = std::fs::read(&path).unwrap();
        let mut decoder = Decoder::new(Limits::default());
        for (checksum, bytes) in events(&file) {
            let raw = RawEvent::parse(&bytes, checksum).unwrap();
            let event = decoder.decode(&raw).unwrap();
            take(&raw, &event, &decoder);
        }
    }
}

/// One fate for all columns but the first.
struct All(ColumnFate);

impl ColumnRewrite for All {
    fn fate(&self, column: usize) -> ColumnFate {
        if column == 0 {
            ColumnFate::Keep
        } else {
            self.0
        }
    }

    fn value(&self, _: usize, old: OldValue<'_>) -> NewValue<'_> {
        match old {
            OldValue::Bytes(_) => NewValue::Bytes(Cow::Borrowed(b"x")),
            OldValue::Integer(_) => NewValue::Integer(1),
            OldValue::Other => NewValue::Null,
        }
    }
}

fn is_compressed(event_type: EventType) -> bool {
    event_type >= EventType::WRITE_ROWS_COMPRESSED_V1
}

#[test]
fn rows_whose_columns_are_kept_have_the_servers_values() {
    let mut rows_seen = 0;
    each(|raw, event, _| {
        let Event::Rows(rows, Some(table)) = event else {
            return;
        };
        let event_type = raw.header().event_type;
        let kept = All(ColumnFate::Keep);
        let rewritten = rows.rewrite(event_type, table, &kept, Limits::default());
        let rewritten = rewritten.unwrap().unwrap();
        rows_seen += 1;
        let again = decode(&rewritten.body, rewritten.event_type);
        assert_eq!(values(&again, table), values(rows, table));
        if !is_compressed(event_type) {
            assert_eq!(rewritten.event_type, event_type);
            // MariaDB sets the bits of the NULLs' bitmap that belong to no column.
            assert_eq!(rewritten.body.len(), raw.body().len());
        }
    });
    assert!(rows_seen > 50, "{rows_seen}");
}

fn decode(body: &[u8], event_type: EventType) -> RowsEvent<'_> {
    let is_first_version = event_type <= EventType::DELETE_ROWS_V1;
    let post_header = if is_first_version { 8 } else { 10 };
    RowsEvent::decode(event_type, body, post_header, Limits::default()).unwrap()
}

/// The values of all images, as text.
fn values(rows: &RowsEvent<'_>, table: &TableMap) -> Vec<String> {
    let changes = rows.changes(table, Limits::default()).unwrap();
    let images = changes.flat_map(|it| {
        let change = it.unwrap();
        [change.before, change.after]
    });
    images.flatten().map(|it| format!("{it:?}")).collect()
}

/// Each row image of the captured files, rewritten with one fate for all columns but the first.
fn each_rewritten(fate: ColumnFate, mut take: impl FnMut(&TableMap, &Row<'_>)) {
    each(|raw, event, _| {
        let Event::Rows(rows, Some(table)) = event else {
            return;
        };
        let event_type = raw.header().event_type;
        let rewritten = rows.rewrite(event_type, table, &All(fate), Limits::default());
        // Images with less than all columns may be left with none.
        let Ok(Some(rewritten)) = rewritten else {
            return;
        };
        let again = decode(&rewritten.body, rewritten.event_type);
        for change in again.changes(table, Limits::default()).unwrap() {
            let change = change.unwrap();
            for row in [change.before, change.after].into_iter().flatten() {
                take(table, &row);
            }
        }
    });
}

#[test]
fn columns_that_are_omitted_are_in_no_image() {
    let mut seen = 0;
    each_rewritten(ColumnFate::Omit, |_, row| {
        seen += 1;
        assert!(row.values.iter().skip(1).all(Option::is_none), "{row:?}");
    });
    assert!(seen > 50, "{seen}");
}

#[test]
fn columns_that_are_replaced_have_the_new_values() {
    let (mut integers, mut texts) = (0, 0);
    each_rewritten(ColumnFate::Replace, |table, row| {
        for (column, value) in table.columns.iter().zip(&row.values).skip(1) {
            match (column.class(), value) {
                (_, None | Some(Value::Null)) => {}
                (ColumnClass::Integer(_), Some(value)) => {
                    integers += 1;
                    assert!(matches!(value, Value::Signed(1) | Value::Unsigned(1)));
                }
                (ColumnClass::Bytes(_), Some(Value::Text(text))) => {
                    texts += 1;
                    assert_eq!(text, "x");
                }
                (ColumnClass::Bytes(_), Some(Value::Bytes(bytes))) => {
                    texts += 1;
                    assert!(bytes.starts_with(b"x"), "{bytes:?}");
                }
                (class, value) => panic!("{class:?} {value:?}"),
            }
        }
    });
    assert!(integers > 30 && texts > 30, "{integers} {texts}");
}

#[test]
fn the_same_names_and_statements_make_the_same_bytes() {
    each(|raw, event, decoder| {
        let format = decoder.format().unwrap();
        match event {
            Event::TableMap(map) => {
                let post_header = format.post_header(EventType::TABLE_MAP);
                let same = rename_table(raw.body(), post_header, &map.schema, &map.table);
                assert_eq!(same.unwrap(), raw.body());
                let other = rename_table(raw.body(), post_header, "elsewhere", "t").unwrap();
                let other = TableMap::decode(&other, format).unwrap();
                assert_eq!((&*other.schema, &*other.table), ("elsewhere", "t"));
                assert_eq!(other.columns, map.columns);
            }
            Event::Query(query) if raw.header().event_type == EventType::QUERY => {
                let post_header = format.post_header(EventType::QUERY);
                let same = rewrite_query(raw.body(), post_header, query.schema, &query.text);
                assert_eq!(same.unwrap(), raw.body());
            }
            _ => {}
        }
    });
}

#[test]
fn the_length_of_a_transaction_is_put_as_the_server_puts_it() {
    let mut seen = 0;
    each(|raw, event, _| {
        let Event::MysqlGtid(gtid) = event else {
            return;
        };
        let own = (HEADER_BYTES + raw.body().len() + 4) as u64;
        let all = gtid.transaction_bytes.unwrap();
        let event_type = raw.header().event_type;
        let same = with_transaction_bytes(event_type, raw.body(), all - own).unwrap();
        assert_eq!(same, raw.body());
        for others in [0, 200, 70_000, 1 << 40] {
            let other = with_transaction_bytes(event_type, raw.body(), others).unwrap();
            let bytes = others + (HEADER_BYTES + other.len() + 4) as u64;
            let again = match event_type {
                EventType::GTID_TAGGED => pilotfish_binlog::MysqlGtidEvent::decode_tagged(&other),
                _ => pilotfish_binlog::MysqlGtidEvent::decode(&other),
            };
            let expected = pilotfish_binlog::MysqlGtidEvent {
                transaction_bytes: Some(bytes),
                ..gtid.clone()
            };
            assert_eq!(again.unwrap(), expected);
            seen += 1;
        }
    });
    assert!(seen > 100, "{seen}");
}
