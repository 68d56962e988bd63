//! Values on their way into the columns of a table.

use super::super::ast::ColumnKind;
use super::super::error::{SqlError, SqlResult};
use super::super::session::Session;
use super::super::table::{Column, Table};
use super::super::value::{Value, leading_number};

impl Session {
    /// The value as a column holds it. Outside of strict mode what does not fit is made to fit, with a warning.
    ///
    /// # Errors
    /// 1048, 1264, 1366, 1406.
    pub(super) fn store(
        &mut self,
        table: &Table,
        column: &Column,
        value: Value,
        row: usize,
    ) -> SqlResult<Value> {
        if value.is_null() {
            return match column.not_null {
                true => Err(self.family().not_null(&column.name)),
                false => Ok(Value::Null),
            };
        }
        match column.kind {
            ColumnKind::Integer(bytes, is_unsigned) => {
                self.check_number((table, column), &value, "integer", row)?;
                self.store_integer(column, &value, (bytes, is_unsigned), row)
            }
            ColumnKind::Decimal(_, scale) => {
                self.check_number((table, column), &value, "decimal", row)?;
                Ok(to_decimal(&value, scale))
            }
            ColumnKind::Varchar(length) => self.store_text(column, &value, length, row),
            ColumnKind::Text => self.store_text(column, &value, 65_535, row),
            ColumnKind::Varbinary(length) => self.store_bytes(column, &value, length, row),
            ColumnKind::Blob => self.store_bytes(column, &value, 65_535, row),
        }
    }

    /// An error in strict mode, a warning otherwise.
    fn complain(&mut self, error: SqlError) -> SqlResult<()> {
        match self.settings.is_strict {
            true => Err(error),
            false => {
                self.diagnostics.warn(error.number, error.text);
                Ok(())
            }
        }
    }

    fn store_integer(
        &mut self,
        column: &Column,
        value: &Value,
        (bytes, is_unsigned): (u8, bool),
        row: usize,
    ) -> SqlResult<Value> {
        let family = self.family();
        let wide = match value {
            Value::Unsigned(number) => i128::from(*number),
            Value::Double(_) | Value::Decimal(..) => value.to_double().round() as i128,
            other => other.to_int().into(),
        };
        let bits = u32::from(bytes) * 8;
        let (least, greatest) = match is_unsigned {
            true => (0, (1i128 << bits) - 1),
            false => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        };
        let fitting = wide.clamp(least, greatest);
        if fitting != wide {
            let text = format!(
                "Out of range value for column '{}' at row {row}",
                column.name
            );
            self.complain(SqlError::new(family, 1264, text))?;
        }
        Ok(match is_unsigned {
            true => Value::Unsigned(u64::try_from(fitting).unwrap_or(0)),
            false => Value::Int(i64::try_from(fitting).unwrap_or(0)),
        })
    }

    /// Whether a text is a number as a whole.
    fn check_number(
        &mut self,
        (table, column): (&Table, &Column),
        value: &Value,
        kind: &str,
        row: usize,
    ) -> SqlResult<()> {
        let Value::Text(text) = value else {
            return Ok(());
        };
        if leading_number(text).1 {
            return Ok(());
        }
        let name = &column.name;
        if text
            .trim_ascii_start()
            .first()
            .is_some_and(u8::is_ascii_digit)
        {
            let text = format!("Data truncated for column '{name}' at row {row}");
            return self.complain(SqlError::new(self.family(), 1265, text));
        }
        let shape = &table.shape;
        let place = match self.family().is_mariadb() {
            true => format!("`{}`.`{}`.`{name}`", shape.schema, shape.name),
            false => format!("'{name}'"),
        };
        let shown = value.to_text();
        let text = format!("Incorrect {kind} value: '{shown}' for column {place} at row {row}");
        self.complain(SqlError::new(self.family(), 1366, text))
    }

    fn store_text(
        &mut self,
        column: &Column,
        value: &Value,
        length: u32,
        row: usize,
    ) -> SqlResult<Value> {
        let bytes = value.to_bytes();
        let text = String::from_utf8_lossy(&bytes);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if bytes.len() <= length || text.chars().count() <= length {
            return Ok(match value {
                Value::Text(_) => value.clone(),
                _ => Value::text(bytes),
            });
        }
        self.complain(self.family().too_long(&column.name, row))?;
        Ok(Value::text(text.chars().take(length).collect::<String>()))
    }

    fn store_bytes(
        &mut self,
        column: &Column,
        value: &Value,
        length: u32,
        row: usize,
    ) -> SqlResult<Value> {
        let mut bytes = value.to_bytes();
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if bytes.len() > length {
            self.complain(self.family().too_long(&column.name, row))?;
            bytes.truncate(length);
        }
        Ok(Value::Binary(bytes.into()))
    }
}

fn to_decimal(value: &Value, scale: u8) -> Value {
    let digits = match value {
        Value::Int(number) => i128::from(*number) * 10i128.pow(scale.into()),
        Value::Decimal(digits, from) if *from <= scale => {
            digits * 10i128.pow((scale - from).into())
        }
        other => (other.to_double() * 10f64.powi(scale.into())).round() as i128,
    };
    Value::Decimal(digits, scale)
}
