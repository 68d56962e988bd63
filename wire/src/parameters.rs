//! Parameters of COM_STMT_EXECUTE and attributes of COM_QUERY: where their types end and how long
//! their values are (protocol pages "COM_STMT_EXECUTE", "COM_QUERY", "Binary Protocol Value").
//!
//! ```text
//!   NULL bitmap │ bind flag │ type flags [name] │ type flags [name] │ … │ value │ value │ …
//!                    1: types follow     └ under QUERY_ATTRIBUTES
//! ```

use crate::capability::Capabilities;
use crate::column::ColumnType;
use crate::read::{Malformed, Reader};

/// In a type's flags: the number is unsigned.
const UNSIGNED: u16 = 0x8000;

/// How many values a command carries, read as the protocol's length-encoded integer.
pub(crate) fn read_count(reader: &mut Reader<'_>, item: &'static str) -> Result<usize, Malformed> {
    usize::try_from(reader.lenenc(item)?).map_err(|_| Malformed::Invalid(item))
}

/// Reads a bit for each of `count` values.
pub(crate) fn read_null_bitmap<'a>(
    reader: &mut Reader<'a>,
    count: usize,
) -> Result<&'a [u8], Malformed> {
    reader.bytes(count.div_ceil(8), "NULL bitmap")
}

/// Whether the value at `index` is NULL.
pub(crate) fn is_null(bitmap: &[u8], index: usize) -> bool {
    bitmap
        .get(index / 8)
        .is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}

/// Reads the types of `count` values, with their names under QUERY_ATTRIBUTES. Returns the whole
/// block, not decoded.
pub(crate) fn read_types<'a>(
    reader: &mut Reader<'a>,
    count: usize,
    capabilities: Capabilities,
) -> Result<&'a [u8], Malformed> {
    let start = reader.rest();
    for _ in 0..count {
        read_type(reader, capabilities)?;
    }
    Ok(&start[..start.len() - reader.rest().len()])
}

/// Reads one type, without its sign.
pub(crate) fn read_type(
    reader: &mut Reader<'_>,
    capabilities: Capabilities,
) -> Result<u16, Malformed> {
    let kind = reader.u16("parameter type")? & !UNSIGNED;
    if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
        reader.lenenc_bytes("parameter name")?;
    }
    Ok(kind)
}

/// The beginning of a block of types, with the types of the first `count` parameters.
///
/// A statement's own parameters come before its query attributes. If the remembered types are of an EXECUTE
/// with attributes, this function cuts them before they are put into an EXECUTE without attributes.
pub fn first_types(
    types: &[u8],
    count: usize,
    capabilities: Capabilities,
) -> Result<&[u8], Malformed> {
    read_types(&mut Reader::new(types), count, capabilities)
}

/// Skips a value that is not NULL, by the rules of MySQL 9.7 (`get_ps_param_len`): there INT24
/// and YEAR have a length in front like strings, and BOOL is refused.
pub(crate) fn skip_value(reader: &mut Reader<'_>, kind: u16) -> Result<(), Malformed> {
    const ITEM: &str = "parameter value";
    let Ok(kind) = u8::try_from(kind).map(ColumnType) else {
        return reader.lenenc_bytes(ITEM).map(|_| ());
    };
    match kind {
        ColumnType::TINY => reader.bytes(1, ITEM)?,
        ColumnType::SHORT => reader.bytes(2, ITEM)?,
        ColumnType::LONG | ColumnType::FLOAT => reader.bytes(4, ITEM)?,
        ColumnType::LONGLONG | ColumnType::DOUBLE => reader.bytes(8, ITEM)?,
        ColumnType::BOOL => return Err(Malformed::Invalid("parameter type")),
        _ => reader.lenenc_bytes(ITEM)?,
    };
    Ok(())
}

#[cfg(test)]
mod tests;
