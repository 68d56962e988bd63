//! Splits the row images of an event into the bytes of each column.

use wire::Reader;

use super::column::{OldValue, pass};
use crate::bitmap::Bitmap;
use crate::column::ColumnType;
use crate::error::EventError;
use crate::rows::PARTIAL_JSON;
use crate::table_map::TableMap;

/// A column in an image.
pub(super) struct ImageColumn<'e> {
    /// The column's index in the table.
    pub(super) index: usize,
    /// The column's bytes and its decoded value; none if it is NULL.
    pub(super) value: Option<(&'e [u8], OldValue<'e>)>,
    /// Whether the bytes are partial changes of a JSON document.
    pub(super) is_change: bool,
}

/// One image.
pub(super) struct Image<'e> {
    /// The bytes before the bitmap of NULLs.
    pub(super) options: &'e [u8],
    /// The columns that the image contains, in order.
    pub(super) columns: Vec<ImageColumn<'e>>,
}

/// Reads images, one after another.
pub(super) struct ImageReader<'e> {
    pub(super) table: &'e TableMap,
    /// The maximum length of a decompressed column, in bytes.
    pub(super) limit: usize,
    pub(super) reader: Reader<'e>,
}

impl<'e> ImageReader<'e> {
    /// Reads the next image, which contains the columns in `present`.
    pub(super) fn image(
        &mut self,
        present: &Bitmap<'_>,
        is_partial: bool,
    ) -> Result<Image<'e>, EventError> {
        let begin = self.reader.rest();
        let partial = match is_partial {
            true => self.partial_columns()?,
            false => Bitmap::default(),
        };
        let options = self.since(begin);
        let count = present.count(self.table.columns.len());
        let nulls = Bitmap::read(&mut self.reader, count, "NULLs of the row")?;
        let mut columns = Vec::with_capacity(count);
        let (mut number, mut json_number) = (0, 0);
        for (index, column) in self.table.columns.iter().enumerate() {
            let is_json = column.column_type == ColumnType::JSON;
            let is_change = is_json && partial.contains(json_number);
            json_number += usize::from(is_json);
            if !present.contains(index) {
                continue;
            }
            let is_null = nulls.contains(number);
            number += 1;
            let begin = self.reader.rest();
            let value = match is_null {
                true => None,
                // Partial changes have a length prefix like a document, so `pass` skips them in the same way.
                false => {
                    let old = pass(&mut self.reader, column, self.limit)?;
                    Some((self.since(begin), old))
                }
            };
            columns.push(ImageColumn {
                index,
                value,
                is_change,
            });
        }
        Ok(Image { options, columns })
    }

    /// Reads which JSON columns have partial changes. The bitmap has a bit for each JSON column of the table.
    fn partial_columns(&mut self) -> Result<Bitmap<'e>, EventError> {
        let options = self.reader.lenenc("options of the row")?;
        if options & PARTIAL_JSON == 0 {
            return Ok(Bitmap::default());
        }
        let is_json = |it: &&crate::Column| it.column_type == ColumnType::JSON;
        let count = self.table.columns.iter().filter(is_json).count();
        Ok(Bitmap::read(
            &mut self.reader,
            count,
            "JSON columns changed in part",
        )?)
    }

    /// Returns the bytes that were read since the rest was `begin`.
    fn since(&self, begin: &'e [u8]) -> &'e [u8] {
        let length = begin.len() - self.reader.rest().len();
        begin.get(..length).unwrap_or_default()
    }
}
