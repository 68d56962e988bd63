//! The values that COM_STMT_EXECUTE binds to placeholders.

use wire::Capabilities;
use wire::column::ColumnType;
use wire::execute::Execute;
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
