//! What the columns of a result are: names and types, as each family derives them from expressions.

use wire::column::{ColumnDefinition, ColumnType};

use super::ast::{Aggregate, Expr, Function, Name, Operator};
use super::evaluate::Context;
use super::family::Family;
use super::result_column::type_of_column;
use super::result_type::ResultType;
use super::session::{Session, UserVariable};
use super::value::Value;
use super::variables::Kind;

const NOT_NULL: u16 = ColumnDefinition::NOT_NULL;
const UNSIGNED: u16 = ColumnDefinition::UNSIGNED;
const BINARY: u16 = ColumnDefinition::BINARY;
const BLOB: u16 = 16;

impl Session {
    /// The type of an expression.
    pub fn type_of(&self, of: &Expr, context: &Context<'_>) -> ResultType {
        let family = self.family();
        match of {
            Expr::Literal(value) => type_of_literal(family, value),
            Expr::Parameter(number) => {
                let value = context.parameters.get(usize::from(*number));
                type_of_parameter(value)
            }
            Expr::Column(_, name) => {
                let column = context.table.and_then(|(table, _)| {
                    let at = table.column(name)?;
                    Some((table, table.shape.columns.get(at)?))
                });
                column.map_or(ResultType::text(0, 0), |it| type_of_column(it.0, it.1))
            }
            Expr::User(name) => self.type_of_user_variable(name),
            Expr::AssignUser(_, value) | Expr::Collate(value, _) => self.type_of(value, context),
            Expr::System(_, name) => self.type_of_variable(name),
            Expr::Call(function, arguments) => self.type_of_call(*function, arguments, context),
            Expr::Early(number) => match context.early.get(*number) {
                Some(computed) => computed.kind,
                None => ResultType::small(family, 0),
            },
            Expr::Not(_) | Expr::In(..) | Expr::IsNull(..) | Expr::Like(..) => {
                ResultType::small(family, NOT_NULL)
            }
            Expr::Negative(operand) => self.type_of(operand, context),
            Expr::Binary(operator, left, right) => {
                self.type_of_binary(*operator, left, right, context)
            }
            Expr::Aggregate(aggregate, operand) => {
                self.type_of_aggregate(*aggregate, operand.as_deref(), context)
            }
        }
    }

    fn type_of_binary(
        &self,
        operator: Operator,
        left: &Expr,
        right: &Expr,
        context: &Context<'_>,
    ) -> ResultType {
        use Operator as Op;
        let family = self.family();
        if !matches!(
            operator,
            Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::IntegerDivide | Op::Modulo
        ) {
            return ResultType::small(family, NOT_NULL);
        }
        let (left, right) = (self.type_of(left, context), self.type_of(right, context));
        let is = |kind: ColumnType| left.kind == kind || right.kind == kind;
        let is_text = |of: ResultType| !of.is_numeric() && of.kind != ColumnType::NULL;
        if is(ColumnType::DOUBLE) || is_text(left) || is_text(right) {
            return ResultType::new(ColumnType::DOUBLE, BINARY, 23);
        }
        if is(ColumnType::NEWDECIMAL) && operator != Op::IntegerDivide || operator == Op::Divide {
            return ResultType::new(ColumnType::NEWDECIMAL, BINARY, 20);
        }
        let unsigned = (left.flags | right.flags) & UNSIGNED;
        let digits = match operator {
            Op::Add | Op::Subtract => left.length.max(right.length) + 2,
            Op::Multiply => left.length + right.length,
            _ => left.length,
        };
        ResultType::integer(family, unsigned, digits.min(21))
    }

    fn type_of_aggregate(
        &self,
        aggregate: Aggregate,
        operand: Option<&Expr>,
        context: &Context<'_>,
    ) -> ResultType {
        let Some(operand) = operand else {
            return ResultType::long(NOT_NULL);
        };
        let inner = self.type_of(operand, context);
        match aggregate {
            Aggregate::Count => ResultType::long(NOT_NULL),
            Aggregate::Max | Aggregate::Min => ResultType {
                flags: inner.flags & (UNSIGNED | BLOB) | BINARY,
                ..inner
            },
            Aggregate::Sum => match inner.kind {
                ColumnType::DOUBLE | ColumnType::VAR_STRING | ColumnType::BLOB => {
                    ResultType::new(ColumnType::DOUBLE, BINARY, 23)
                }
                _ => ResultType::new(ColumnType::NEWDECIMAL, BINARY, 42),
            },
        }
    }

    fn type_of_user_variable(&self, name: &Name) -> ResultType {
        let family = self.family();
        let blob = |kind| ResultType::new(kind, 0, (1 << 24) - 1);
        let variable = self.user_variables.get(name);
        if let Some(UserVariable {
            value: Value::Null,
            kind,
            ..
        }) = variable
            && kind.is_numeric()
        {
            return kind.nullable();
        }
        // MySQL's longest text in an eight-bit character set is a MEDIUMTEXT.
        let is_narrow =
            |it: &UserVariable| !family.is_mariadb() && !it.collation.starts_with("utf8");
        match variable.map(|it| &it.value) {
            Some(Value::Text(_)) if variable.is_some_and(is_narrow) => {
                blob(ColumnType::MEDIUM_BLOB)
            }
            Some(Value::Int(_)) => ResultType::long(0),
            Some(Value::Unsigned(_)) => ResultType::long(UNSIGNED),
            Some(Value::Decimal(..)) => ResultType::new(ColumnType::NEWDECIMAL, BINARY, 83),
            Some(Value::Double(_)) => ResultType::new(ColumnType::DOUBLE, BINARY, 23),
            Some(Value::Text(_)) => blob(ColumnType::LONG_BLOB),
            Some(Value::Binary(_)) => blob(ColumnType::LONG_BLOB),
            Some(Value::Null) if !family.is_mariadb() => blob(ColumnType::MEDIUM_BLOB),
            Some(Value::Null) => blob(ColumnType::LONG_BLOB),
            None if family.is_mariadb() => blob(ColumnType::LONG_BLOB),
            None => ResultType::new(ColumnType::VAR_STRING, BINARY, 65_532),
        }
    }

    fn type_of_variable(&self, name: &str) -> ResultType {
        match self.variable_kind(name) {
            Some(Kind::Switch) => ResultType::new(ColumnType::LONGLONG, BINARY, 1),
            Some(Kind::Unsigned) => ResultType::long(UNSIGNED),
            Some(Kind::Signed) => ResultType::long(0),
            Some(Kind::Double) => ResultType {
                decimals: 6,
                ..ResultType::new(ColumnType::DOUBLE, BINARY, 23)
            },
            Some(Kind::Text) | None => ResultType::text(0, 1024),
        }
    }

    fn type_of_call(
        &self,
        function: Function,
        arguments: &[Expr],
        context: &Context<'_>,
    ) -> ResultType {
        use Function as F;
        let family = self.family();
        let first = || match arguments.first() {
            Some(argument) => self.type_of(argument, context),
            None => ResultType::text(0, 0),
        };
        match function {
            F::ConnectionId | F::ReleaseAllLocks => ResultType::small(family, NOT_NULL | UNSIGNED),
            F::LastInsertId => ResultType::long(NOT_NULL | UNSIGNED),
            F::RowCount | F::FoundRows => ResultType::long(NOT_NULL),
            F::ReleaseLock | F::IsFreeLock => ResultType::small(family, 0),
            F::IsUsedLock => match family.is_mariadb() {
                true => ResultType::small(family, 0),
                false => ResultType::long(UNSIGNED),
            },
            F::GtidSubset | F::Length | F::OctetLength => ResultType::small(family, NOT_NULL),
            F::UnixTimestamp => ResultType::long(NOT_NULL),
            F::Now => ResultType::new(ColumnType::DATETIME, NOT_NULL | BINARY, 19),
            F::Uuid if family.is_mariadb() => ResultType::new(ColumnType::STRING, 0, 144),
            F::Rand => ResultType::new(ColumnType::DOUBLE, NOT_NULL | BINARY, 23),
            F::If => self.type_of_either(arguments.get(1..).unwrap_or_default(), context),
            F::IfNull | F::Coalesce | F::Greatest | F::Least => {
                self.type_of_either(arguments, context)
            }
            F::NullIf => first().nullable(),
            F::Abs | F::Mod => first(),
            F::Values => first(),
            F::CastSigned => match family.is_mariadb() {
                true => ResultType::integer(family, NOT_NULL, first().length.max(2)),
                false => ResultType::long(NOT_NULL),
            },
            F::CastUnsigned => match family.is_mariadb() {
                true => ResultType::integer(family, NOT_NULL | UNSIGNED, first().length),
                false => ResultType::long(NOT_NULL | UNSIGNED),
            },
            F::CastBinary => ResultType::new(ColumnType::VAR_STRING, BINARY, 255),
            _ => ResultType::text(0, 64),
        }
    }

    /// The type of one of several values.
    fn type_of_either(&self, all: &[Expr], context: &Context<'_>) -> ResultType {
        let types = all.iter().map(|it| self.type_of(it, context));
        let known = types.filter(|it| it.kind != ColumnType::NULL);
        known
            .reduce(|one, two| match one.is_numeric() == two.is_numeric() {
                true if one.length >= two.length => one,
                true => two,
                false => ResultType::text(one.flags & NOT_NULL, one.length.max(two.length)),
            })
            .unwrap_or(ResultType::new(ColumnType::NULL, BINARY, 0))
    }
}

fn type_of_literal(family: Family, value: &Value) -> ResultType {
    let length = u32::try_from(value.to_bytes().len()).unwrap_or(u32::MAX);
    match value {
        Value::Null => ResultType::new(ColumnType::NULL, BINARY, 0),
        Value::Int(_) => ResultType::integer(family, NOT_NULL, length),
        Value::Unsigned(_) => ResultType::long(NOT_NULL | UNSIGNED),
        Value::Decimal(_, scale) => ResultType {
            decimals: *scale,
            ..ResultType::new(ColumnType::NEWDECIMAL, NOT_NULL | BINARY, length + 1)
        },
        Value::Double(_) => ResultType::new(ColumnType::DOUBLE, NOT_NULL | BINARY, 23),
        Value::Text(_) => ResultType::text(NOT_NULL, length),
        Value::Binary(_) => {
            ResultType::new(ColumnType::VAR_STRING, NOT_NULL | UNSIGNED | BINARY, length)
        }
    }
}

fn type_of_parameter(value: Option<&Value>) -> ResultType {
    match value {
        Some(Value::Int(_)) => ResultType::long(0),
        Some(Value::Unsigned(_)) => ResultType::long(UNSIGNED),
        Some(Value::Double(_)) => ResultType::new(ColumnType::DOUBLE, BINARY, 23),
        Some(Value::Null) | None => ResultType::new(ColumnType::NULL, BINARY, 0),
        Some(other) => {
            let length = u32::try_from(other.to_bytes().len()).unwrap_or(u32::MAX);
            ResultType::text(0, length)
        }
    }
}
