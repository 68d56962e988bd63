//! What the texts of both families have in common.

use std::fmt;

/// A text that is no position; it names what it lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MalformedPosition(pub &'static str);

impl fmt::Display for MalformedPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no GTID position: {}", self.0)
    }
}

impl std::error::Error for MalformedPosition {}

/// Reads a whole number of decimal digits.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}
