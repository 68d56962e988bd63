//! Functions that do not wait.

use std::rc::Rc;

use super::super::ast::{Expr, Function};
use super::super::error::SqlResult;
use super::super::family::Family;
use super::super::gtid::Executed;
use super::super::locks::{Mode, Resource, Span};
use super::super::session::Session;
use super::super::value::Value;
use super::Context;

impl Session {
    pub(super) fn call(
        &mut self,
        function: Function,
        arguments: &[Expr],
        context: &Context<'_>,
    ) -> SqlResult<Value> {
        match function {
            Function::Values => return self.refused_value(arguments, context),
            Function::Charset | Function::Collation => {
                return self.collation(function, arguments, context);
            }
            Function::If => {
                let [condition, yes, no] = arguments else {
                    return Ok(Value::Null);
                };
                let is_true = self.evaluate(condition, context)?.is_true() == Some(true);
                return self.evaluate(if is_true { yes } else { no }, context);
            }
            _ => {}
        }
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(self.evaluate(argument, context)?);
        }
        Ok(match self.about_session(function, &values) {
            Some(value) => value,
            None => over_values(function, values),
        })
    }

    /// Functions that tell of the session or change it.
    fn about_session(&mut self, function: Function, values: &[Value]) -> Option<Value> {
        let text = |text: String| Value::text(text);
        Some(match function {
            Function::ConnectionId => Value::Unsigned(self.control.id.into()),
            Function::LastInsertId => match values.first() {
                Some(value) => {
                    let id = value.to_int() as u64;
                    self.diagnostics.last_insert_id = id;
                    Value::Unsigned(id)
                }
                None => Value::Unsigned(self.diagnostics.last_insert_id),
            },
            Function::RowCount => Value::Int(self.diagnostics.row_count),
            Function::FoundRows => {
                self.deprecate(
                    "FOUND_ROWS() is deprecated and will be removed in a future release. Consider using COUNT(*) \
                     instead.",
                );
                Value::Int(self.diagnostics.found_rows as i64)
            }
            Function::Database => match self.schema() {
                Some(schema) => Value::text(&*schema),
                None => Value::Null,
            },
            Function::CurrentUser => text(format!("{}@%", self.login.user)),
            Function::User => text(format!("{}@127.0.0.1", self.login.user)),
            Function::Version => Value::text(self.family().version()),
            Function::ReleaseLock => self.release_name(values.first()),
            Function::ReleaseAllLocks => {
                let count = self.server.locks.release_all(self.control.id, Span::Name);
                Value::Int(i64::try_from(count).unwrap_or(0))
            }
            Function::IsFreeLock => {
                self.owner_of_name(values.first(), |owner| Value::truth(owner.is_none()))
            }
            Function::IsUsedLock => self.owner_of_name(values.first(), |owner| match owner {
                Some(owner) => Value::Int(owner.into()),
                None => Value::Null,
            }),
            Function::Now => text(moment(self.now())),
            Function::UnixTimestamp => Value::Int(self.now() as i64),
            Function::Uuid => {
                let number = self.server.state.salts.get() + 1;
                self.server.state.salts.set(number);
                text(format!(
                    "{number:08x}-0000-11f1-8000-{:012x}",
                    self.control.id
                ))
            }
            Function::GtidSubset => {
                let [subset, set] = values else {
                    return Some(Value::Null);
                };
                let parse = |it: &Value| Executed::parse(self.family(), &it.to_text());
                match (parse(subset), parse(set)) {
                    (Some(subset), Some(set)) => Value::truth(set.contains(&subset)),
                    _ => Value::Null,
                }
            }
            _ => return None,
        })
    }

    fn release_name(&mut self, name: Option<&Value>) -> Value {
        let Some(resource) = name.and_then(|it| lock_name(self.family(), it)) else {
            return Value::Null;
        };
        let locks = &self.server.locks;
        match locks.owner(&resource) {
            None => Value::Null,
            Some(_) => Value::truth(locks.release(self.control.id, &resource, Span::Name)),
        }
    }

    fn owner_of_name(&self, name: Option<&Value>, then: impl Fn(Option<u32>) -> Value) -> Value {
        match name.and_then(|it| lock_name(self.family(), it)) {
            Some(resource) => then(self.server.locks.owner(&resource)),
            None => Value::Null,
        }
    }

    /// VALUES(column) in ON DUPLICATE KEY UPDATE.
    fn refused_value(&mut self, arguments: &[Expr], context: &Context<'_>) -> SqlResult<Value> {
        self.deprecate(
            "'VALUES function' is deprecated and will be removed in a future release. Please use an alias (INSERT INTO \
             ... VALUES (...) AS alias) and replace VALUES(col) in the ON DUPLICATE KEY UPDATE clause with alias.col \
             instead",
        );
        let (Some(Expr::Column(_, name)), Some(row)) = (arguments.first(), context.refused) else {
            return Ok(Value::Null);
        };
        let column = self.find_column(context, None, name)?;
        Ok(row.get(column).cloned().unwrap_or(Value::Null))
    }

    fn collation(
        &mut self,
        function: Function,
        arguments: &[Expr],
        context: &Context<'_>,
    ) -> SqlResult<Value> {
        let connection = self.variable_text("collation_connection");
        let collation = match arguments.first() {
            Some(Expr::Collate(_, collation)) => collation.to_string(),
            Some(Expr::User(name)) => match self.user_variables.get(name) {
                Some(variable) => variable.collation.to_string(),
                None => "binary".to_owned(),
            },
            Some(other) => match self.evaluate(other, context)? {
                Value::Text(_) => connection,
                _ => "binary".to_owned(),
            },
            None => connection,
        };
        Ok(Value::text(match function {
            Function::Charset => collation.split('_').next().unwrap_or_default().to_owned(),
            _ => collation,
        }))
    }

    /// Takes a lock by name if it is free.
    pub fn take_name(&self, resource: &Resource) -> bool {
        let id = self.control.id;
        self.server
            .locks
            .take(id, resource, Mode::Exclusive, Span::Name)
    }
}

/// The lock of a name; none for NULL and the empty name. To MySQL large and small letters are the same.
pub fn lock_name(family: Family, name: &Value) -> Option<Resource> {
    let text = match family.is_mariadb() {
        true => name.to_text(),
        false => name.to_text().to_lowercase(),
    };
    let is_name = !name.is_null() && !text.is_empty();
    is_name.then(|| Resource::Name(Rc::from(text)))
}

fn over_values(function: Function, mut values: Vec<Value>) -> Value {
    let is_null = values.iter().any(Value::is_null);
    match function {
        Function::IfNull | Function::Coalesce => {
            return values
                .into_iter()
                .find(|it| !it.is_null())
                .unwrap_or(Value::Null);
        }
        Function::NullIf => {
            let is_equal = values[0].compare(&values[1]) == Some(std::cmp::Ordering::Equal);
            return if is_equal {
                Value::Null
            } else {
                values.swap_remove(0)
            };
        }
        Function::ConcatWs => {
            let separator = values.remove(0);
            let texts = values.iter().filter(|it| !it.is_null());
            let texts: Vec<Vec<u8>> = texts.map(Value::to_bytes).collect();
            return match separator.is_null() {
                true => Value::Null,
                false => Value::text(texts.join(&separator.to_bytes()[..])),
            };
        }
        Function::Rand => return Value::Double(0.5),
        _ if is_null => return Value::Null,
        _ => {}
    }
    over_known(function, values)
}

/// Functions of values none of which is NULL.
fn over_known(function: Function, values: Vec<Value>) -> Value {
    let first = values.first().cloned().unwrap_or(Value::Null);
    match function {
        Function::Concat => {
            let mut text = Vec::new();
            values.iter().for_each(|it| it.write_text(&mut text));
            Value::text(text)
        }
        Function::Length | Function::OctetLength => Value::Int(first.to_bytes().len() as i64),
        Function::Upper => Value::text(first.to_text().to_uppercase()),
        Function::Lower => Value::text(first.to_text().to_lowercase()),
        Function::Hex => Value::text(match &first {
            Value::Text(_) | Value::Binary(_) => {
                let hex = |byte: &u8| format!("{byte:02X}");
                first.to_bytes().iter().map(hex).collect::<String>()
            }
            number => format!("{:X}", number.to_int()),
        }),
        Function::Repeat => {
            const BYTES_MAX: usize = 16 << 20;
            let text = first.to_bytes();
            let count = values.get(1).map_or(0, Value::to_int);
            let count = usize::try_from(count).unwrap_or(0);
            match text.len().saturating_mul(count) > BYTES_MAX {
                true => Value::Null,
                false => Value::text(text.repeat(count)),
            }
        }
        Function::Abs => match first {
            Value::Int(number) => Value::Int(number.saturating_abs()),
            Value::Decimal(digits, scale) => Value::Decimal(digits.abs(), scale),
            other => other,
        },
        Function::Greatest | Function::Least => {
            let wanted = match function {
                Function::Greatest => std::cmp::Ordering::Greater,
                _ => std::cmp::Ordering::Less,
            };
            let best = values
                .into_iter()
                .reduce(|one, two| match two.compare(&one) {
                    Some(ordering) if ordering == wanted => two,
                    _ => one,
                });
            best.unwrap_or(Value::Null)
        }
        Function::CastSigned => Value::Int(first.to_int()),
        Function::CastUnsigned => Value::Unsigned(first.to_int() as u64),
        Function::CastChar => Value::text(first.to_bytes()),
        Function::CastBinary => Value::Binary(Rc::from(first.to_bytes())),
        _ => first,
    }
}

/// `2026-01-01 00:00:00` of seconds since the epoch.
fn moment(seconds: f64) -> String {
    let seconds = seconds as i64;
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days to a date, as Howard Hinnant's civil_from_days does it.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 {
        month_index + 3
    } else {
        month_index - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest % 3600 / 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_printed_as_a_date() {
        assert_eq!(moment(0.0), "1970-01-01 00:00:00");
        assert_eq!(moment(1_767_225_600.0), "2026-01-01 00:00:00");
        assert_eq!(moment(1_709_210_096.0), "2024-02-29 12:34:56");
    }
}
