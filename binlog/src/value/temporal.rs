//! Dates and times as values.

use std::fmt;

use crate::civil::CivilTime;

/// A date, a time, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temporal {
    /// DATE: year, month, day; any may be 0.
    Date(u32, u32, u32),
    /// TIME: from −838:59:59 to 838:59:59.
    Time {
        /// Whether the time is negative.
        is_negative: bool,
        /// Whole seconds.
        seconds: u32,
        /// The microseconds of the fraction.
        micros: u32,
        /// The number of digits of the fraction.
        digits: u8,
    },
    /// DATETIME: without a time zone.
    DateTime {
        /// Year, month, day.
        date: (u32, u32, u32),
        /// Hour, minute, second.
        time: (u32, u32, u32),
        /// The microseconds of the fraction.
        micros: u32,
        /// The number of digits of the fraction.
        digits: u8,
    },
    /// TIMESTAMP: a moment in UTC.
    Timestamp {
        /// Seconds since 1970.
        seconds: u32,
        /// The microseconds of the fraction.
        micros: u32,
        /// The number of digits of the fraction.
        digits: u8,
    },
}

impl fmt::Display for Temporal {
    /// Prints the value as servers do. A TIMESTAMP is in UTC and ends with `Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Date(year, month, day) => write!(f, "{year:04}-{month:02}-{day:02}"),
            Self::Time {
                is_negative,
                seconds,
                micros,
                digits,
            } => {
                let sign = if is_negative { "-" } else { "" };
                let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
                write!(f, "{sign}{hours:02}:{minutes:02}:{:02}", seconds % 60)?;
                fraction(f, micros, digits)
            }
            Self::DateTime {
                date: (year, month, day),
                time: (hour, minute, second),
                micros,
                digits,
            } => {
                write!(f, "{year:04}-{month:02}-{day:02} ")?;
                write!(f, "{hour:02}:{minute:02}:{second:02}")?;
                fraction(f, micros, digits)
            }
            Self::Timestamp {
                seconds: 0,
                micros: 0,
                digits,
            } => {
                f.write_str("0000-00-00 00:00:00")?;
                fraction(f, 0, digits)
            }
            Self::Timestamp {
                seconds,
                micros,
                digits,
            } => {
                CivilTime::of_seconds(u64::from(seconds)).fmt(f)?;
                fraction(f, micros, digits)?;
                f.write_str("Z")
            }
        }
    }
}

fn fraction(f: &mut fmt::Formatter<'_>, micros: u32, digits: u8) -> fmt::Result {
    if digits == 0 {
        return Ok(());
    }
    let all = format!("{micros:06}");
    let shown = all.get(..usize::from(digits)).unwrap_or(&all);
    write!(f, ".{shown}")
}
