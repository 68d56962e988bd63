//! Prepared statements of one connection: their texts, and the values that come with an execution.

use std::collections::HashMap;

use rusqlite::types::Value;
use wire::binary_row::{BinaryType, BinaryValue};
use wire::column::ColumnType;
use wire::execute::Execute;
use wire::statement::{LAST_PREPARED, statement_id};
use wire::{Capabilities, ErrorCode, Malformed, Reader};

use crate::fault::Fault;

/// The most prepared statements per connection.
const STATEMENTS_MAX: usize = 256;

/// The flag in a parameter's type for unsigned numbers.
const UNSIGNED: u16 = 0x8000;

/// The prepared statements of a connection.
#[derive(Default)]
pub struct Statements {
    statements: HashMap<u32, PreparedStatement>,
    last: u32,
}

struct PreparedStatement {
    text: String,
    parameters: u16,
    /// The types of the last execution that sent types.
    types: Vec<u16>,
    /// The client sent a value with COM_STMT_SEND_LONG_DATA; such values are not kept.
    has_long_data: bool,
}

impl Statements {
    /// Keeps a statement; returns its id.
    ///
    /// # Errors
    /// The connection has too many prepared statements.
    pub fn add(&mut self, text: String, parameters: u16) -> Result<u32, Fault> {
        if self.statements.len() >= STATEMENTS_MAX {
            let text = format!(
                "A connection to the admin port has {STATEMENTS_MAX} prepared statements at most"
            );
            return Err(Fault::new(ErrorCode::MAX_PREPARED_STMT_COUNT, text));
        }
        self.last = self.last.wrapping_add(1) % LAST_PREPARED;
        let known = PreparedStatement {
            text,
            parameters,
            types: Vec::new(),
            has_long_data: false,
        };
        self.statements.insert(self.last, known);
        Ok(self.last)
    }

    /// Forgets a statement, if it is there.
    pub fn close(&mut self, argument: &[u8]) {
        if let Ok(id) = statement_id(argument) {
            self.statements.remove(&self.meant(id));
        }
    }

    /// Forgets that a value was sent before the execution.
    ///
    /// # Errors
    /// There is no such statement.
    pub fn reset(&mut self, argument: &[u8]) -> Result<(), Fault> {
        self.find(argument)?.has_long_data = false;
        Ok(())
    }

    /// Notes that a piece of a value has come.
    pub fn long_data(&mut self, argument: &[u8]) {
        if let Ok(known) = self.find(argument) {
            known.has_long_data = true;
        }
    }

    /// The text to execute, and the values of its placeholders.
    ///
    /// # Errors
    /// There is no such statement, or the values are malformed.
    pub fn execute(
        &mut self,
        argument: &[u8],
        capabilities: Capabilities,
    ) -> Result<(String, Vec<Value>), Fault> {
        let known = self.find(argument)?;
        if std::mem::take(&mut known.has_long_data) {
            return Err(wrong("Values cannot be sent in pieces to the admin port"));
        }
        let execute = Execute::decode(argument, capabilities, known.parameters);
        let execute = execute.map_err(|error| malformed(&error))?;
        let count = usize::from(known.parameters);
        if let Some(types) = execute.types {
            let types = types.chunks_exact(2).take(count);
            known.types = types.map(|it| u16::from_le_bytes([it[0], it[1]])).collect();
        }
        if known.types.len() != count {
            return Err(wrong("An execution came without the types of its values"));
        }
        let mut reader = Reader::new(execute.values);
        let mut values = Vec::with_capacity(count);
        for (index, kind) in known.types.iter().enumerate() {
            let bits = execute.null_bitmap.get(index / 8).copied();
            let is_null = bits.is_some_and(|byte| byte >> (index % 8) & 1 == 1);
            values.push(match is_null {
                true => Value::Null,
                false => value(&mut reader, *kind)?,
            });
        }
        if !reader.is_empty() {
            return Err(malformed(&Malformed::Invalid("parameter values")));
        }
        Ok((known.text.clone(), values))
    }

    fn meant(&self, id: u32) -> u32 {
        match id {
            LAST_PREPARED => self.last,
            id => id,
        }
    }

    fn find(&mut self, argument: &[u8]) -> Result<&mut PreparedStatement, Fault> {
        let id = statement_id(argument).map_err(|error| malformed(&error))?;
        let id = self.meant(id);
        let known = self.statements.get_mut(&id);
        known.ok_or_else(|| {
            let text = format!("Unknown prepared statement handler ({id})");
            Fault::new(ErrorCode::UNKNOWN_STMT_HANDLER, text)
        })
    }
}

fn malformed(error: &Malformed) -> Fault {
    Fault::new(ErrorCode::MALFORMED_PACKET, error.to_string())
}

fn wrong(text: &str) -> Fault {
    Fault::wrong_arguments(text)
}

/// One value that is not NULL.
fn value(reader: &mut Reader<'_>, kind: u16) -> Result<Value, Fault> {
    let of = BinaryType {
        kind: ColumnType((kind & !UNSIGNED) as u8),
        is_unsigned: kind & UNSIGNED != 0,
    };
    if of.kind == ColumnType::NULL {
        return Ok(Value::Null);
    }
    match of.read(reader).map_err(|error| malformed(&error))? {
        BinaryValue::Integer(value) => match i64::try_from(value) {
            Ok(value) => Ok(Value::Integer(value)),
            Err(_) => Err(wrong("A number is too large")),
        },
        BinaryValue::Float(value) => Ok(number(value)),
        // The tables have times as text, so a time becomes a text.
        BinaryValue::Moment(text) => Ok(Value::Text(text)),
        BinaryValue::Bytes(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|_| Fault::no_text())?;
            Ok(Value::Text(text.to_owned()))
        }
    }
}

/// A number. Libraries with only one type of numbers send whole numbers as doubles, too.
fn number(value: f64) -> Value {
    /// From here on, not every whole number can be a double.
    const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
    match value.trunc() == value && value.abs() < WHOLE_MAX {
        true => Value::Integer(value as i64),
        false => Value::Real(value),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const NOTHING: Capabilities = Capabilities(0);

    /// An execution of the prepared statement 1 with these types and values.
    fn execution(nulls: u8, types: &[[u8; 2]], values: &[u8]) -> Vec<u8> {
        let mut argument = vec![1, 0, 0, 0, 0, 1, 0, 0, 0];
        if !types.is_empty() {
            argument.push(nulls);
            argument.push(1);
            argument.extend(types.concat());
        }
        argument.extend_from_slice(values);
        argument
    }

    fn executed(types: &[[u8; 2]], values: &[u8]) -> Result<Vec<Value>, u16> {
        let mut statements = Statements::default();
        let count = types.len() as u16;
        statements.add("SELECT ?".to_owned(), count).unwrap();
        let argument = execution(0, types, values);
        let executed = statements.execute(&argument, NOTHING);
        executed
            .map(|(_, values)| values)
            .map_err(|it| it.code.number)
    }

    #[test]
    fn values_have_the_types_of_their_parameters() {
        for (kind, bytes, expected) in [
            ([1, 0], &[0xff][..], Value::Integer(-1)),
            ([1, 0x80], &[0xff], Value::Integer(255)),
            ([2, 0], &[0xfe, 0xff], Value::Integer(-2)),
            ([3, 0], &[1, 0, 0, 0x80], Value::Integer(-2_147_483_647)),
            ([8, 0], &[5, 0, 0, 0, 0, 0, 0, 0], Value::Integer(5)),
            ([5, 0], &1.5f64.to_le_bytes(), Value::Real(1.5)),
            ([4, 0], &2.5f32.to_le_bytes(), Value::Real(2.5)),
            ([253, 0], &[2, b'a', b'b'], Value::Text("ab".to_owned())),
            ([6, 0], &[], Value::Null),
            (
                [12, 0],
                &[7, 0xea, 7, 1, 31, 12, 0, 5],
                Value::Text("2026-01-31 12:00:05".to_owned()),
            ),
        ] {
            assert_eq!(executed(&[kind], bytes), Ok(vec![expected]), "{kind:?}");
        }
    }

    #[test]
    fn malformed_executions_give_an_error() {
        for (kind, bytes, code) in [
            ([8, 0x80], &[0xff; 8][..], 1210),
            ([8, 0], &[1], 1835),
            ([253, 0], &[9, b'a'], 1835),
            ([253, 0], &[1, 0xff], 1300),
            ([12, 0], &[3, 0, 0, 0], 1835),
        ] {
            assert_eq!(executed(&[kind], bytes), Err(code), "{kind:?}");
        }
        let mut statements = Statements::default();
        for argument in [&[][..], &[1, 0, 0, 0], &[9; 20]] {
            assert!(statements.execute(argument, NOTHING).is_err());
        }
        statements.add("SELECT ?".to_owned(), 1).unwrap();
        for length in 0..11 {
            let whole = execution(0, &[[1, 0]], &[7]);
            let cut = &whole[..length];
            assert!(statements.execute(cut, NOTHING).is_err(), "{length}");
        }
    }

    #[test]
    fn types_are_remembered_and_statements_are_forgotten() {
        let mut statements = Statements::default();
        let id = statements.add("SELECT ?".to_owned(), 1).unwrap();
        assert_eq!(id, 1);
        let first = execution(0, &[[1, 0]], &[7]);
        assert!(statements.execute(&first, NOTHING).is_ok());
        // A NULL bitmap, no types, the value.
        let again = [&[1, 0, 0, 0, 0, 1, 0, 0, 0][..], &[0, 0, 8]].concat();
        let (_, values) = statements.execute(&again, NOTHING).unwrap();
        assert_eq!(values, [Value::Integer(8)]);
        let null = [&[0xff, 0xff, 0xff, 0xff, 0, 1, 0, 0, 0][..], &[1, 0]].concat();
        let (_, values) = statements.execute(&null, NOTHING).unwrap();
        assert_eq!(
            values,
            [Value::Null],
            "the last one, by MariaDB's name for it"
        );
        statements.long_data(&[1, 0, 0, 0, 0, 0, b'x']);
        assert!(statements.execute(&again, NOTHING).is_err());
        statements.close(&[1, 0, 0, 0]);
        let gone = statements.execute(&again, NOTHING).unwrap_err();
        assert_eq!(gone.code.number, 1243);
        for _ in 0..STATEMENTS_MAX {
            statements.add(String::new(), 0).unwrap();
        }
        assert_eq!(
            statements.add(String::new(), 0).unwrap_err().code.number,
            1461
        );
    }
}
