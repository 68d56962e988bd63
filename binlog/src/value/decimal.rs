//! DECIMAL: digits in groups of nine, highest group first (`decimal2bin` of `decimal.c`).

use std::fmt::Write as _;

use wire::{Malformed, Reader};

/// How many bytes an incomplete group takes, by its number of digits.
const LEFTOVER_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
const GROUP_DIGITS: usize = 9;
const GROUP_BYTES: usize = 4;

/// The maximum number of digits of a DECIMAL. In MariaDB, at most 38 of them are after the decimal point.
const PRECISION_MAX: usize = 65;

fn bytes_of(digits: usize) -> usize {
    let leftover = LEFTOVER_BYTES.get(digits % GROUP_DIGITS);
    digits / GROUP_DIGITS * GROUP_BYTES + leftover.copied().unwrap_or(0)
}

/// Reads a number with `precision` digits. `scale` of them are after the decimal point.
pub(crate) fn read_decimal(
    reader: &mut Reader<'_>,
    precision: usize,
    scale: usize,
) -> Result<String, Malformed> {
    let whole = precision
        .checked_sub(scale)
        .filter(|_| precision <= PRECISION_MAX);
    let whole = whole.ok_or(Malformed::Invalid("precision of a DECIMAL"))?;
    let mut bytes = reader
        .bytes(bytes_of(whole) + bytes_of(scale), "DECIMAL")?
        .to_vec();
    let first = bytes.first_mut().ok_or(Malformed::Invalid("DECIMAL"))?;
    // The first bit is the inverted sign. For a negative number all bits are inverted.
    let is_negative = *first & 0x80 == 0;
    *first ^= 0x80;
    if is_negative {
        bytes.iter_mut().for_each(|byte| *byte = !*byte);
    }
    let mut groups = Reader::new(&bytes);
    let mut digits = String::new();
    put_group(&mut digits, &mut groups, whole % GROUP_DIGITS)?;
    for _ in 0..whole / GROUP_DIGITS {
        put_group(&mut digits, &mut groups, GROUP_DIGITS)?;
    }
    let significant = digits.trim_start_matches('0');
    let mut text = if is_negative { "-" } else { "" }.to_owned();
    text += if significant.is_empty() {
        "0"
    } else {
        significant
    };
    if scale > 0 {
        text.push('.');
        for _ in 0..scale / GROUP_DIGITS {
            put_group(&mut text, &mut groups, GROUP_DIGITS)?;
        }
        put_group(&mut text, &mut groups, scale % GROUP_DIGITS)?;
    }
    Ok(text)
}

/// Appends the digits of one group.
fn put_group(text: &mut String, reader: &mut Reader<'_>, digits: usize) -> Result<(), Malformed> {
    if digits == 0 {
        return Ok(());
    }
    let value = reader.uint_high_first(bytes_of(digits), "DECIMAL")?;
    let written = text.len();
    let _ = write!(text, "{value:0digits$}");
    if text.len() - written > digits {
        return Err(Malformed::Invalid("digits of a DECIMAL"));
    }
    Ok(())
}

/// Appends a number from its text. It has `precision` digits, of which `scale` are after the decimal point. Further
/// digits are rounded.
pub(super) fn put_decimal(
    out: &mut Vec<u8>,
    text: &str,
    (precision, scale): (usize, usize),
) -> Result<(), &'static str> {
    const NO_NUMBER: &str = "the value is no decimal number";
    const RANGE: &str = "the value is out of the column's range";
    let whole_digits = precision
        .checked_sub(scale)
        .filter(|_| precision <= PRECISION_MAX)
        .ok_or("the column's precision is not known")?;
    let (is_negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let is_number = unsigned.len() > usize::from(unsigned.contains('.'))
        && [whole, fraction]
            .iter()
            .all(|it| it.bytes().all(|it| it.is_ascii_digit()));
    if !is_number {
        return Err(NO_NUMBER);
    }
    let whole = whole.trim_start_matches('0');
    if whole.len() > whole_digits {
        return Err(RANGE);
    }
    let mut digits = format!("{whole:0>whole_digits$}");
    digits.extend(fraction.chars().chain(std::iter::repeat('0')).take(scale));
    let mut digits = digits.into_bytes();
    let next = fraction.as_bytes().get(scale);
    if next.is_some_and(|it| *it >= b'5') && !add_one(&mut digits) {
        return Err(RANGE);
    }
    let is_zero = digits.iter().all(|it| *it == b'0');
    let begin = out.len();
    let (whole, fraction) = digits.split_at(whole_digits);
    let (first, groups) = whole.split_at(whole_digits % GROUP_DIGITS);
    let groups = groups.chunks(GROUP_DIGITS);
    for group in std::iter::once(first)
        .chain(groups)
        .chain(fraction.chunks(GROUP_DIGITS))
    {
        let digit = |value: u32, byte: &u8| value * 10 + u32::from(*byte - b'0');
        let value = group.iter().fold(0, digit).to_be_bytes();
        out.extend(value.iter().skip(GROUP_BYTES - bytes_of(group.len())));
    }
    let written = out.get_mut(begin..).unwrap_or_default();
    if is_negative && !is_zero {
        written.iter_mut().for_each(|byte| *byte = !*byte);
    }
    if let Some(first) = written.first_mut() {
        *first ^= 0x80;
    }
    Ok(())
}

/// Adds one to the last digit. Returns false if the number would need another digit.
fn add_one(digits: &mut [u8]) -> bool {
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return true;
        }
        *digit = b'0';
    }
    false
}
