//! Edits rows events row by row: rows are dropped, or get other values.

use std::borrow::Cow;

use wire::{Malformed, Reader};

use super::image::{Image, ImageReader};
use super::rows::{RewrittenRows, uncompressed};
use crate::bitmap::Bitmap;
use crate::error::EventError;
use crate::event_type::EventType;
use crate::limits::Limits;
use crate::rows::{RowChange, RowsEvent, RowsKind};
use crate::table_map::TableMap;
use wire::write::put_lenenc;

/// New values of an image's columns, in the order of the columns: the column's index, and its bytes as
/// [`crate::Column::put_value`] writes them. None stands for NULL.
pub type ImageEdit = Vec<(usize, Option<Vec<u8>>)>;

/// The decision about a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowFate {
    /// The row is dropped.
    Drop,
    /// The row gets these values. Without any values it stays as it is.
    Change {
        /// New values of the image before the change.
        before: ImageEdit,
        /// New values of the image after the change.
        after: ImageEdit,
    },
}

/// The result for the rows of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditedRows {
    /// All rows are unchanged.
    Same,
    /// All rows were dropped.
    Nothing,
    /// Some rows were dropped or have new values.
    Changed(RowsEvent<'static>),
}

impl RowsEvent<'_> {
    /// Calls `decide` for each row, and returns the edited rows.
    ///
    /// # Errors
    /// The event is damaged, an edit names a column that the image does not contain, or `decide` fails.
    pub fn edit<E: From<EventError>>(
        &self,
        table: &TableMap,
        limits: Limits,
        mut decide: impl FnMut(&RowChange<'_>) -> Result<RowFate, E>,
    ) -> Result<EditedRows, E> {
        let mut images = ImageReader {
            table,
            limit: limits.inflated_bytes_max,
            reader: Reader::new(&self.data),
        };
        let mut data = Vec::with_capacity(self.data.len());
        let mut is_changed = false;
        for change in self.changes(table, limits)? {
            let change = change?;
            let row = images.reader.rest();
            let before = match self.kind {
                RowsKind::Write => None,
                _ => Some(images.image(&self.before, false)?),
            };
            let is_partial = self.kind == RowsKind::PartialUpdate;
            let after = match self.kind {
                RowsKind::Delete => None,
                _ => Some(images.image(&self.after, is_partial)?),
            };
            match decide(&change)? {
                RowFate::Drop => is_changed = true,
                RowFate::Change {
                    before: one,
                    after: other,
                } if one.is_empty() && other.is_empty() => {
                    let length = row.len() - images.reader.rest().len();
                    data.extend_from_slice(row.get(..length).unwrap_or_default());
                }
                RowFate::Change {
                    before: edit_before,
                    after: edit_after,
                } => {
                    is_changed = true;
                    put_image(&mut data, before, edit_before)?;
                    put_image(&mut data, after, edit_after)?;
                }
            }
        }
        if !is_changed {
            return Ok(EditedRows::Same);
        }
        if data.is_empty() {
            return Ok(EditedRows::Nothing);
        }
        Ok(EditedRows::Changed(RowsEvent {
            data: Cow::Owned(data),
            ..self.clone().into_owned()
        }))
    }

    /// Encodes the event, uncompressed.
    pub fn encode(&self, event_type: EventType) -> RewrittenRows {
        let mut body = self.head.to_vec();
        put_lenenc(&mut body, self.columns_count as u64);
        match self.kind {
            RowsKind::Write => body.extend_from_slice(self.after.bytes()),
            RowsKind::Delete => body.extend_from_slice(self.before.bytes()),
            RowsKind::Update | RowsKind::PartialUpdate => {
                body.extend_from_slice(self.before.bytes());
                body.extend_from_slice(self.after.bytes());
            }
        }
        body.extend_from_slice(&self.data);
        RewrittenRows {
            event_type: uncompressed(event_type),
            body,
        }
    }
}

fn put_image(
    out: &mut Vec<u8>,
    image: Option<Image<'_>>,
    edit: ImageEdit,
) -> Result<(), EventError> {
    let mut edit = edit.into_iter().peekable();
    if let Some(image) = image {
        let values = image.columns.iter().map(|column| {
            let edited = edit.next_if(|(index, _)| *index == column.index);
            match edited {
                Some((_, value)) => value.map(Cow::Owned),
                None => column.value.as_ref().map(|it| Cow::Borrowed(it.0)),
            }
        });
        let values: Vec<Option<Cow<'_, [u8]>>> = values.collect();
        let nulls = Bitmap::of(values.len(), |it| values.get(it) == Some(&None));
        out.extend_from_slice(image.options);
        out.extend_from_slice(nulls.bytes());
        values
            .iter()
            .flatten()
            .for_each(|it| out.extend_from_slice(it));
    }
    match edit.next() {
        None => Ok(()),
        Some(_) => Err(Malformed::Invalid("column of an edited row").into()),
    }
}
