//! Rows events of all kinds: the table, the columns, and the rows.

use std::borrow::Cow;

use wire::{Malformed, Reader};

use crate::bitmap::Bitmap;
use crate::column::{COLUMNS_MAX, Column, ColumnType};
use crate::compressed::inflate;
use crate::error::EventError;
use crate::event_type::EventType;
use crate::json;
use crate::limits::Limits;
use crate::table_map::{TableMap, read_id};
use crate::value::{Value, read_value};

/// A bit before an after-image: it contains partial changes of JSON columns.
pub(crate) const PARTIAL_JSON: u64 = 1;

/// The operation of a rows event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsKind {
    /// Rows are inserted.
    Write,
    /// Rows are changed.
    Update,
    /// Rows are changed, JSON documents in part.
    PartialUpdate,
    /// Rows are deleted.
    Delete,
}

/// Rows of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsEvent<'a> {
    /// The operation.
    pub kind: RowsKind,
    /// The table, by the id of its TABLE_MAP event.
    pub table_id: u64,
    /// The `FLAG_…` bits.
    pub flags: u16,
    /// How many columns the table has.
    pub columns_count: usize,
    /// The bytes before the number of columns: the fixed part, and MySQL's extra data.
    pub(crate) head: Cow<'a, [u8]>,
    pub(crate) before: Bitmap<'a>,
    pub(crate) after: Bitmap<'a>,
    pub(crate) data: Cow<'a, [u8]>,
}

/// A change of one row.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RowChange<'a> {
    /// The row before the change; none for an INSERT.
    pub before: Option<Row<'a>>,
    /// The row after the change; none for a DELETE.
    pub after: Option<Row<'a>>,
}

/// The values of a row, one entry per column; none if the event does not contain the column.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Row<'a> {
    /// In the order of the table's columns.
    pub values: Vec<Option<Value<'a>>>,
}

impl<'a> RowsEvent<'a> {
    /// The event is the last of its statement.
    pub const FLAG_STATEMENT_END: u16 = 0x01;
    /// `foreign_key_checks` is off.
    pub const FLAG_NO_FOREIGN_KEYS: u16 = 0x02;
    /// `unique_checks` is off.
    pub const FLAG_NO_UNIQUE_CHECKS: u16 = 0x04;
    /// The images have all columns.
    pub const FLAG_COMPLETE_ROWS: u16 = 0x08;
    /// MySQL 9.6: cascades of foreign keys have events of their own.
    pub const FLAG_SQL_FOREIGN_KEYS: u16 = 0x10;

    /// The table id of an event that only ends a statement.
    pub const DUMMY_TABLE: u64 = 0xff_ffff;

    /// Decodes the body of an event of this type. The fixed part of the body has `post_header` bytes.
    ///
    /// # Errors
    /// The body is too short, or cannot be decompressed.
    pub fn decode(
        event_type: EventType,
        body: &'a [u8],
        post_header: usize,
        limits: Limits,
    ) -> Result<Self, EventError> {
        let kind = kind_of(event_type).ok_or(Malformed::Invalid("type of a rows event"))?;
        let mut reader = Reader::new(body);
        let mut fixed = Reader::new(reader.bytes(post_header, "rows post-header")?);
        let table_id = read_id(&mut fixed, post_header)?;
        let flags = fixed.u16("rows flags")?;
        if post_header >= 10 {
            let length = usize::from(fixed.u16("length of the extra data")?);
            let length = length.checked_sub(2);
            let length = length.ok_or(Malformed::Invalid("length of the extra data"))?;
            reader.bytes(length, "extra data")?;
        }
        let head = body.len() - reader.rest().len();
        let head = Cow::Borrowed(body.get(..head).unwrap_or_default());
        let count = reader.lenenc("number of columns")?;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count > COLUMNS_MAX {
            return Err(Malformed::Invalid("number of columns").into());
        }
        let first = Bitmap::read(&mut reader, count, "columns of the rows")?;
        let (before, after) = match kind {
            RowsKind::Write => (Bitmap::default(), first),
            RowsKind::Delete => (first, Bitmap::default()),
            RowsKind::Update | RowsKind::PartialUpdate => (
                first,
                Bitmap::read(&mut reader, count, "columns of the rows")?,
            ),
        };
        let data = if event_type >= EventType::WRITE_ROWS_COMPRESSED_V1 {
            Cow::Owned(inflate(reader.rest(), limits.inflated_bytes_max, "rows")?)
        } else {
            Cow::Borrowed(reader.rest())
        };
        Ok(Self {
            kind,
            table_id,
            flags,
            columns_count: count,
            head,
            before,
            after,
            data,
        })
    }

    /// Whether the event is the last of its statement.
    pub fn ends_statement(&self) -> bool {
        self.flags & Self::FLAG_STATEMENT_END != 0
    }

    /// Returns a copy that owns its bytes.
    pub fn into_owned(self) -> RowsEvent<'static> {
        RowsEvent {
            head: Cow::Owned(self.head.into_owned()),
            before: self.before.into_owned(),
            after: self.after.into_owned(),
            data: Cow::Owned(self.data.into_owned()),
            ..self
        }
    }

    /// Returns an iterator over the rows.
    ///
    /// # Errors
    /// The table has a different number of columns.
    pub fn changes<'e>(
        &'e self,
        table: &'e TableMap,
        limits: Limits,
    ) -> Result<RowChanges<'e>, EventError> {
        if table.columns.len() != self.columns_count {
            return Err(Malformed::Invalid("number of columns").into());
        }
        let is_json = |column: &&Column| column.column_type == ColumnType::JSON;
        Ok(RowChanges {
            event: self,
            table,
            json_columns: table.columns.iter().filter(is_json).count(),
            limit: limits.inflated_bytes_max,
            reader: Reader::new(&self.data),
        })
    }
}

/// Returns the operation of an event type; none if it is no rows event.
pub(crate) fn kind_of(event_type: EventType) -> Option<RowsKind> {
    Some(match event_type {
        EventType::WRITE_ROWS_V1
        | EventType::WRITE_ROWS
        | EventType::WRITE_ROWS_COMPRESSED_V1
        | EventType::WRITE_ROWS_COMPRESSED => RowsKind::Write,
        EventType::UPDATE_ROWS_V1
        | EventType::UPDATE_ROWS
        | EventType::UPDATE_ROWS_COMPRESSED_V1
        | EventType::UPDATE_ROWS_COMPRESSED => RowsKind::Update,
        EventType::DELETE_ROWS_V1
        | EventType::DELETE_ROWS
        | EventType::DELETE_ROWS_COMPRESSED_V1
        | EventType::DELETE_ROWS_COMPRESSED => RowsKind::Delete,
        EventType::PARTIAL_UPDATE_ROWS => RowsKind::PartialUpdate,
        _ => return None,
    })
}

/// An iterator over the rows of an event. It ends after an error.
#[derive(Debug)]
pub struct RowChanges<'e> {
    event: &'e RowsEvent<'e>,
    table: &'e TableMap,
    json_columns: usize,
    limit: usize,
    reader: Reader<'e>,
}

impl<'e> RowChanges<'e> {
    fn read_change(&mut self) -> Result<RowChange<'e>, EventError> {
        let event = self.event;
        let before_it = self.reader.rest().len();
        let mut change = RowChange::default();
        if event.kind != RowsKind::Write {
            change.before = Some(self.read_row(&event.before, false)?);
        }
        if event.kind != RowsKind::Delete {
            let is_partial = event.kind == RowsKind::PartialUpdate;
            change.after = Some(self.read_row(&event.after, is_partial)?);
        }
        if self.reader.rest().len() == before_it {
            // A row without bytes would repeat without end.
            return Err(Malformed::Invalid("row without columns").into());
        }
        Ok(change)
    }

    fn read_row(&mut self, present: &Bitmap<'_>, is_partial: bool) -> Result<Row<'e>, EventError> {
        let columns = &self.table.columns;
        let reader = &mut self.reader;
        let mut partial = Bitmap::default();
        if is_partial && reader.lenenc("options of the row")? & PARTIAL_JSON != 0 {
            partial = Bitmap::read(reader, self.json_columns, "JSON columns changed in part")?;
        }
        let count = present.count(columns.len());
        let nulls = Bitmap::read(reader, count, "NULLs of the row")?;
        let (mut number, mut json_number) = (0, 0);
        let mut values = Vec::with_capacity(columns.len());
        for (index, column) in columns.iter().enumerate() {
            let mut is_change = false;
            // Each JSON column of the table has a bit, even if the image does not contain the column.
            if column.column_type == ColumnType::JSON {
                is_change = partial.contains(json_number);
                json_number += 1;
            }
            if !present.contains(index) {
                values.push(None);
                continue;
            }
            let is_null = nulls.contains(number);
            number += 1;
            values.push(Some(if is_null {
                Value::Null
            } else if is_change {
                Value::JsonChanges(read_json_changes(reader, column.metadata)?)
            } else {
                read_value(reader, column, self.limit)?
            }));
        }
        Ok(Row { values })
    }
}

fn read_json_changes(
    reader: &mut Reader<'_>,
    length_bytes: u16,
) -> Result<Vec<json::JsonDiff>, Malformed> {
    let length = reader.uint(usize::from(length_bytes), "length of JSON changes")?;
    let length = usize::try_from(length).map_err(|_| Malformed::Truncated("JSON changes"))?;
    json::read_changes(reader.bytes(length, "JSON changes")?)
}

impl<'e> Iterator for RowChanges<'e> {
    type Item = Result<RowChange<'e>, EventError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_empty() {
            return None;
        }
        let change = self.read_change();
        if change.is_err() {
            self.reader.remainder();
        }
        Some(change)
    }
}
