//! Functions of times, as servers have them. All of it is UTC.

use jiff::civil::DateTime;
use jiff::{Span, Timestamp};
use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::Value;

use super::servers_functions::{Function, Outcome, text};
use crate::fault::Fault;

/// The units of an interval.
pub const UNITS: [&str; 9] = [
    "MICROSECOND",
    "SECOND",
    "MINUTE",
    "HOUR",
    "DAY",
    "WEEK",
    "MONTH",
    "QUARTER",
    "YEAR",
];

/// What a moment is called, whose argument may be how many digits of the second are wanted.
const MOMENTS: [&str; 5] = [
    "now",
    "sysdate",
    "utc_timestamp",
    "localtime",
    "localtimestamp",
];

const DATE: &str = "%Y-%m-%d";
const TIME: &str = "%H:%M:%S";
const BOTH: &str = "%Y-%m-%d %H:%M:%S";

/// Makes SQLite know them.
///
/// # Errors
/// SQLite's.
pub fn define(database: &Connection) -> Result<(), Fault> {
    let flags = FunctionFlags::SQLITE_UTF8;
    for name in MOMENTS {
        database.create_scalar_function(name, 0, flags, |_| Ok(now(BOTH)))?;
        database.create_scalar_function(name, 1, flags, now_with_digits)?;
    }
    let now_as: [(&str, &'static str); 4] = [
        ("curdate", DATE),
        ("utc_date", DATE),
        ("curtime", TIME),
        ("utc_time", TIME),
    ];
    for (name, format) in now_as {
        database.create_scalar_function(name, 0, flags, move |_| Ok(now(format)))?;
    }
    let functions: [Function; 25] = [
        ("unix_timestamp", 1, unix_timestamp),
        ("from_unixtime", 1, |it| from_unixtime(it, BOTH)),
        ("from_unixtime", 2, |it| match text(it, 1) {
            Some(format) => from_unixtime(it, &format),
            None => Ok(Value::Null),
        }),
        ("date_format", 2, |it| match (moment(it, 0), text(it, 1)) {
            (Some(at), Some(format)) => Ok(Value::Text(formatted(at, &format))),
            _ => Ok(Value::Null),
        }),
        ("timestamp", 1, |it| of(it, |at| Value::Text(shown(at)))),
        ("date_add", 3, |it| moved(it, 1)),
        ("date_sub", 3, |it| moved(it, -1)),
        ("datediff", 2, |it| match (moment(it, 0), moment(it, 1)) {
            (Some(a), Some(b)) => between(
                b.date().to_datetime(NOON),
                a.date().to_datetime(NOON),
                "DAY",
            ),
            _ => Ok(Value::Null),
        }),
        ("timestampdiff", 3, |it| {
            match (text(it, 0), moment(it, 1), moment(it, 2)) {
                (Some(unit), Some(a), Some(b)) => between(a, b, &unit),
                _ => Ok(Value::Null),
            }
        }),
        ("timediff", 2, timediff),
        ("sec_to_time", 1, |it| {
            let seconds = it.get::<Option<f64>>(0)?;
            Ok(seconds.map_or(Value::Null, |it| Value::Text(clock((it * 1e6) as i64))))
        }),
        ("time_to_sec", 1, |it| {
            of(it, |at| {
                number(
                    i64::from(at.hour()) * 3600
                        + i64::from(at.minute()) * 60
                        + i64::from(at.second()),
                )
            })
        }),
        ("extract", 2, extract),
        ("year", 1, |it| of(it, |at| number(at.year()))),
        ("quarter", 1, |it| of(it, |at| number((at.month() + 2) / 3))),
        ("month", 1, |it| of(it, |at| number(at.month()))),
        ("day", 1, |it| of(it, |at| number(at.day()))),
        ("dayofmonth", 1, |it| of(it, |at| number(at.day()))),
        ("dayofyear", 1, |it| of(it, |at| number(at.day_of_year()))),
        ("dayofweek", 1, |it| {
            of(it, |at| number(at.weekday().to_sunday_one_offset()))
        }),
        ("weekday", 1, |it| {
            of(it, |at| number(at.weekday().to_monday_zero_offset()))
        }),
        ("hour", 1, |it| of(it, |at| number(at.hour()))),
        ("minute", 1, |it| of(it, |at| number(at.minute()))),
        ("second", 1, |it| of(it, |at| number(at.second()))),
        ("last_day", 1, |it| {
            of(it, |at| Value::Text(at.date().last_of_month().to_string()))
        }),
    ];
    let flags = flags | FunctionFlags::SQLITE_DETERMINISTIC;
    for (name, arguments, function) in functions {
        database.create_scalar_function(name, arguments, flags, function)?;
    }
    Ok(())
}

const NOON: jiff::civil::Time = jiff::civil::Time::constant(12, 0, 0, 0);

fn now(format: &str) -> String {
    Timestamp::now().strftime(format).to_string()
}

fn now_with_digits(context: &Context<'_>) -> Outcome {
    let digits = context.get::<i64>(0)?;
    let now = now("%Y-%m-%d %H:%M:%S.%6f");
    let kept = match usize::try_from(digits).unwrap_or_default() {
        0 => 19,
        digits => 20 + digits.min(6),
    };
    Ok(Value::Text(now.get(..kept).unwrap_or(&now).to_owned()))
}

fn number(number: impl Into<i64>) -> Value {
    Value::Integer(number.into())
}

/// An argument as a time; none where it is no time.
fn moment(context: &Context<'_>, index: usize) -> Option<DateTime> {
    let text = text(context, index)?;
    let text = text.trim().trim_end_matches(['Z', 'z']);
    let is_time = text
        .find([':', '-'])
        .is_some_and(|at| text.as_bytes().get(at) == Some(&b':'));
    match is_time {
        true => {
            let today = Timestamp::now().strftime(DATE);
            format!("{today} {text}").parse().ok()
        }
        false => text.parse().ok(),
    }
}

fn of(context: &Context<'_>, what: fn(DateTime) -> Value) -> Outcome {
    Ok(moment(context, 0).map_or(Value::Null, what))
}

/// A time as servers show it.
fn shown(at: DateTime) -> String {
    let format = match at.subsec_nanosecond() {
        0 => BOTH,
        _ => "%Y-%m-%d %H:%M:%S.%6f",
    };
    at.strftime(format).to_string()
}

fn in_microseconds(at: DateTime) -> i64 {
    let zoned = jiff::tz::TimeZone::UTC.to_timestamp(at);
    zoned.map_or(0, Timestamp::as_microsecond)
}

fn unix_timestamp(context: &Context<'_>) -> Outcome {
    Ok(moment(context, 0).map_or(Value::Null, |at| {
        let microseconds = in_microseconds(at);
        match microseconds % 1_000_000 {
            0 => Value::Integer(microseconds / 1_000_000),
            _ => Value::Real(microseconds as f64 / 1e6),
        }
    }))
}

fn from_unixtime(context: &Context<'_>, format: &str) -> Outcome {
    let seconds = context.get::<Option<f64>>(0)?;
    let at = seconds.and_then(|it| Timestamp::from_microsecond((it * 1e6).round() as i64).ok());
    let Some(at) = at.filter(|it| it.as_second() >= 0) else {
        return Ok(Value::Null);
    };
    let at = jiff::tz::TimeZone::UTC.to_datetime(at);
    Ok(Value::Text(match format {
        BOTH => shown(at),
        format => formatted(at, format),
    }))
}

/// DATE_FORMAT's letters are not those of others.
fn formatted(at: DateTime, format: &str) -> String {
    let mut formatted = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            formatted.push(letter);
            continue;
        }
        let Some(letter) = letters.next() else {
            formatted.push('%');
            break;
        };
        let format = match letter {
            'i' => "%M",
            'M' => "%B",
            's' | 'S' => "%S",
            'f' => "%6f",
            'T' => TIME,
            'r' => "%I:%M:%S %p",
            'h' | 'I' => "%I",
            'c' => "%-m",
            'e' => "%-d",
            'k' => "%-H",
            'l' => "%-I",
            'W' => "%A",
            'a' => "%a",
            'b' => "%b",
            'd' => "%d",
            'H' => "%H",
            'j' => "%j",
            'm' => "%m",
            'p' => "%p",
            'U' => "%U",
            'w' => "%w",
            'Y' => "%Y",
            'y' => "%y",
            'v' => "%V",
            'x' => "%G",
            other => {
                formatted.push(other);
                continue;
            }
        };
        formatted.push_str(&at.strftime(format).to_string());
    }
    formatted
}

/// `date_add(x, n, 'unit')`: a date alone stays one where whole days are added.
fn moved(context: &Context<'_>, sign: i64) -> Outcome {
    let (Some(given), Some(at), Some(count), Some(unit)) = (
        text(context, 0),
        moment(context, 0),
        context.get::<Option<f64>>(1)?,
        text(context, 2),
    ) else {
        return Ok(Value::Null);
    };
    let unit = unit.to_ascii_uppercase();
    let moved = span(count * sign as f64, &unit).and_then(|span| at.checked_add(span).ok());
    let has_days = matches!(&*unit, "DAY" | "WEEK" | "MONTH" | "QUARTER" | "YEAR");
    Ok(moved.map_or(Value::Null, |moved| {
        Value::Text(match has_days && !given.contains(':') {
            true => moved.date().to_string(),
            false => shown(moved),
        })
    }))
}

fn span(count: f64, unit: &str) -> Option<Span> {
    let whole = count.round() as i64;
    let span = Span::new();
    let span = match unit {
        "MICROSECOND" => span.try_microseconds(whole),
        "SECOND" => span.try_microseconds((count * 1e6).round() as i64),
        "MINUTE" => span.try_minutes(whole),
        "HOUR" => span.try_hours(whole),
        "DAY" => span.try_days(whole),
        "WEEK" => span.try_weeks(whole),
        "MONTH" => span.try_months(whole),
        "QUARTER" => span.try_months(whole.checked_mul(3)?),
        "YEAR" => span.try_years(whole),
        _ => return None,
    };
    span.ok()
}

/// Whole units from one time to another.
fn between(from: DateTime, to: DateTime, unit: &str) -> Outcome {
    let microseconds = in_microseconds(to).saturating_sub(in_microseconds(from));
    let unit = unit.to_ascii_uppercase();
    let per = match &*unit {
        "MICROSECOND" => 1,
        "SECOND" => 1_000_000,
        "MINUTE" => 60_000_000,
        "HOUR" => 3_600_000_000,
        "DAY" => 86_400_000_000,
        "WEEK" => 7 * 86_400_000_000,
        "MONTH" | "QUARTER" | "YEAR" => {
            let months = from
                .until((jiff::Unit::Month, to))
                .map_or(0, |it| i64::from(it.get_months()));
            return Ok(number(match &*unit {
                "MONTH" => months,
                "QUARTER" => months / 3,
                _ => months / 12,
            }));
        }
        _ => return Ok(Value::Null),
    };
    Ok(number(microseconds / per))
}

fn timediff(context: &Context<'_>) -> Outcome {
    let (Some(a), Some(b)) = (moment(context, 0), moment(context, 1)) else {
        return Ok(Value::Null);
    };
    Ok(Value::Text(clock(
        in_microseconds(a).saturating_sub(in_microseconds(b)),
    )))
}

/// Microseconds as hours, minutes and seconds.
fn clock(microseconds: i64) -> String {
    let sign = if microseconds < 0 { "-" } else { "" };
    let all = microseconds.unsigned_abs();
    let (seconds, rest) = (all / 1_000_000, all % 1_000_000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match rest {
        0 => format!("{sign}{hours:02}:{minutes:02}:{seconds:02}"),
        _ => format!("{sign}{hours:02}:{minutes:02}:{seconds:02}.{rest:06}"),
    }
}

/// `extract('unit', x)`
fn extract(context: &Context<'_>) -> Outcome {
    let (Some(unit), Some(at)) = (text(context, 0), moment(context, 1)) else {
        return Ok(Value::Null);
    };
    Ok(match &*unit.to_ascii_uppercase() {
        "MICROSECOND" => number(at.subsec_nanosecond() / 1000),
        "SECOND" => number(at.second()),
        "MINUTE" => number(at.minute()),
        "HOUR" => number(at.hour()),
        "DAY" => number(at.day()),
        "MONTH" => number(at.month()),
        "QUARTER" => number((at.month() + 2) / 3),
        "YEAR" => number(at.year()),
        "WEEK" => number(at.iso_week_date().week()),
        _ => Value::Null,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn times_are_reckoned_as_on_servers() {
        let database = Connection::open_in_memory().unwrap();
        define(&database).unwrap();
        for (expression, expected) in [
            ("unix_timestamp('1970-01-02 00:00:00')", Some("86400")),
            ("unix_timestamp('nothing')", None),
            ("from_unixtime(86400)", Some("1970-01-02 00:00:00")),
            (
                "from_unixtime(0, '%Y/%c %k:%i:%s %%')",
                Some("1970/1 0:00:00 %"),
            ),
            (
                "date_format('2026-03-05T06:07:08Z', '%W %M %e %y %f')",
                Some("Thursday March 5 26 000000"),
            ),
            ("date_add('2026-01-31', 1, 'month')", Some("2026-02-28")),
            (
                "date_sub('2026-01-01 00:00:00', 1.5, 'second')",
                Some("2025-12-31 23:59:58.500000"),
            ),
            (
                "date_add('2026-01-01', 1, 'hour')",
                Some("2026-01-01 01:00:00"),
            ),
            ("date_add('9999-12-31', 1e9, 'year')", None),
            ("date_add(NULL, 1, 'year')", None),
            ("datediff('2026-03-01 23:59:59', '2026-02-01')", Some("28")),
            (
                "timestampdiff('minute', '2026-01-01', '2026-01-01 01:30:59')",
                Some("90"),
            ),
            (
                "timestampdiff('month', '2026-01-31', '2026-03-01')",
                Some("1"),
            ),
            (
                "timestampdiff('second', '2026-01-02', '2026-01-01')",
                Some("-86400"),
            ),
            (
                "timediff('2026-01-02 00:00:00', '2026-01-01 23:00:00.5')",
                Some("00:59:59.500000"),
            ),
            ("timediff('10:00:00', '11:30:00')", Some("-01:30:00")),
            ("sec_to_time(3661)", Some("01:01:01")),
            (
                "extract('year', '2026-01-01') + quarter('2026-05-01') + dayofweek('2026-11-23')",
                Some("2030"),
            ),
            ("last_day('2028-02-03')", Some("2028-02-29")),
            (
                "length(now()) || ' ' || length(now(3)) || ' ' || length(curdate())",
                Some("19 23 10"),
            ),
        ] {
            let select = format!("SELECT CAST({expression} AS TEXT)");
            let found: Option<String> = database.query_row(&select, [], |row| row.get(0)).unwrap();
            assert_eq!(found.as_deref(), expected, "{expression}");
        }
    }
}
