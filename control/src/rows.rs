//! Result sets, row by row and within bounds (protocol pages "ProtocolText::Resultset" and "Binary Protocol
//! Resultset").

use wire::binary_row::{BinaryRow, BinaryType};
use wire::column::{ColumnDefinition, ColumnType};
use wire::read::Reader;
use wire::{ErrPacket, reply};

use crate::connection::Connection;
use crate::failure::Failure;
use crate::login::CAPABILITIES;

/// A result set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultSet {
    /// The columns' names.
    pub names: Vec<String>,
    /// The columns' types.
    pub types: Vec<ColumnType>,
    /// The rows, each with a value for each column; `None` is NULL. The values of a prepared statement's rows are
    /// written as text, too.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
}

/// The protocol in which rows come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowFormat {
    /// The text protocol: rows of COM_QUERY.
    Text,
    /// The binary protocol: rows of COM_STMT_EXECUTE.
    Binary,
}

/// The most that one result set may bring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub rows: usize,
    /// Bytes of all rows together.
    pub bytes: usize,
}

/// The longest row that is read, in bytes: one packet.
const ROW_BYTES_MAX: usize = (1 << 24) - 2;

/// Room for an ERR packet, whose text has at most 512 bytes.
const END_BYTES_MAX: usize = 1 << 10;

/// The most columns of a result: the widest statement that the proxy runs (`SHOW ALL SLAVES STATUS`) has some sixty,
/// and more with each version.
const COLUMNS_MAX: u64 = 256;

/// A result set that is being read. If it is not read to its end, the connection cannot be used any more.
pub(crate) struct Rows<'a> {
    connection: &'a mut Connection,
    names: Vec<String>,
    types: Vec<BinaryType>,
    /// The rows and bytes that may still come.
    left: Bounds,
}

/// One row's values as bytes; `None` is NULL.
pub(crate) struct RowPayload {
    payload: Vec<u8>,
    columns: usize,
}

impl Connection {
    /// Sends a statement that has a result set, and reads the columns.
    ///
    /// # Errors
    /// The server's error, or an answer that is no result set.
    pub(crate) async fn query(
        &mut self,
        statement: &str,
        bounds: Bounds,
    ) -> Result<Rows<'_>, Failure> {
        let head = self.execute(statement).await?;
        self.rows(&head, bounds).await
    }

    /// Reads the result set that begins with this payload.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub(crate) async fn rows(&mut self, head: &[u8], bounds: Bounds) -> Result<Rows<'_>, Failure> {
        let columns = match head.first() {
            Some(&reply::ERR) => return Err(Failure::refused(&ErrPacket::decode(head)?)),
            _ => Reader::new(head).lenenc("column count")?,
        };
        if columns == 0 || columns > COLUMNS_MAX {
            return Err(Failure::NotMysql("its answer has no rows".to_owned()));
        }
        let mut names = Vec::with_capacity(columns as usize);
        let mut types = Vec::with_capacity(columns as usize);
        for _ in 0..columns {
            let payload = self.read("a column").await?;
            let column = ColumnDefinition::decode(&payload, CAPABILITIES)?;
            names.push(String::from_utf8_lossy(column.name).into_owned());
            types.push(BinaryType::of_column(&column));
        }
        if !is_eof(&self.read("the end of the columns").await?) {
            return Err(Failure::NotMysql("its columns have no end".to_owned()));
        }
        Ok(Rows {
            connection: self,
            names,
            types,
            left: bounds,
        })
    }
}

impl Rows<'_> {
    /// The columns' names.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The next row; `None` after the last row.
    ///
    /// # Errors
    /// The server's error, or more rows or bytes than the bounds allow.
    pub(crate) async fn next(&mut self) -> Result<Option<RowPayload>, Failure> {
        // There is always room for the packet that ends the rows, and almost always for an ERR packet.
        let bytes_max = self.left.bytes.clamp(END_BYTES_MAX, ROW_BYTES_MAX);
        let payload = self.connection.read_within("a row", bytes_max).await?;
        match payload.first() {
            _ if is_eof(&payload) => return Ok(None),
            Some(&reply::ERR) => return Err(Failure::refused(&ErrPacket::decode(&payload)?)),
            _ if self.left.rows == 0 || self.left.bytes < payload.len() => {
                return Err(Failure::NotMysql("it sends more rows than fit".to_owned()));
            }
            _ => (),
        }
        self.left.rows -= 1;
        self.left.bytes -= payload.len();
        Ok(Some(RowPayload {
            payload,
            columns: self.types.len(),
        }))
    }

    /// All rows.
    ///
    /// # Errors
    /// As [`Rows::next`], and malformed rows.
    pub(crate) async fn collect(mut self, format: RowFormat) -> Result<ResultSet, Failure> {
        let mut rows = Vec::new();
        while let Some(row) = self.next().await? {
            rows.push(match format {
                RowFormat::Text => row.owned_values()?,
                RowFormat::Binary => row.binary_values(&self.types)?,
            });
        }
        Ok(ResultSet {
            names: self.names,
            types: self.types.iter().map(|it| it.kind).collect(),
            rows,
        })
    }

    /// The only row.
    ///
    /// # Errors
    /// As [`Rows::next`], and if there is no row, or more than one.
    pub(crate) async fn only(mut self) -> Result<RowPayload, Failure> {
        let row = self.next().await?;
        match (row, self.next().await?) {
            (Some(row), None) => Ok(row),
            _ => Err(Failure::NotMysql(
                "it sends another number of rows".to_owned(),
            )),
        }
    }
}

impl RowPayload {
    /// The row's values, one per column.
    ///
    /// # Errors
    /// If the row has too few bytes, or too many.
    pub(crate) fn values(&self) -> Result<Vec<Option<&[u8]>>, Failure> {
        let mut reader = Reader::new(&self.payload);
        let mut values = Vec::with_capacity(self.columns);
        for _ in 0..self.columns {
            values.push(value(&mut reader)?);
        }
        ended(reader.is_empty())?;
        Ok(values)
    }

    fn owned_values(&self) -> Result<Vec<Option<Vec<u8>>>, Failure> {
        let values = self.values()?.into_iter();
        Ok(values.map(|value| value.map(<[u8]>::to_vec)).collect())
    }

    /// The values of a row of the binary protocol, as text.
    fn binary_values(&self, types: &[BinaryType]) -> Result<Vec<Option<Vec<u8>>>, Failure> {
        let mut row = BinaryRow::new(&self.payload, types.len())?;
        let mut values = Vec::with_capacity(types.len());
        for of in types {
            values.push(row.value(*of)?.map(|value| value.to_text()));
        }
        ended(row.is_empty())?;
        Ok(values)
    }
}

fn ended(is_ended: bool) -> Result<(), Failure> {
    match is_ended {
        true => Ok(()),
        false => Err(Failure::NotMysql("its row has no end".to_owned())),
    }
}

/// One value. NULL is a byte of its own in place of a length.
fn value<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, Failure> {
    const NULL: u8 = 0xfb;
    if reader.rest().first() == Some(&NULL) {
        reader.u8("NULL")?;
        return Ok(None);
    }
    Ok(Some(reader.lenenc_bytes("a value")?))
}

/// Whether a payload is the EOF that ends the columns or the rows.
pub(crate) fn is_eof(payload: &[u8]) -> bool {
    payload.first() == Some(&reply::EOF) && payload.len() < reply::EOF_BYTES_LIMIT
}
