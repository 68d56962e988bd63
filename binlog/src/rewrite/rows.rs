//! Rows events with other values of columns.

use std::ops::Range;

use wire::write::put_lenenc;
use wire::{Malformed, Reader};

use super::column::{ColumnFate, ColumnRewrite, NewValue, pass, put};
use crate::bitmap::Bitmap;
use crate::column::ColumnType;
use crate::error::EventError;
use crate::event_type::EventType;
use crate::limits::Limits;
use crate::rows::{PARTIAL_JSON, RowsEvent, RowsKind};
use crate::table_map::TableMap;

/// Where the flags of a rows event stand: behind the table's id.
const FLAGS_AT: usize = 6;

/// A rows event in which columns were replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewrittenRows {
    /// Its type: not that of a compressed event.
    pub event_type: EventType,
    /// Its body.
    pub body: Vec<u8>,
}

impl RowsEvent<'_> {
    /// The event with the columns of `table` as `columns` says; none if an UPDATE changes no column any more.
    ///
    /// # Errors
    /// The event is damaged, or a DELETE would be left without a column by which its rows are found.
    pub fn rewrite(
        &self,
        event_type: EventType,
        table: &TableMap,
        columns: &dyn ColumnRewrite,
        limits: Limits,
    ) -> Result<Option<RewrittenRows>, EventError> {
        let count = self.columns_count;
        if table.columns.len() != count {
            return Err(Malformed::Invalid("number of columns").into());
        }
        let stays = |index| columns.fate(index) != ColumnFate::Omit;
        let keep = |bits: &Bitmap<'_>| Bitmap::of(count, |it| bits.contains(it) && stays(it));
        let (before, after) = (keep(&self.before), keep(&self.after));
        let is_update = matches!(self.kind, RowsKind::Update | RowsKind::PartialUpdate);
        if is_update && after.count(count) == 0 {
            return Ok(None);
        }
        if self.kind != RowsKind::Write && before.count(count) == 0 {
            return Err(EventError::Misplaced(
                "without the columns that are dropped, a replica cannot find the rows that change",
            ));
        }
        let mut body = self.head.to_vec();
        put_lenenc(&mut body, count as u64);
        match self.kind {
            RowsKind::Write => body.extend_from_slice(after.bytes()),
            RowsKind::Delete => body.extend_from_slice(before.bytes()),
            RowsKind::Update | RowsKind::PartialUpdate => {
                body.extend_from_slice(before.bytes());
                body.extend_from_slice(after.bytes());
            }
        }
        let mut images = Images {
            table,
            columns,
            limit: limits.inflated_bytes_max,
            data: &self.data,
            reader: Reader::new(&self.data),
            out: body,
        };
        while !images.reader.is_empty() {
            let rest = images.reader.rest().len();
            if self.kind != RowsKind::Write {
                images.image(&self.before, false)?;
            }
            if self.kind != RowsKind::Delete {
                images.image(&self.after, self.kind == RowsKind::PartialUpdate)?;
            }
            if images.reader.rest().len() == rest {
                return Err(Malformed::Invalid("row without columns").into());
            }
        }
        Ok(Some(RewrittenRows {
            event_type: uncompressed(event_type),
            body: images.out,
        }))
    }
}

/// The images of the rows, one after another.
struct Images<'e> {
    table: &'e TableMap,
    columns: &'e dyn ColumnRewrite,
    limit: usize,
    data: &'e [u8],
    reader: Reader<'e>,
    out: Vec<u8>,
}

impl Images<'_> {
    fn image(&mut self, present: &Bitmap<'_>, is_partial: bool) -> Result<(), EventError> {
        let partial = match is_partial {
            true => self.partial_columns()?,
            false => Bitmap::default(),
        };
        let count = present.count(self.table.columns.len());
        let nulls = Bitmap::read(&mut self.reader, count, "NULLs of the row")?;
        let mut values = Vec::with_capacity(count);
        let mut is_null = Vec::with_capacity(count);
        let (mut number, mut json_number) = (0, 0);
        for (index, column) in self.table.columns.iter().enumerate() {
            let is_json = column.column_type == ColumnType::JSON;
            let is_change = is_json && partial.contains(json_number);
            json_number += usize::from(is_json);
            if !present.contains(index) {
                continue;
            }
            let was_null = nulls.contains(number);
            number += 1;
            let begin = self.offset();
            let old = match was_null {
                true => None,
                // The changes of a document have a length, as the document has.
                false => Some(pass(&mut self.reader, column, self.limit)?),
            };
            let kept = begin..self.offset();
            match (self.columns.fate(index), old) {
                (ColumnFate::Omit, _) => {}
                (ColumnFate::Replace, Some(old)) if !is_change => {
                    let new = self.columns.value(index, old);
                    is_null.push(new == NewValue::Null);
                    values.push((index, Source::New(new)));
                }
                // NULL takes the place of a change as of a document.
                (ColumnFate::Replace, Some(_)) => {
                    return Err(EventError::Misplaced(
                        "a column that is replaced changes in part (binlog_row_value_options = PARTIAL_JSON)",
                    ));
                }
                (ColumnFate::Keep | ColumnFate::Replace, _) => {
                    is_null.push(was_null);
                    values.push((index, Source::Old(kept)));
                }
            }
        }
        let nulls = Bitmap::of(is_null.len(), |it| is_null.get(it) == Some(&true));
        self.out.extend_from_slice(nulls.bytes());
        for (index, source) in values {
            self.put(index, &source)?;
        }
        Ok(())
    }

    /// Which JSON columns have changes in place of documents. Every JSON column of the table has a bit.
    fn partial_columns(&mut self) -> Result<Bitmap<'static>, EventError> {
        let begin = self.offset();
        let options = self.reader.lenenc("options of the row")?;
        let mut partial = Bitmap::default();
        if options & PARTIAL_JSON != 0 {
            let is_json = |it: &&crate::Column| it.column_type == ColumnType::JSON;
            let count = self.table.columns.iter().filter(is_json).count();
            let item = "JSON columns changed in part";
            partial = Bitmap::read(&mut self.reader, count, item)?;
        }
        let end = self.offset();
        self.out
            .extend_from_slice(self.data.get(begin..end).unwrap_or_default());
        Ok(partial.into_owned())
    }

    fn offset(&self) -> usize {
        self.data.len() - self.reader.rest().len()
    }

    fn put(&mut self, index: usize, source: &Source<'_>) -> Result<(), EventError> {
        match source {
            Source::Old(range) => {
                let bytes = self.data.get(range.clone()).unwrap_or_default();
                self.out.extend_from_slice(bytes);
            }
            Source::New(NewValue::Null) => {}
            Source::New(value) => {
                let column = self.table.columns.get(index);
                let column = column.ok_or(Malformed::Invalid("number of columns"))?;
                put(&mut self.out, column, value)?;
            }
        }
        Ok(())
    }
}

/// Where a value comes from.
enum Source<'a> {
    /// These bytes of the rows.
    Old(Range<usize>),
    /// Somebody who replaces it.
    New(NewValue<'a>),
}

/// Marks a rows event as the last of its statement.
pub fn mark_statement_end(body: &mut [u8]) {
    if let Some(flags) = body.get_mut(FLAGS_AT) {
        *flags |= RowsEvent::FLAG_STATEMENT_END as u8;
    }
}

fn uncompressed(event_type: EventType) -> EventType {
    match event_type {
        EventType::WRITE_ROWS_COMPRESSED_V1 => EventType::WRITE_ROWS_V1,
        EventType::UPDATE_ROWS_COMPRESSED_V1 => EventType::UPDATE_ROWS_V1,
        EventType::DELETE_ROWS_COMPRESSED_V1 => EventType::DELETE_ROWS_V1,
        EventType::WRITE_ROWS_COMPRESSED => EventType::WRITE_ROWS,
        EventType::UPDATE_ROWS_COMPRESSED => EventType::UPDATE_ROWS,
        EventType::DELETE_ROWS_COMPRESSED => EventType::DELETE_ROWS,
        other => other,
    }
}
