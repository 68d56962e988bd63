//! The value of an expression for a row.

mod arithmetic;
mod calls;

pub use calls::lock_name;

use std::rc::Rc;

use wire::column::ColumnType;

use super::ast::{Aggregate, Expr, Name, Operator};
use super::error::SqlResult;
use super::result_type::ResultType;
use super::session::{Session, UserVariable};
use super::table::{Row, Table};
use super::value::Value;

/// What an expression may refer to.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The table whose rows are looked at, and what the statement calls it.
    pub table: Option<(&'a Table, &'a str)>,
    /// The values of the row; none outside of rows.
    pub row: Option<&'a [Value]>,
    /// All rows, for aggregates.
    pub group: Option<&'a [Row]>,
    /// The values for placeholders.
    pub parameters: &'a [Value],
    /// What was computed before.
    pub early: &'a [Computed],
    /// The row that INSERT could not put, for VALUES().
    pub refused: Option<&'a [Value]>,
    /// The part of the statement, in the words of error 1054.
    pub place: Place,
}

/// What was computed before the rows.
#[derive(Clone, Debug)]
pub struct Computed {
    /// Its value.
    pub value: Value,
    /// Its type.
    pub kind: ResultType,
}

/// The part of a statement that names a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The list of columns.
    Fields,
    /// WHERE.
    Where,
    /// ORDER BY.
    Order,
    /// SET of UPDATE.
    Update,
    /// INSERT INTO.
    Insert,
}

impl<'a> Context<'a> {
    /// A context without a table.
    pub fn bare(parameters: &'a [Value], early: &'a [Computed]) -> Self {
        Self {
            table: None,
            row: None,
            group: None,
            parameters,
            early,
            refused: None,
            place: Place::Fields,
        }
    }

    /// The same for another part of the statement.
    pub fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// The same for a row.
    pub fn of_row<'b>(self, row: &'b [Value]) -> Context<'b>
    where
        'a: 'b,
    {
        Context {
            row: Some(row),
            ..self
        }
    }
}

impl Place {
    fn words(self, is_mariadb: bool) -> &'static str {
        match (self, is_mariadb) {
            (Self::Where, true) => "WHERE",
            (Self::Where, false) => "where clause",
            (Self::Order, true) => "ORDER BY",
            (Self::Order, false) => "order clause",
            (Self::Fields, true) => "SELECT",
            (Self::Update, true) => "SET",
            (Self::Insert, true) => "INSERT INTO",
            (Self::Fields | Self::Update | Self::Insert, false) => "field list",
        }
    }
}

impl Session {
    /// The column of a name.
    ///
    /// # Errors
    /// 1054.
    pub fn find_column(
        &self,
        context: &Context<'_>,
        table: Option<&str>,
        name: &str,
    ) -> SqlResult<usize> {
        let found = context.table.and_then(|(of, alias)| {
            let is_it = table.is_none_or(|it| it.eq_ignore_ascii_case(alias));
            is_it.then(|| of.column(name)).flatten()
        });
        found.ok_or_else(|| {
            let family = self.family();
            let shown = match table {
                Some(table) => format!("{table}.{name}"),
                None => name.to_owned(),
            };
            family.unknown_column(shown, context.place.words(family.is_mariadb()))
        })
    }

    /// The value of an expression.
    ///
    /// # Errors
    /// What the servers say of values that cannot be computed.
    pub fn evaluate(&mut self, of: &Expr, context: &Context<'_>) -> SqlResult<Value> {
        Ok(match of {
            Expr::Literal(value) => value.clone(),
            Expr::Parameter(number) => {
                let value = context.parameters.get(usize::from(*number));
                value.cloned().unwrap_or(Value::Null)
            }
            Expr::Column(table, name) => {
                let column = self.find_column(context, table.as_deref(), name)?;
                let row = context
                    .row
                    .or_else(|| context.group?.first().map(|it| &**it));
                row.and_then(|it| it.get(column))
                    .cloned()
                    .unwrap_or(Value::Null)
            }
            Expr::User(name) => {
                let variable = self.user_variables.get(name);
                variable.map_or(Value::Null, |it| it.value.clone())
            }
            Expr::AssignUser(name, value) => {
                let value = self.evaluate(value, context)?;
                self.set_user_variable(name, value.clone());
                self.deprecate(
                    "Setting user variables within expressions is deprecated and will be removed in a future release. \
                     Consider alternatives: 'SET variable=expression, ...', or 'SELECT expression(s) INTO variables(s)'.",
                );
                value
            }
            Expr::System(scope, name) => self.read_variable(*scope, name)?,
            Expr::Call(function, arguments) => self.call(*function, arguments, context)?,
            Expr::Early(number) => {
                let computed = context.early.get(*number);
                computed.map_or(Value::Null, |it| it.value.clone())
            }
            Expr::Not(operand) => match self.evaluate(operand, context)?.is_true() {
                None => Value::Null,
                Some(is) => Value::truth(!is),
            },
            Expr::Negative(operand) => {
                let operand = self.evaluate(operand, context)?;
                arithmetic::negative(self.family(), operand)?
            }
            Expr::Binary(operator, left, right) => self.binary(*operator, left, right, context)?,
            Expr::In(operand, list, is_not) => self.is_in(operand, list, *is_not, context)?,
            Expr::IsNull(operand, is_not) => {
                let is_null = self.evaluate(operand, context)?.is_null();
                Value::truth(is_null != *is_not)
            }
            Expr::Like(operand, pattern, is_not) => {
                let (text, pattern) = (
                    self.evaluate(operand, context)?,
                    self.evaluate(pattern, context)?,
                );
                match text.is_null() || pattern.is_null() {
                    true => Value::Null,
                    false => {
                        let is_like = like(&text.to_bytes(), &pattern.to_bytes());
                        Value::truth(is_like != *is_not)
                    }
                }
            }
            Expr::Collate(operand, _) => self.evaluate(operand, context)?,
            Expr::Aggregate(aggregate, operand) => {
                self.aggregate(*aggregate, operand.as_deref(), context)?
            }
        })
    }

    fn binary(
        &mut self,
        operator: Operator,
        left: &Expr,
        right: &Expr,
        context: &Context<'_>,
    ) -> SqlResult<Value> {
        let left = self.evaluate(left, context)?;
        // What follows is not looked at if that changes nothing.
        match (operator, left.is_true()) {
            (Operator::And, Some(false)) => return Ok(Value::Int(0)),
            (Operator::Or, Some(true)) => return Ok(Value::Int(1)),
            _ => {}
        }
        let right = self.evaluate(right, context)?;
        if arithmetic::divides_by_zero(operator, &left, &right) && self.warns_of_division() {
            self.diagnostics.warn(1365, "Division by 0");
        }
        arithmetic::apply(self.family(), operator, &left, &right)
    }

    fn warns_of_division(&self) -> bool {
        self.variable_text("sql_mode")
            .contains("ERROR_FOR_DIVISION_BY_ZERO")
    }

    fn is_in(
        &mut self,
        operand: &Expr,
        list: &[Expr],
        is_not: bool,
        context: &Context<'_>,
    ) -> SqlResult<Value> {
        let operand = self.evaluate(operand, context)?;
        let mut has_null = operand.is_null();
        for item in list {
            match operand.compare(&self.evaluate(item, context)?) {
                Some(std::cmp::Ordering::Equal) => return Ok(Value::truth(!is_not)),
                Some(_) => {}
                None => has_null = true,
            }
        }
        Ok(match has_null {
            true => Value::Null,
            false => Value::truth(is_not),
        })
    }

    fn aggregate(
        &mut self,
        aggregate: Aggregate,
        operand: Option<&Expr>,
        context: &Context<'_>,
    ) -> SqlResult<Value> {
        let group = context.group.unwrap_or_default();
        let Some(operand) = operand else {
            return Ok(Value::Int(i64::try_from(group.len()).unwrap_or(i64::MAX)));
        };
        let mut values = Vec::with_capacity(group.len());
        for row in group {
            let inner = Context {
                group: None,
                ..context.of_row(row)
            };
            let value = self.evaluate(operand, &inner)?;
            if !value.is_null() {
                values.push(value);
            }
        }
        arithmetic::aggregate(self.family(), aggregate, values)
    }

    /// A warning of MySQL's that something will not be there for ever.
    pub fn deprecate(&mut self, text: &str) {
        let is_known = self
            .diagnostics
            .conditions
            .iter()
            .any(|it| &*it.text == text);
        if !self.family().is_mariadb() && !is_known {
            self.diagnostics.warn(1287, text);
        }
    }

    /// Sets a user variable.
    pub fn set_user_variable(&mut self, name: &Name, value: Value) {
        let kind = ResultType::new(ColumnType::NULL, 0, 0);
        let variable = self.user_variable(value, kind);
        self.user_variables.insert(Rc::clone(name), variable);
    }

    /// A user variable; a text has the collation of the session's literals.
    pub fn user_variable(&self, value: Value, kind: ResultType) -> UserVariable {
        let collation = match &value {
            Value::Text(_) => self.variable_text("collation_connection"),
            Value::Binary(_) | Value::Null => "binary".to_owned(),
            _ => "latin1_swedish_ci".to_owned(),
        };
        UserVariable {
            value,
            collation: collation.into(),
            kind,
        }
    }
}

/// Whether a text is like a pattern with `%` and `_`, without case.
pub fn like(text: &[u8], pattern: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'%', rest)), _) => {
            like(text, rest)
                || text
                    .split_first()
                    .is_some_and(|(_, text)| like(text, pattern))
        }
        (Some((b'\\', escaped)), Some((byte, text))) if !escaped.is_empty() => {
            byte.eq_ignore_ascii_case(&escaped[0]) && like(text, &escaped[1..])
        }
        (Some((b'_', rest)), Some((_, text))) => like(text, rest),
        (Some((wanted, rest)), Some((byte, text))) => {
            wanted.eq_ignore_ascii_case(byte) && like(text, rest)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_like_does() {
        for (text, pattern, expected) in [
            ("autocommit", "auto%", true),
            ("AUTOCOMMIT", "autocommi_", true),
            ("tx_isolation", "tx\\_iso%", true),
            ("txxisolation", "tx\\_iso%", false),
            ("abc", "%b", false),
        ] {
            assert_eq!(
                like(text.as_bytes(), pattern.as_bytes()),
                expected,
                "{text} {pattern}"
            );
        }
    }
}
