//! TABLE_MAP: the id, name and columns of a table whose rows follow.

mod optional;

use wire::{Malformed, Reader};

use crate::bitmap::Bitmap;
use crate::column::{COLUMNS_MAX, Column, ColumnType, KeyColumn};
use crate::event_type::EventType;
use crate::events::format::FormatDescription;

/// The maximum length of a description, in bytes. No server allows ENUM columns with longer values in total.
const LENGTH_MAX: usize = 16 << 20;

/// A table that rows events refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMap {
    /// The id that rows events refer to. A table gets a new id each time the server opens it, and ids are reused.
    pub id: u64,
    /// The server's flags.
    pub flags: u16,
    /// The table's schema.
    pub schema: String,
    /// The table's name.
    pub table: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// The columns of the primary key; empty if the server does not send them.
    pub primary_key: Vec<KeyColumn>,
    /// The approximate memory that it takes, in bytes.
    pub(crate) size: usize,
}

/// Reads a table's id. In logs of early versions it has 4 bytes.
pub(crate) fn read_id(fixed: &mut Reader<'_>, post_header: usize) -> Result<u64, Malformed> {
    fixed.uint(if post_header == 6 { 4 } else { 6 }, "table id")
}

impl TableMap {
    /// Decodes the body.
    ///
    /// # Errors
    /// The body is too short, or has more columns than a table can have.
    pub fn decode(body: &[u8], format: &FormatDescription) -> Result<Self, Malformed> {
        if body.len() > LENGTH_MAX {
            return Err(Malformed::Invalid("length of a TABLE_MAP event"));
        }
        let post_header = format.post_header(EventType::TABLE_MAP);
        let mut reader = Reader::new(body);
        let mut fixed = Reader::new(reader.bytes(post_header, "TABLE_MAP post-header")?);
        let id = read_id(&mut fixed, post_header)?;
        let flags = fixed.u16("table flags")?;
        let schema = name(&mut reader, "schema name")?;
        let table = name(&mut reader, "table name")?;
        let count = reader.lenenc("number of columns")?;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count > COLUMNS_MAX {
            return Err(Malformed::Invalid("number of columns"));
        }
        let types = reader.bytes(count, "column types")?;
        let mut metadata = Reader::new(reader.lenenc_bytes("column metadata")?);
        let nullable = Bitmap::read(&mut reader, count, "columns that may be NULL")?;
        let mut columns = Vec::with_capacity(count);
        for (index, type_byte) in types.iter().enumerate() {
            let is_nullable = nullable.contains(index);
            columns.push(Column::read(*type_byte, &mut metadata, is_nullable)?);
        }
        let is_text = if format.is_mariadb() {
            ColumnType::is_text_of_mariadb
        } else {
            ColumnType::is_text_of_mysql
        };
        let primary_key = optional::read(&mut columns, &mut reader, is_text)?;
        let labels: usize = columns.iter().map(|it| it.labels.len()).sum();
        Ok(Self {
            id,
            flags,
            schema,
            table,
            columns,
            primary_key,
            size: body.len() + count * size_of::<Column>() + labels * size_of::<String>(),
        })
    }

    /// Whether the server has sent the columns' names.
    pub fn has_names(&self) -> bool {
        self.columns.iter().all(|column| column.name.is_some())
    }
}

/// Reads a name: a byte with its length, the name, and a zero byte.
fn name(reader: &mut Reader<'_>, item: &'static str) -> Result<String, Malformed> {
    let length = reader.u8(item)?;
    let bytes = reader.bytes(usize::from(length), item)?;
    reader.u8(item)?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}
