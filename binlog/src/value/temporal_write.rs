//! Turns texts, as [`super::Temporal`] prints them, into dates and times of columns.

use crate::civil::days_of_date;
use crate::column::{Column, ColumnType};

/// The server adds this number to a DATETIME2.
const DATETIME_OFFSET: u64 = 0x80_0000_0000;

/// The maximum hours of a TIME.
const HOURS_MAX: u32 = 838;

const SECONDS_OF_DAY: u64 = 24 * 3600;

const NO_DATE: &str = "the value is no date (YYYY-MM-DD)";
const NO_DATE_TIME: &str = "the value is no date and time (YYYY-MM-DD hh:mm:ss)";
const NO_TIME: &str = "the value is no time (hh:mm:ss)";

/// Year, month and day; or hour, minute and second.
type Three = (u32, u32, u32);

/// Appends the value of a column with a date or a time.
pub(super) fn put_temporal(
    out: &mut Vec<u8>,
    column: &Column,
    text: &str,
) -> Result<(), &'static str> {
    let digits = column.metadata.min(6) as u8;
    match column.column_type {
        ColumnType::DATE | ColumnType::NEWDATE => {
            let (year, month, day) = date(text).ok_or(NO_DATE)?;
            let packed = year << 9 | month << 5 | day;
            out.extend(packed.to_le_bytes().into_iter().take(3));
        }
        ColumnType::TIME | ColumnType::TIME2 => put_time(out, column, text, digits)?,
        _ => {
            let (date, time, micros) = date_time(text).ok_or(NO_DATE_TIME)?;
            put_date_time(out, column.column_type, (date, time))?;
            let has_fraction = matches!(
                column.column_type,
                ColumnType::DATETIME2 | ColumnType::TIMESTAMP2
            );
            if has_fraction {
                put_fraction(out, micros, digits);
            }
        }
    }
    Ok(())
}

fn put_date_time(
    out: &mut Vec<u8>,
    column_type: ColumnType,
    (date, time): (Three, Three),
) -> Result<(), &'static str> {
    let (year, month, day) = date;
    let (hour, minute, second) = time;
    match column_type {
        ColumnType::DATETIME2 => {
            let months = u64::from(year * 13 + month);
            let days = months << 5 | u64::from(day);
            let clock = u64::from(hour << 12 | minute << 6 | second);
            let whole = DATETIME_OFFSET + (days << 17 | clock);
            out.extend(whole.to_be_bytes().into_iter().skip(3));
        }
        ColumnType::DATETIME => {
            let days = u64::from(year * 10_000 + month * 100 + day);
            let clock = u64::from(hour * 10_000 + minute * 100 + second);
            out.extend((days * 1_000_000 + clock).to_le_bytes());
        }
        ColumnType::TIMESTAMP => out.extend(moment(date, time)?.to_le_bytes()),
        ColumnType::TIMESTAMP2 => out.extend(moment(date, time)?.to_be_bytes()),
        _ => return Err("values of this type cannot be replaced"),
    }
    Ok(())
}

fn put_time(
    out: &mut Vec<u8>,
    column: &Column,
    text: &str,
    digits: u8,
) -> Result<(), &'static str> {
    let (is_negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let ((hour, minute, second), micros) = clock(text, HOURS_MAX).ok_or(NO_TIME)?;
    let sign = if is_negative { -1 } else { 1 };
    if column.column_type == ColumnType::TIME {
        let value = sign * i64::from(hour * 10_000 + minute * 100 + second);
        out.extend(value.to_le_bytes().into_iter().take(3));
        return Ok(());
    }
    let count = usize::from(digits).div_ceil(2);
    let mut fraction = Vec::new();
    put_fraction(&mut fraction, micros, digits);
    let whole = i64::from(hour << 12 | minute << 6 | second);
    let magnitude = fraction
        .iter()
        .fold(whole, |value, byte| value << 8 | i64::from(*byte));
    let value = sign * magnitude + (1 << (23 + 8 * count));
    out.extend(value.to_be_bytes().into_iter().skip(5 - count));
    Ok(())
}

/// Appends a fraction: two digits per byte. Digits that the column does not have are cut off.
fn put_fraction(out: &mut Vec<u8>, micros: u32, digits: u8) {
    let cut = micros - micros % 10_u32.pow(6 - u32::from(digits));
    let count = usize::from(digits).div_ceil(2);
    let value = cut / 100_u32.pow(3 - count as u32);
    out.extend(value.to_be_bytes().into_iter().skip(4 - count));
}

/// Returns the seconds since 1970 of a moment in UTC; 0 if the date is 0000-00-00.
fn moment(date: Three, (hour, minute, second): Three) -> Result<u32, &'static str> {
    const RANGE: &str = "a TIMESTAMP is from 1970-01-01 00:00:01 to 2106-02-07 06:28:15 in UTC";
    if date == (0, 0, 0) {
        return Ok(0);
    }
    let days = days_of_date(date).ok_or(RANGE)?;
    let clock = u64::from(hour * 3600 + minute * 60 + second);
    u32::try_from(days * SECONDS_OF_DAY + clock).map_err(|_| RANGE)
}

fn date_time(text: &str) -> Option<(Three, Three, u32)> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (day, time) = match text.split_once([' ', 'T']) {
        Some((day, time)) => (day, Some(time)),
        None => (text, None),
    };
    let (time, micros) = match time {
        Some(time) => clock(time, 23)?,
        None => ((0, 0, 0), 0),
    };
    Some((date(day)?, time, micros))
}

fn date(text: &str) -> Option<Three> {
    let mut parts = text.split('-');
    let mut next = |most: u32| small(parts.next()?, most);
    let date = (next(9999)?, next(12)?, next(31)?);
    parts.next().is_none().then_some(date)
}

fn clock(text: &str, hours_max: u32) -> Option<(Three, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let mut next = |most: u32| small(parts.next()?, most);
    let clock = (next(hours_max)?, next(59)?, next(59)?);
    let is_fraction = fraction.len() <= 6 && fraction.bytes().all(|it| it.is_ascii_digit());
    if parts.next().is_some() || !is_fraction {
        return None;
    }
    let micros = format!("{fraction:0<6}").parse().ok()?;
    Some((clock, micros))
}

fn small(text: &str, most: u32) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_number)?;
    (number <= most).then_some(number)
}
