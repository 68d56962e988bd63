//! DECIMAL: groups of nine digits, highest first (`decimal2bin` of `decimal.c`).

use std::fmt::Write as _;

use wire::{Malformed, Reader};

/// How many bytes so many leftover digits take.
const LEFTOVER_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
const GROUP_DIGITS: usize = 9;
const GROUP_BYTES: usize = 4;

/// A server's DECIMAL has 65 digits at most, MariaDB's 38 of them behind the point.
const PRECISION_MAX: usize = 65;

fn bytes_of(digits: usize) -> usize {
    let leftover = LEFTOVER_BYTES.get(digits % GROUP_DIGITS);
    digits / GROUP_DIGITS * GROUP_BYTES + leftover.copied().unwrap_or(0)
}

/// Reads a number of so many digits, so many of them behind the point.
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
    // The sign is the first bit, inverted; a negative number has all bits inverted.
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

/// Appends so many digits.
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
