//! The values that `pilotfish.query` binds to a statement's placeholders, as a COM_STMT_EXECUTE carries them.

use mlua::{Table, Value};
use wire::Capabilities;
use wire::column::ColumnType;
use wire::execute::Execute;
use wire::write::put_lenenc_bytes;

/// The greatest integer up to which numbers of Lua have no gaps.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// Values in the order of their placeholders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    count: u16,
    null_bitmap: Vec<u8>,
    types: Vec<u8>,
    values: Vec<u8>,
}

impl Parameters {
    /// A list with its length as `n`; `None` where it holds what is no value.
    pub(crate) fn read(list: &Table) -> Option<Self> {
        let mut parameters = Self::default();
        for at in 1..=list.raw_get::<u16>("n").ok()? {
            parameters.push(&list.raw_get(at).ok()?)?;
        }
        Some(parameters)
    }

    fn push(&mut self, value: &Value) -> Option<()> {
        let bit = usize::from(self.count % 8);
        if bit == 0 {
            self.null_bitmap.push(0);
        }
        self.count = self.count.checked_add(1)?;
        let kind = match value {
            Value::Nil => {
                *self.null_bitmap.last_mut()? |= 1 << bit;
                ColumnType::NULL
            }
            Value::Boolean(is) => {
                self.values.push(u8::from(*is));
                ColumnType::TINY
            }
            Value::Integer(number) => self.put_whole(*number),
            Value::Number(number) if number.fract() == 0.0 && number.abs() <= WHOLE_MAX => {
                self.put_whole(*number as i64)
            }
            Value::Number(number) => {
                self.values.extend_from_slice(&number.to_le_bytes());
                ColumnType::DOUBLE
            }
            Value::String(text) => {
                put_lenenc_bytes(&mut self.values, &text.as_bytes());
                ColumnType::VAR_STRING
            }
            _ => return None,
        };
        self.types.extend([kind.0, 0]);
        Some(())
    }

    fn put_whole(&mut self, number: i64) -> ColumnType {
        self.values.extend_from_slice(&number.to_le_bytes());
        ColumnType::LONGLONG
    }

    /// How many there are.
    pub fn count(&self) -> u16 {
        self.count
    }

    /// How many bytes they are.
    pub fn bytes(&self) -> usize {
        self.values.len() + self.types.len()
    }

    /// A COM_STMT_EXECUTE's payload with them, for who has not agreed on query attributes.
    pub fn execute(&self, statement_id: u32) -> Vec<u8> {
        let mut payload = Vec::with_capacity(self.values.len() + self.types.len() + 32);
        Execute {
            statement_id,
            flags: 0,
            iterations: 1,
            parameter_count: usize::from(self.count),
            null_bitmap: &self.null_bitmap,
            types: Some(&self.types),
            values: &self.values,
        }
        .encode(Capabilities::default(), &mut payload);
        payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_typed_by_what_they_are() {
        let lua = mlua::Lua::new();
        let list = "return { n = 9, 1, nil, 'it\\'s \\0', 0.5, true, -1, nil, 1e300, nil }";
        let parameters = Parameters::read(&lua.load(list).eval().unwrap()).unwrap();
        assert_eq!(parameters.count(), 9);
        let payload = parameters.execute(7);
        let execute = Execute::decode(&payload[1..], Capabilities::default(), 9).unwrap();
        assert_eq!(execute.statement_id, 7);
        assert_eq!(execute.null_bitmap, [0b0100_0010, 1]);
        let types = execute.types.unwrap().chunks(2).map(|it| it[0]);
        assert_eq!(types.collect::<Vec<_>>(), [8, 6, 253, 5, 1, 8, 6, 5, 6]);
        let mut values = 1_i64.to_le_bytes().to_vec();
        values.extend(b"\x06it's \0");
        values.extend(0.5_f64.to_le_bytes());
        values.push(1);
        values.extend((-1_i64).to_le_bytes());
        values.extend(1e300_f64.to_le_bytes());
        assert_eq!(execute.values, values);
    }

    #[test]
    fn what_is_no_value_is_refused() {
        let lua = mlua::Lua::new();
        for list in [
            "{ n = 1, {} }",
            "{ n = 1, print }",
            "{ 1 }",
            "{ n = 65536 }",
            "{ n = -1 }",
        ] {
            let list = lua.load(format!("return {list}")).eval().unwrap();
            assert_eq!(Parameters::read(&list), None);
        }
    }
}
