//! Query attributes, with their names and their values as text (protocol pages "COM_QUERY",
//! "COM_STMT_EXECUTE").

use std::borrow::Cow;

use crate::capability::Capabilities;
use crate::column::ColumnType;
use crate::execute::Execute;
use crate::parameters::{is_null, read_count, read_null_bitmap, skip_value};
use crate::query::Query;
use crate::read::{Malformed, Reader};

/// A query attribute that has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryAttribute<'a> {
    /// Its name, in the client's character set.
    pub name: &'a [u8],
    /// Its value: text unchanged, numbers in decimal.
    pub value: Cow<'a, [u8]>,
}

impl<'a> Query<'a> {
    /// The query attributes of the command, without NULLs, dates and times.
    ///
    /// # Errors
    /// The block of attributes is malformed.
    pub fn named_attributes(
        &self,
        capabilities: Capabilities,
    ) -> Result<Vec<QueryAttribute<'a>>, Malformed> {
        let mut found = Vec::new();
        if !self.has_attributes() || !capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
            return Ok(found);
        }
        let mut reader = Reader::new(self.attributes);
        let count = read_count(&mut reader, "attribute count")?;
        reader.lenenc("attribute set count")?;
        let null_bitmap = read_null_bitmap(&mut reader, count)?;
        reader.u8("bind flag")?;
        let mut types = Vec::new();
        for _ in 0..count {
            let kind = reader.u16("attribute type")?;
            types.push((kind, reader.lenenc_bytes("attribute name")?));
        }
        for (index, (kind, name)) in types.into_iter().enumerate() {
            if !is_null(null_bitmap, index)
                && let Some(value) = read_value(&mut reader, kind)?
            {
                found.push(QueryAttribute { name, value });
            }
        }
        Ok(found)
    }
}

impl<'a> Execute<'a> {
    /// The query attributes after the `own` parameters of the statement, without NULLs, dates and
    /// times. `types` are the types of this command, or the remembered types of an earlier one. Parameters with
    /// long data have no value here.
    ///
    /// # Errors
    /// Types or values are malformed.
    pub fn named_attributes(
        &self,
        own: u16,
        types: &'a [u8],
        has_long_data: impl Fn(u16) -> bool,
        capabilities: Capabilities,
    ) -> Result<Vec<QueryAttribute<'a>>, Malformed> {
        let mut found = Vec::new();
        let own = usize::from(own);
        if self.parameter_count <= own || !capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
            return Ok(found);
        }
        let (mut types, mut values) = (Reader::new(types), Reader::new(self.values));
        for index in 0..self.parameter_count {
            let kind = types.u16("parameter type")?;
            let name = types.lenenc_bytes("parameter name")?;
            let is_long = u16::try_from(index).is_ok_and(&has_long_data);
            if is_null(self.null_bitmap, index) || is_long {
                continue;
            }
            match read_value(&mut values, kind)? {
                Some(value) if index >= own => found.push(QueryAttribute { name, value }),
                _ => {}
            }
        }
        Ok(found)
    }
}

/// Reads a value as text; `None` for kinds that are not supported.
fn read_value<'a>(reader: &mut Reader<'a>, kind: u16) -> Result<Option<Cow<'a, [u8]>>, Malformed> {
    const UNSIGNED: u16 = 0x8000;
    let (is_unsigned, kind) = (kind & UNSIGNED != 0, kind & !UNSIGNED);
    let before = reader.rest();
    skip_value(reader, kind)?;
    let bytes = &before[..before.len() - reader.rest().len()];
    let kind = u8::try_from(kind).map(ColumnType).ok();
    let number = |negative: bool| {
        let mut wide = [if negative && !is_unsigned { 0xff } else { 0 }; 8];
        for (to, from) in wide.iter_mut().zip(bytes) {
            *to = *from;
        }
        match is_unsigned {
            true => u64::from_le_bytes(wide).to_string(),
            false => i64::from_le_bytes(wide).to_string(),
        }
    };
    let owned = |text: String| Some(Cow::Owned(text.into_bytes()));
    Ok(match kind {
        Some(ColumnType::TINY | ColumnType::SHORT | ColumnType::LONG | ColumnType::LONGLONG) => {
            owned(number(bytes.last().is_some_and(|it| it & 0x80 != 0)))
        }
        Some(ColumnType::FLOAT) => bytes
            .first_chunk()
            .and_then(|it| owned(f32::from_le_bytes(*it).to_string())),
        Some(ColumnType::DOUBLE) => bytes
            .first_chunk()
            .and_then(|it| owned(f64::from_le_bytes(*it).to_string())),
        Some(
            ColumnType::DATE | ColumnType::DATETIME | ColumnType::TIMESTAMP | ColumnType::TIME,
        ) => None,
        _ => Some(Cow::Borrowed(Reader::new(bytes).lenenc_bytes("attribute")?)),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn attributes_have_names_and_values_as_text() {
        let mut block = vec![4, 1, 0b0100, 1];
        for (kind, name) in [
            (0xfe_u16, "tag"),
            (0x08, "n"),
            (0xfe, "none"),
            (0x8001, "u"),
        ] {
            block.extend_from_slice(&kind.to_le_bytes());
            block.push(name.len() as u8);
            block.extend_from_slice(name.as_bytes());
        }
        block.extend_from_slice(b"\x05batch");
        block.extend_from_slice(&(-2i64).to_le_bytes());
        block.push(0xff);
        block.extend_from_slice(b"SELECT 1");
        let capabilities = Capabilities::QUERY_ATTRIBUTES;
        let query = Query::decode(&block, capabilities).unwrap();
        let attributes = query.named_attributes(capabilities).unwrap();
        let texts: Vec<_> = attributes
            .iter()
            .map(|it| (it.name, it.value.as_ref()))
            .collect();
        let expected: [(&[u8], &[u8]); 3] = [(b"tag", b"batch"), (b"n", b"-2"), (b"u", b"255")];
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_statement_without_attributes_has_none() {
        let capabilities = Capabilities::QUERY_ATTRIBUTES;
        let query = Query::decode(b"\x00\x01SELECT 1", capabilities).unwrap();
        assert_eq!(query.named_attributes(capabilities).unwrap(), []);
    }

    /// `SELECT ?` with a number or NULL or long data, and the attributes `tag` and `n`.
    fn execution(null_bitmap: u8, values: &[u8]) -> Vec<u8> {
        let mut payload = vec![5, 0, 0, 0, 8, 1, 0, 0, 0, 3, null_bitmap, 1];
        payload.extend_from_slice(b"\x08\0\0\xfe\0\x03tag\x03\0\x01n");
        payload.extend_from_slice(values);
        payload
    }

    fn attributes_of(
        payload: &[u8],
        has_long_data: bool,
    ) -> Result<Vec<(String, String)>, Malformed> {
        let capabilities = Capabilities::QUERY_ATTRIBUTES;
        let execute = Execute::decode(payload, capabilities, 1).unwrap();
        let types = execute.types.unwrap();
        let is_long = |index| index == 0 && has_long_data;
        let found = execute.named_attributes(1, types, is_long, capabilities)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let pairs = found.iter().map(|it| (text(it.name), text(&it.value)));
        Ok(pairs.collect())
    }

    #[test]
    fn attributes_of_an_execution_stand_behind_the_values_of_its_statement() {
        let own = (-1i64).to_le_bytes();
        let behind = b"\x05batch\xff\xff\xff\xff";
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let both = vec![pair("tag", "batch"), pair("n", "-1")];
        let values = [&own[..], behind].concat();
        assert_eq!(attributes_of(&execution(0, &values), false).unwrap(), both);
        assert_eq!(attributes_of(&execution(1, behind), false).unwrap(), both);
        assert_eq!(attributes_of(&execution(0, behind), true).unwrap(), both);
        let second = attributes_of(&execution(0b010, &[&own[..], &behind[6..]].concat()), false);
        assert_eq!(second.unwrap(), both[1..]);
        for cut in 0..values.len() {
            assert!(attributes_of(&execution(0, &values[..cut]), false).is_err());
        }
    }

    #[test]
    fn an_execution_with_too_few_parameter_types_has_no_attributes() {
        let capabilities = Capabilities::QUERY_ATTRIBUTES;
        let payload = execution(0b111, b"");
        let execute = Execute::decode(&payload, capabilities, 1).unwrap();
        let found = execute.named_attributes(1, b"\x08\0\0", |_| false, capabilities);
        assert_eq!(found, Err(Malformed::Truncated("parameter type")));
    }
}
