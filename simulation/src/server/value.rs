//! Values of SQL as the model knows them: integers, decimals, floating-point numbers, strings, NULL.

use std::cmp::Ordering;
use std::rc::Rc;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An integer that has no sign.
    Unsigned(u64),
    /// `digits` with so many of them behind the point.
    Decimal(i128, u8),
    /// A floating-point number.
    Double(f64),
    /// A string in the session's character set.
    Text(Rc<[u8]>),
    /// A string of bytes: `X'…'`.
    Binary(Rc<[u8]>),
}

impl Value {
    /// A string.
    pub fn text(text: impl AsRef<[u8]>) -> Self {
        Self::Text(Rc::from(text.as_ref()))
    }

    /// 1 or 0.
    pub fn truth(is: bool) -> Self {
        Self::Int(is.into())
    }

    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The bytes of a string; none for other values.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Text(bytes) | Self::Binary(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Appends what the text protocol sends; nothing for NULL.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Int(number) => put_signed(out, *number),
            Self::Unsigned(number) => put_unsigned(out, *number),
            Self::Decimal(digits, scale) => {
                out.extend_from_slice(decimal(*digits, *scale).as_bytes())
            }
            Self::Double(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Self::Text(bytes) | Self::Binary(bytes) => out.extend_from_slice(bytes),
        }
    }

    /// The same as bytes of its own.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_text(&mut out);
        out
    }

    /// The same as a text; what is no UTF-8 is replaced.
    pub fn to_text(&self) -> String {
        String::from_utf8_lossy(&self.to_bytes()).into_owned()
    }

    /// What it is as a floating-point number; NULL is 0.
    pub fn to_double(&self) -> f64 {
        match self {
            Self::Null => 0.0,
            Self::Int(number) => *number as f64,
            Self::Unsigned(number) => *number as f64,
            Self::Decimal(digits, scale) => *digits as f64 / 10f64.powi((*scale).into()),
            Self::Double(number) => *number,
            Self::Text(bytes) | Self::Binary(bytes) => leading_number(bytes).0,
        }
    }

    /// What it is as a signed integer, rounded; NULL is 0.
    pub fn to_int(&self) -> i64 {
        match self {
            Self::Null => 0,
            Self::Int(number) => *number,
            Self::Unsigned(number) => i64::try_from(*number).unwrap_or(i64::MAX),
            Self::Text(bytes) | Self::Binary(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) if text.parse::<i64>().is_ok() => text.parse().unwrap_or_default(),
                _ => self.to_double().round() as i64,
            },
            Self::Decimal(..) | Self::Double(_) => self.to_double().round() as i64,
        }
    }

    /// Whether a condition of it is met: none for NULL.
    pub fn is_true(&self) -> Option<bool> {
        match self {
            Self::Null => None,
            Self::Int(number) => Some(*number != 0),
            other => Some(other.to_double() != 0.0),
        }
    }

    /// How two values compare; none if one of them is NULL.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::Null, _) | (_, Self::Null) => return None,
            (Self::Int(one), Self::Int(two)) => one.cmp(two),
            (Self::Unsigned(one), Self::Unsigned(two)) => one.cmp(two),
            (Self::Binary(one), Self::Text(two) | Self::Binary(two)) => one.cmp(two),
            (Self::Text(one), Self::Binary(two)) => one.cmp(two),
            (Self::Text(one), Self::Text(two)) => compare_texts(one, two),
            (one, two) => match (one.wide(), two.wide()) {
                (Some(one), Some(two)) => one.cmp(&two),
                _ => one.to_double().total_cmp(&two.to_double()),
            },
        })
    }

    fn wide(&self) -> Option<i128> {
        match self {
            Self::Int(number) => Some((*number).into()),
            Self::Unsigned(number) => Some((*number).into()),
            _ => None,
        }
    }
}

/// Compares without case, and without spaces at the end: as the default collations do with ASCII.
fn compare_texts(one: &[u8], two: &[u8]) -> Ordering {
    let (one, two) = (one.trim_ascii_end(), two.trim_ascii_end());
    let folded = |bytes: &[u8]| bytes.iter().map(u8::to_ascii_lowercase).collect::<Vec<_>>();
    match one == two {
        true => Ordering::Equal,
        false => folded(one).cmp(&folded(two)),
    }
}

/// The number that a text begins with, and whether it is nothing else.
pub fn leading_number(bytes: &[u8]) -> (f64, bool) {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    let is_part = |(at, c): &(usize, char)| {
        c.is_ascii_digit() || *c == '.' || matches!(c, '-' | '+') && *at == 0
    };
    let length = text.char_indices().take_while(is_part).count();
    let head = text.get(..length).unwrap_or_default();
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => (number, true),
        _ => (head.parse().unwrap_or(0.0), false),
    }
}

/// Appends a number in decimal.
pub fn put_unsigned(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

fn put_signed(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    put_unsigned(out, number.unsigned_abs());
}

fn decimal(digits: i128, scale: u8) -> String {
    if scale == 0 {
        return digits.to_string();
    }
    let sign = if digits < 0 { "-" } else { "" };
    let unit = 10u128.pow(scale.into());
    let (whole, rest) = (digits.unsigned_abs() / unit, digits.unsigned_abs() % unit);
    format!("{sign}{whole}.{rest:0width$}", width = usize::from(scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_the_servers_write_them() {
        for (value, text) in [
            (Value::Int(-7), "-7"),
            (Value::Int(i64::MIN), "-9223372036854775808"),
            (Value::Unsigned(u64::MAX), "18446744073709551615"),
            (Value::Decimal(-105, 2), "-1.05"),
            (Value::Decimal(3, 0), "3"),
            (Value::Double(0.5), "0.5"),
            (Value::Null, ""),
        ] {
            assert_eq!(value.to_text(), text);
        }
    }

    #[test]
    fn texts_compare_without_case_and_with_numbers_as_numbers() {
        let equal = |one: &Value, two: &Value| one.compare(two) == Some(Ordering::Equal);
        assert!(equal(&Value::text("Ab "), &Value::text("aB")));
        assert!(equal(&Value::text("12x"), &Value::Int(12)));
        assert!(!equal(&Value::Unsigned(u64::MAX), &Value::Int(-1)));
        assert_eq!(Value::Null.compare(&Value::Null), None);
    }
}
