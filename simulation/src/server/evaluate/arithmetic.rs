//! Operators and aggregates over values.

use std::cmp::Ordering;

use super::super::ast::{Aggregate, Operator};
use super::super::error::{SqlError, SqlResult};
use super::super::family::Family;
use super::super::value::Value;

/// The value of two operands.
///
/// # Errors
/// 1690 if an integer is too large.
pub(super) fn apply(
    family: Family,
    operator: Operator,
    left: &Value,
    right: &Value,
) -> SqlResult<Value> {
    use Operator as Op;
    let compared = |holds: fn(Ordering) -> bool| match left.compare(right) {
        None => Value::Null,
        Some(ordering) => Value::truth(holds(ordering)),
    };
    Ok(match operator {
        Op::And | Op::Or | Op::Xor => logical(operator, left.is_true(), right.is_true()),
        Op::Equal => compared(Ordering::is_eq),
        Op::NotEqual => compared(Ordering::is_ne),
        Op::Less => compared(Ordering::is_lt),
        Op::LessOrEqual => compared(Ordering::is_le),
        Op::Greater => compared(Ordering::is_gt),
        Op::GreaterOrEqual => compared(Ordering::is_ge),
        Op::NullSafeEqual => match (left.is_null(), right.is_null()) {
            (true, true) => Value::Int(1),
            (false, false) => compared(Ordering::is_eq),
            _ => Value::Int(0),
        },
        _ if left.is_null() || right.is_null() => Value::Null,
        _ => calculate(family, operator, left, right)?,
    })
}

fn logical(operator: Operator, left: Option<bool>, right: Option<bool>) -> Value {
    let known = match (operator, left, right) {
        (Operator::And, Some(false), _) | (Operator::And, _, Some(false)) => Some(false),
        (Operator::Or, Some(true), _) | (Operator::Or, _, Some(true)) => Some(true),
        (_, None, _) | (_, _, None) => None,
        (Operator::And, Some(left), Some(right)) => Some(left && right),
        (Operator::Or, Some(left), Some(right)) => Some(left || right),
        (_, Some(left), Some(right)) => Some(left != right),
    };
    known.map_or(Value::Null, Value::truth)
}

/// A number that is exact: its digits, and how many of them are behind the point.
fn exact(value: &Value) -> Option<(i128, u8)> {
    match value {
        Value::Int(number) => Some(((*number).into(), 0)),
        Value::Unsigned(number) => Some(((*number).into(), 0)),
        Value::Decimal(digits, scale) => Some((*digits, *scale)),
        _ => None,
    }
}

fn calculate(family: Family, operator: Operator, left: &Value, right: &Value) -> SqlResult<Value> {
    let (Some((one, one_scale)), Some((two, two_scale))) = (exact(left), exact(right)) else {
        return Ok(approximate(operator, left.to_double(), right.to_double()));
    };
    let is_integer = !matches!(left, Value::Decimal(..)) && !matches!(right, Value::Decimal(..));
    let is_unsigned = matches!(left, Value::Unsigned(_)) || matches!(right, Value::Unsigned(_));
    let scale = one_scale.max(two_scale);
    let raised = |digits: i128, from: u8| digits.saturating_mul(10i128.pow((scale - from).into()));
    let (a, b) = (raised(one, one_scale), raised(two, two_scale));
    let (digits, scale) = match operator {
        Operator::Add => (a.saturating_add(b), scale),
        Operator::Subtract => (a.saturating_sub(b), scale),
        Operator::Multiply => (one.saturating_mul(two), one_scale + two_scale),
        _ if b == 0 => return Ok(Value::Null),
        Operator::Modulo => (a % b, scale),
        Operator::IntegerDivide => (a / b, 0),
        // Four digits more than the dividend has.
        _ => {
            let dividend = a.saturating_mul(10i128.pow(u32::from(one_scale) + 5));
            let quotient = dividend / b;
            return Ok(Value::Decimal(
                (quotient + 5 * quotient.signum()) / 10,
                one_scale + 4,
            ));
        }
    };
    if !is_integer && operator != Operator::IntegerDivide {
        return Ok(Value::Decimal(digits, scale));
    }
    integer(digits, is_unsigned).ok_or_else(|| {
        let sign = match operator {
            Operator::Add => "+",
            Operator::Subtract => "-",
            _ => "*",
        };
        let kind = if is_unsigned {
            "BIGINT UNSIGNED"
        } else {
            "BIGINT"
        };
        let place = format!("{} {sign} {}", left.to_text(), right.to_text());
        let text = match family.is_mariadb() {
            true => format!("{kind} value is out of range in '{place}'"),
            false => format!("{kind} value is out of range in '({place})'"),
        };
        SqlError::new(family, 1690, text)
    })
}

fn integer(number: i128, is_unsigned: bool) -> Option<Value> {
    match is_unsigned {
        true => u64::try_from(number).ok().map(Value::Unsigned),
        false => i64::try_from(number).ok().map(Value::Int),
    }
}

fn approximate(operator: Operator, left: f64, right: f64) -> Value {
    match operator {
        Operator::Add => Value::Double(left + right),
        Operator::Subtract => Value::Double(left - right),
        Operator::Multiply => Value::Double(left * right),
        _ if right == 0.0 => Value::Null,
        Operator::Modulo => Value::Double(left % right),
        Operator::IntegerDivide => Value::Int((left / right) as i64),
        _ => Value::Double(left / right),
    }
}

/// `- value`.
///
/// # Errors
/// 1690.
pub(super) fn negative(family: Family, value: Value) -> SqlResult<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        other => calculate(family, Operator::Subtract, &Value::Int(0), &other),
    }
}

/// The value of an aggregate over values that are not NULL.
///
/// # Errors
/// 1690.
pub(super) fn aggregate(family: Family, of: Aggregate, values: Vec<Value>) -> SqlResult<Value> {
    let better = |wanted: Ordering| {
        move |one: Value, two: Value| match two.compare(&one) == Some(wanted) {
            true => two,
            false => one,
        }
    };
    Ok(match of {
        Aggregate::Count => Value::Int(i64::try_from(values.len()).unwrap_or(i64::MAX)),
        Aggregate::Max => values
            .into_iter()
            .reduce(better(Ordering::Greater))
            .unwrap_or(Value::Null),
        Aggregate::Min => values
            .into_iter()
            .reduce(better(Ordering::Less))
            .unwrap_or(Value::Null),
        Aggregate::Sum if values.is_empty() => Value::Null,
        Aggregate::Sum => {
            let mut sum = Value::Decimal(0, 0);
            for value in &values {
                sum = calculate(family, Operator::Add, &sum, value)?;
            }
            sum
        }
    })
}

/// Whether an operator has divided by zero, which makes NULL.
pub(super) fn divides_by_zero(operator: Operator, left: &Value, right: &Value) -> bool {
    use Operator::{Divide, IntegerDivide, Modulo};
    matches!(operator, Divide | IntegerDivide | Modulo)
        && !left.is_null()
        && !right.is_null()
        && right.to_double() == 0.0
}
