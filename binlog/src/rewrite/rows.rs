//! Replaces values of columns in rows events.

use std::borrow::Cow;

use wire::{Malformed, Reader};

use super::column::{ColumnFate, ColumnRewrite, NewValue, put};
use super::image::ImageReader;
use crate::bitmap::Bitmap;
use crate::error::EventError;
use crate::event_type::EventType;
use crate::limits::Limits;
use crate::rows::{RowsEvent, RowsKind};
use crate::table_map::TableMap;

/// The offset of the flags in the body of a rows event: after the table's id.
const FLAGS_AT: usize = 6;

/// A rows event in which columns were replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewrittenRows {
    /// The event's type. It is not a compressed one.
    pub event_type: EventType,
    /// The event's body.
    pub body: Vec<u8>,
}

impl RowsEvent<'_> {
    /// Returns the event with its columns rewritten by `columns`; none if an UPDATE changes no column any more.
    ///
    /// # Errors
    /// The event is damaged, or an UPDATE or DELETE would have no column left by which a replica finds the rows.
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
        let head = RowsEvent {
            before,
            after,
            data: Cow::Borrowed(&[]),
            ..self.clone_head()
        };
        let RewrittenRows { event_type, body } = head.encode(event_type);
        let mut images = Images {
            columns,
            reader: ImageReader {
                table,
                limit: limits.inflated_bytes_max,
                reader: Reader::new(&self.data),
            },
            out: body,
        };
        while !images.reader.reader.is_empty() {
            let rest = images.reader.reader.rest().len();
            if self.kind != RowsKind::Write {
                images.image(&self.before, false)?;
            }
            if self.kind != RowsKind::Delete {
                images.image(&self.after, self.kind == RowsKind::PartialUpdate)?;
            }
            if images.reader.reader.rest().len() == rest {
                return Err(Malformed::Invalid("row without columns").into());
            }
        }
        Ok(Some(RewrittenRows {
            event_type,
            body: images.out,
        }))
    }

    /// Returns the event without bitmaps and rows.
    fn clone_head(&self) -> RowsEvent<'_> {
        RowsEvent {
            head: Cow::Borrowed(&self.head),
            before: Bitmap::default(),
            after: Bitmap::default(),
            data: Cow::Borrowed(&[]),
            ..*self
        }
    }
}

/// The images of the rows, one after another.
struct Images<'e> {
    columns: &'e dyn ColumnRewrite,
    reader: ImageReader<'e>,
    out: Vec<u8>,
}

impl Images<'_> {
    fn image(&mut self, present: &Bitmap<'_>, is_partial: bool) -> Result<(), EventError> {
        let image = self.reader.image(present, is_partial)?;
        let mut values = Vec::with_capacity(image.columns.len());
        let mut is_null = Vec::with_capacity(image.columns.len());
        for column in image.columns {
            match (self.columns.fate(column.index), column.value) {
                (ColumnFate::Omit, _) => {}
                (ColumnFate::Replace, Some((_, old))) if !column.is_change => {
                    let new = self.columns.value(column.index, old);
                    is_null.push(new == NewValue::Null);
                    values.push((column.index, Source::New(new)));
                }
                // A NULL may replace a partial change of a document as well as a document, so it is refused, too.
                (ColumnFate::Replace, Some(_)) => {
                    return Err(EventError::Misplaced(
                        "a column that is replaced changes in part (binlog_row_value_options = PARTIAL_JSON)",
                    ));
                }
                (ColumnFate::Keep | ColumnFate::Replace, value) => {
                    is_null.push(value.is_none());
                    let bytes = value.map(|(bytes, _)| bytes).unwrap_or_default();
                    values.push((column.index, Source::Old(bytes)));
                }
            }
        }
        let nulls = Bitmap::of(is_null.len(), |it| is_null.get(it) == Some(&true));
        self.out.extend_from_slice(image.options);
        self.out.extend_from_slice(nulls.bytes());
        for (index, source) in values {
            self.put(index, &source)?;
        }
        Ok(())
    }

    fn put(&mut self, index: usize, source: &Source<'_>) -> Result<(), EventError> {
        match source {
            Source::Old(bytes) => self.out.extend_from_slice(bytes),
            Source::New(NewValue::Null) => {}
            Source::New(value) => {
                let column = self.reader.table.columns.get(index);
                let column = column.ok_or(Malformed::Invalid("number of columns"))?;
                put(&mut self.out, column, value)?;
            }
        }
        Ok(())
    }
}

/// The source of a value.
enum Source<'a> {
    /// The bytes of the original row.
    Old(&'a [u8]),
    /// The replacement.
    New(NewValue<'a>),
}

/// Marks a rows event as the last of its statement.
pub fn mark_statement_end(body: &mut [u8]) {
    if let Some(flags) = body.get_mut(FLAGS_AT) {
        *flags |= RowsEvent::FLAG_STATEMENT_END as u8;
    }
}

pub(super) fn uncompressed(event_type: EventType) -> EventType {
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
