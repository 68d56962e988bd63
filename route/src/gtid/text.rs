//! Parsing that is common to the positions of both families.

use std::fmt;

/// The error for a text that is no position; it names the missing part.
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
