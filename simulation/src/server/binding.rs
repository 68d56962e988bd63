//! The values that COM_STMT_EXECUTE and COM_STMT_BULK_EXECUTE bind to placeholders.

use wire::Capabilities;
use wire::column::ColumnType;
use wire::execute::{BulkExecute, Execute};
use wire::read::{Malformed, Reader};

use super::value::Value;

/// In a type's flags: the number is unsigned.
const UNSIGNED: u16 = 0x8000;

/// The values of the first `own` parameters. `types` are those of this execution, or remembered ones; a parameter
/// with long data has no value here.
///
/// # Errors
/// Types or values that do not hold what they say.
pub fn values(
    execute: &Execute<'_>,
    own: u16,
    types: &[u8],
    is_long: impl Fn(u16) -> bool,
    capabilities: Capabilities,
) -> Result<Vec<Value>, Malformed> {
    let (mut types, mut values) = (Reader::new(types), Reader::new(execute.values));
    let mut bound = Vec::with_capacity(own.into());
    for parameter in 0..own {
        let kind = types.u16("parameter type")?;
        if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
            types.lenenc_bytes("parameter name")?;
        }
        let at = usize::from(parameter);
        let byte = execute.null_bitmap.get(at / 8).copied().unwrap_or_default();
        let is_null = byte >> (at % 8) & 1 == 1;
        bound.push(match is_null || is_long(parameter) {
            true => Value::Null,
            false => value(&mut values, kind)?,
        });
    }
    Ok(bound)
}

/// The rows of a bulk execution of a statement with `own` parameters. `types` are remembered ones.
///
/// # Errors
/// There are no parameters; or types or values do not hold what they say.
pub fn bulk_rows(
    bulk: &BulkExecute<'_>,
    own: u16,
    types: &[u8],
) -> Result<Vec<Vec<Value>>, Malformed> {
    /// The values of a row's indicators: a value follows, or the parameter is NULL.
    const VALUE: u8 = 0;
    const NULL: u8 = 1;
    if own == 0 {
        return Err(Malformed::Invalid("parameter count"));
    }
    let mut reader = Reader::new(bulk.rows);
    let mut remembered = Reader::new(types);
    let types = match bulk.flags & BulkExecute::SEND_TYPES {
        0 => &mut remembered,
        _ => &mut reader,
    };
    let kinds = (0..own).map(|_| types.u16("parameter type"));
    let kinds: Vec<u16> = kinds.collect::<Result<_, _>>()?;
    let mut rows = Vec::new();
    while !reader.is_empty() {
        let mut row = Vec::with_capacity(kinds.len());
        for kind in &kinds {
            row.push(match reader.u8("indicator")? {
                VALUE => value(&mut reader, *kind)?,
                NULL => Value::Null,
                _ => return Err(Malformed::Invalid("indicator")),
            });
        }
        rows.push(row);
    }
    Ok(rows)
}

fn value(reader: &mut Reader<'_>, kind: u16) -> Result<Value, Malformed> {
    const ITEM: &str = "parameter value";
    let (is_unsigned, kind) = (kind & UNSIGNED != 0, kind & !UNSIGNED);
    let kind = ColumnType(u8::try_from(kind).map_err(|_| Malformed::Invalid("parameter type"))?);
    let number = |signed: i64, unsigned: u64| match is_unsigned {
        true => Value::Unsigned(unsigned),
        false => Value::Int(signed),
    };
    Ok(match kind {
        ColumnType::NULL => Value::Null,
        ColumnType::TINY => {
            let byte = reader.u8(ITEM)?;
            number(i64::from(byte as i8), byte.into())
        }
        ColumnType::SHORT => {
            let short = reader.u16(ITEM)?;
            number(i64::from(short as i16), short.into())
        }
        ColumnType::LONG => {
            let long = reader.u32(ITEM)?;
            number(i64::from(long as i32), long.into())
        }
        ColumnType::LONGLONG => {
            let long = reader.u64(ITEM)?;
            number(long as i64, long)
        }
        ColumnType::FLOAT => Value::Double(f32::from_le_bytes(reader.array(ITEM)?).into()),
        ColumnType::DOUBLE => Value::Double(f64::from_le_bytes(reader.array(ITEM)?)),
        ColumnType::BLOB
        | ColumnType::TINY_BLOB
        | ColumnType::MEDIUM_BLOB
        | ColumnType::LONG_BLOB => Value::Binary(reader.lenenc_bytes(ITEM)?.into()),
        _ => Value::text(reader.lenenc_bytes(ITEM)?),
    })
}
