//! The optional metadata of a TABLE_MAP event (`binlog_row_metadata`): signs, character sets, names, keys.

use wire::{Malformed, Reader};

use crate::bitmap::bit_high_first;
use crate::column::{COLUMNS_MAX, Column, ColumnType, KeyColumn};
use crate::encoding;

/// The known fields (`Optional_metadata_field_type` of `rows_event.h`).
mod field {
    pub(crate) const SIGNEDNESS: u8 = 1;
    pub(crate) const DEFAULT_CHARSET: u8 = 2;
    pub(crate) const COLUMN_CHARSET: u8 = 3;
    pub(crate) const COLUMN_NAME: u8 = 4;
    pub(crate) const SET_VALUES: u8 = 5;
    pub(crate) const ENUM_VALUES: u8 = 6;
    pub(crate) const GEOMETRY_TYPE: u8 = 7;
    pub(crate) const PRIMARY_KEY: u8 = 8;
    pub(crate) const PRIMARY_KEY_WITH_PREFIX: u8 = 9;
    pub(crate) const LABELS_DEFAULT_CHARSET: u8 = 10;
    pub(crate) const LABELS_CHARSET: u8 = 11;
    pub(crate) const VISIBILITY: u8 = 12;
    pub(crate) const DIMENSIONS: u8 = 13;
}

/// The maximum number of values of an ENUM.
const LABELS_MAX: u64 = 65_535;

/// Whether a list has an entry for columns of a type.
pub(crate) type KindTest = fn(ColumnType) -> bool;

/// The labels' bytes, until the columns' character sets are known.
type RawLabels<'a> = Vec<(ColumnType, Vec<Vec<&'a [u8]>>)>;

/// Reads all fields into the columns, and returns the primary key. Each field has a length, so unknown fields are
/// skipped.
pub(crate) fn read(
    columns: &mut [Column],
    reader: &mut Reader<'_>,
    is_text: KindTest,
) -> Result<Vec<KeyColumn>, Malformed> {
    let mut key = Vec::new();
    let mut labels = RawLabels::new();
    while !reader.is_empty() {
        let field = reader.u8("metadata field")?;
        let value = reader.lenenc_bytes("metadata field")?;
        let mut value = Reader::new(value);
        match field {
            field::SET_VALUES => labels.push((ColumnType::SET, read_labels(&mut value)?)),
            field::ENUM_VALUES => labels.push((ColumnType::ENUM, read_labels(&mut value)?)),
            field::PRIMARY_KEY => key = read_key(columns.len(), &mut value, false)?,
            field::PRIMARY_KEY_WITH_PREFIX => key = read_key(columns.len(), &mut value, true)?,
            _ => read_field(columns, field, &mut value, is_text)?,
        }
    }
    for (column_type, lists) in labels {
        let of_type = |column: &&mut Column| column.column_type == column_type;
        let columns = columns.iter_mut().filter(of_type);
        for (column, list) in columns.zip(lists) {
            let texts = list.into_iter().map(|it| label(it, column.collation));
            column.labels = texts.collect();
        }
    }
    Ok(key)
}

fn read_field(
    columns: &mut [Column],
    field: u8,
    value: &mut Reader<'_>,
    is_text: KindTest,
) -> Result<(), Malformed> {
    let labelled: KindTest = ColumnType::has_labels;
    match field {
        field::SIGNEDNESS => {
            let numeric = columns.iter_mut().filter(|it| it.column_type.is_numeric());
            for (index, column) in numeric.enumerate() {
                column.is_unsigned = Some(bit_high_first(value.rest(), index));
            }
        }
        field::DEFAULT_CHARSET => default_charset(columns, is_text, value)?,
        field::COLUMN_CHARSET => column_charsets(columns, is_text, value)?,
        field::LABELS_DEFAULT_CHARSET => default_charset(columns, labelled, value)?,
        field::LABELS_CHARSET => column_charsets(columns, labelled, value)?,
        field::COLUMN_NAME => {
            for column in columns {
                let name = value.lenenc_bytes("column name")?;
                column.name = Some(String::from_utf8_lossy(name).into_owned());
            }
        }
        field::GEOMETRY_TYPE => {
            let is_geometry = |it: ColumnType| it == ColumnType::GEOMETRY;
            for column in of_kind(columns, is_geometry) {
                column.geometry_type = Some(value.lenenc("geometry type")?);
            }
        }
        field::VISIBILITY => {
            for (index, column) in columns.iter_mut().enumerate() {
                column.is_visible = bit_high_first(value.rest(), index);
            }
        }
        field::DIMENSIONS => {
            for column in of_kind(columns, |it| it == ColumnType::VECTOR) {
                column.dimensions = Some(value.lenenc("dimensions")?);
            }
        }
        _ => {}
    }
    Ok(())
}

fn of_kind(
    columns: &mut [Column],
    is_meant: impl Fn(ColumnType) -> bool,
) -> impl Iterator<Item = &mut Column> {
    columns
        .iter_mut()
        .filter(move |column| is_meant(column.column_type))
}

/// Reads a default collation, and then the columns with another one. Column numbers count only columns that fit
/// `is_meant`.
fn default_charset(
    columns: &mut [Column],
    is_meant: KindTest,
    value: &mut Reader<'_>,
) -> Result<(), Malformed> {
    let usual = collation(value)?;
    let mut meant: Vec<&mut Column> = of_kind(columns, is_meant).collect();
    for column in &mut meant {
        column.collation = Some(usual);
    }
    while !value.is_empty() {
        let index = value.lenenc("column number")?;
        let own = collation(value)?;
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let column = meant.get_mut(index);
        column.ok_or(Malformed::Invalid("column number"))?.collation = Some(own);
    }
    Ok(())
}

/// Reads one collation for each column that fits `is_meant`.
fn column_charsets(
    columns: &mut [Column],
    is_meant: KindTest,
    value: &mut Reader<'_>,
) -> Result<(), Malformed> {
    for column in of_kind(columns, is_meant) {
        column.collation = Some(collation(value)?);
    }
    Ok(())
}

fn collation(value: &mut Reader<'_>) -> Result<u16, Malformed> {
    let id = value.lenenc("collation")?;
    u16::try_from(id).map_err(|_| Malformed::Invalid("collation"))
}

/// Reads the columns of the key, each with its prefix length if the field contains prefix lengths.
fn read_key(
    columns_count: usize,
    value: &mut Reader<'_>,
    has_prefixes: bool,
) -> Result<Vec<KeyColumn>, Malformed> {
    let mut key = Vec::new();
    while !value.is_empty() {
        let column = value.lenenc("key column")?;
        let column = usize::try_from(column).unwrap_or(usize::MAX);
        if column >= columns_count || key.len() >= COLUMNS_MAX {
            return Err(Malformed::Invalid("key column"));
        }
        let prefix = if has_prefixes {
            value.lenenc("key prefix")?
        } else {
            0
        };
        key.push(KeyColumn { column, prefix });
    }
    Ok(key)
}

/// Reads the labels of each column: their number, and then the labels.
fn read_labels<'a>(value: &mut Reader<'a>) -> Result<Vec<Vec<&'a [u8]>>, Malformed> {
    let mut lists = Vec::new();
    while !value.is_empty() {
        let count = value.lenenc("number of labels")?;
        if count > LABELS_MAX || lists.len() >= COLUMNS_MAX {
            return Err(Malformed::Invalid("number of labels"));
        }
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(value.lenenc_bytes("label")?);
        }
        lists.push(list);
    }
    Ok(lists)
}

fn label(bytes: &[u8], collation: Option<u16>) -> String {
    let text = encoding::text(bytes, collation);
    text.map_or_else(
        || String::from_utf8_lossy(bytes).into_owned(),
        std::borrow::Cow::into_owned,
    )
}
