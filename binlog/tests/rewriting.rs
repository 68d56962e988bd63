//! Rewritten events of the captured files: unchanged parts are equal byte for byte.

use std::borrow::Cow;

use pilotfish_binlog::{
    Column, ColumnClass, ColumnFate, ColumnRewrite, ColumnType, Decoder, EditedRows, Event,
    EventError, EventType, HEADER_BYTES, ImageEdit, Limits, NewValue, OldValue, RawEvent, Row,
    RowFate, RowsEvent, TableMap, Value, rename_table, rewrite_query, with_transaction_bytes,
};

use crate::captures::{events, files};

/// Calls `take` with each event of the captured files and its decoder.
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

/// Rewrites all columns except the first one in the same way.
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
            // MariaDB sets the bits of the NULL bitmap that belong to no column.
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

/// Rewrites all columns except the first one in each row image of the captured files.
fn each_rewritten(fate: ColumnFate, mut take: impl FnMut(&TableMap, &Row<'_>)) {
    each(|raw, event, _| {
        let Event::Rows(rows, Some(table)) = event else {
            return;
        };
        let event_type = raw.header().event_type;
        let rewritten = rows.rewrite(event_type, table, &All(fate), Limits::default());
        // A row image that omits columns may have no column left.
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

/// Whether a value can be written again from its text.
fn can_be_put(column: &Column, value: &Value<'_>) -> bool {
    let has_no_text = matches!(column.column_type, ColumnType::JSON | ColumnType::VECTOR);
    // Bytes that are invalid in the column's character set.
    let is_text = column.collation.is_some_and(|it| it != 63);
    let is_odd = is_text && matches!(value, Value::Bytes(_));
    !(has_no_text || is_odd)
}

#[test]
fn values_that_are_put_from_their_texts_have_the_servers_bytes() {
    let (mut events, mut values_put) = (0, 0);
    let mut types = std::collections::BTreeSet::new();
    each(|raw, event, _| {
        let Event::Rows(rows, Some(table)) = event else {
            return;
        };
        if !table.has_names() {
            return;
        }
        let mut put = |row: &Option<Row<'_>>| -> ImageEdit {
            let mut edit = ImageEdit::new();
            let images = row.iter().flat_map(|it| it.values.iter().enumerate());
            for (index, value) in images {
                let column = &table.columns[index];
                let Some(value) = value.as_ref().filter(|it| can_be_put(column, it)) else {
                    continue;
                };
                let text = value.to_bytes().map(|it| it.into_owned());
                let bytes = text.map(|text| {
                    let mut bytes = Vec::new();
                    let done = column.put_value(&mut bytes, &text);
                    let shown = String::from_utf8_lossy(&text).into_owned();
                    done.unwrap_or_else(|error| panic!("{column:?} {shown}: {error}"));
                    bytes
                });
                types.insert(column.column_type.0);
                values_put += 1;
                edit.push((index, bytes));
            }
            edit
        };
        let edited = rows.edit(table, Limits::default(), |row| {
            let (before, after) = (put(&row.before), put(&row.after));
            Ok::<_, EventError>(RowFate::Change { before, after })
        });
        let EditedRows::Changed(edited) = edited.unwrap() else {
            return;
        };
        events += 1;
        let encoded = edited.encode(raw.header().event_type);
        let again = decode(&encoded.body, encoded.event_type);
        assert_eq!(values(&again, table), values(rows, table));
        let has_compressed = |it: &Column| {
            let compressed = [ColumnType::BLOB_COMPRESSED, ColumnType::VARCHAR_COMPRESSED];
            compressed.contains(&it.column_type)
        };
        let is_plain = !table.columns.iter().any(has_compressed);
        // A BINARY(n) is read with the trailing zero bytes that the server has removed.
        let is_binary =
            |it: &Column| it.column_type == ColumnType::STRING && it.collation == Some(63);
        if !is_compressed(raw.header().event_type)
            && is_plain
            && !table.columns.iter().any(is_binary)
        {
            assert_eq!(encoded.body.len(), raw.body().len(), "{}", table.table);
        }
    });
    assert!(events > 20 && values_put > 500, "{events} {values_put}");
    assert!(types.len() > 18, "{types:?}");
}

#[test]
fn rows_are_left_out_one_by_one() {
    let mut seen = 0;
    each(|_, event, _| {
        let Event::Rows(rows, Some(table)) = event else {
            return;
        };
        let all = values(rows, table);
        let mut number = 0;
        let edited = rows.edit(table, Limits::default(), |_| {
            number += 1;
            Ok::<_, EventError>(match number % 2 {
                0 => RowFate::Drop,
                _ => RowFate::Change {
                    before: ImageEdit::new(),
                    after: ImageEdit::new(),
                },
            })
        });
        match edited.unwrap() {
            EditedRows::Same => assert_eq!(number, 1),
            EditedRows::Nothing => panic!("the first row is left"),
            EditedRows::Changed(edited) => {
                seen += 1;
                let images = all.len() / number;
                let kept = all.chunks(images).step_by(2).flatten();
                let kept: Vec<String> = kept.cloned().collect();
                assert_eq!(values(&edited, table), kept);
            }
        }
        let none = rows.edit(table, Limits::default(), |_| {
            Ok::<_, EventError>(RowFate::Drop)
        });
        assert_eq!(none.unwrap(), EditedRows::Nothing);
    });
    assert!(seen > 5, "{seen}");
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
