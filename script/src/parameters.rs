//! The values that `pilotfish.query` binds to a statement's placeholders, as a COM_STMT_EXECUTE carries them.

use mlua::{Table, Value};
use wire::bound_values::{BoundValue, BoundValues};

/// The greatest integer up to which Lua's numbers represent every integer.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// Values in the order of their placeholders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters(BoundValues);

impl Parameters {
    /// Reads a list with its length as `n`; `None` if an entry is no possible value.
    pub(crate) fn read(list: &Table) -> Option<Self> {
        let mut parameters = Self::default();
        for at in 1..=list.raw_get::<u16>("n").ok()? {
            parameters.push(&list.raw_get(at).ok()?)?;
        }
        Some(parameters)
    }

    fn push(&mut self, value: &Value) -> Option<()> {
        match value {
            Value::Nil => self.0.push(BoundValue::Null),
            Value::Boolean(is) => self.0.push(BoundValue::Boolean(*is)),
            Value::Integer(number) => self.0.push(BoundValue::Signed(*number)),
            Value::Number(number) if number.fract() == 0.0 && number.abs() <= WHOLE_MAX => {
                self.0.push(BoundValue::Signed(*number as i64))
            }
            Value::Number(number) => self.0.push(BoundValue::Double(*number)),
            Value::String(text) => self.0.push(BoundValue::Text(&text.as_bytes())),
            _ => None,
        }
    }

    /// The number of values.
    pub fn count(&self) -> u16 {
        self.0.count()
    }

    /// The bytes of the values and their types.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// The payload of a COM_STMT_EXECUTE with these values, for a connection without query attributes.
    pub fn execute(&self, statement_id: u32) -> Vec<u8> {
        self.0.execute(statement_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Capabilities;
    use wire::execute::Execute;

    #[test]
    fn parameters_have_the_types_of_their_values() {
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
    fn values_without_a_parameter_type_are_refused() {
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
