//! Durations and sizes, as people write them.

use std::str::FromStr;
use std::time::Duration;

/// Measures beyond this count as too large; it is far above every range, and far below an overflow.
pub(crate) const BEYOND: u64 = 1 << 60;

pub(crate) fn fraction_of_milliseconds(number: f64, unit_milliseconds: u64) -> Option<i128> {
    let milliseconds = number * unit_milliseconds as f64;
    (milliseconds.abs() < BEYOND as f64).then(|| milliseconds.round() as i128)
}

/// Reads a duration as the file writes it: `2s`, `500ms`, `1h30m`, or a number of seconds.
pub fn read_duration(text: &str) -> Option<Duration> {
    let milliseconds = parse_duration(text)?;
    u64::try_from(milliseconds).ok().map(Duration::from_millis)
}

/// Reads `2s`, `500ms`, `1h30m`, and `2.5` as seconds. Returns milliseconds.
pub(crate) fn parse_duration(text: &str) -> Option<i128> {
    if let Ok(seconds) = plain_number(text.trim()) {
        return fraction_of_milliseconds(seconds, 1000);
    }
    let mut rest = text.trim();
    let mut sum = 0;
    while !rest.is_empty() {
        let (number, tail) = split_number(rest)?;
        let unit_end = tail
            .find(|it: char| !it.is_ascii_alphabetic())
            .unwrap_or(tail.len());
        let unit_milliseconds = match &tail[..unit_end] {
            "ms" => 1,
            "s" => 1000,
            "m" | "min" => 60 * 1000,
            "h" => 60 * 60 * 1000,
            "d" => 24 * 60 * 60 * 1000,
            _ => return None,
        };
        sum += fraction_of_milliseconds(number, unit_milliseconds)?;
        rest = tail[unit_end..].trim_start();
    }
    (!text.trim().is_empty()).then_some(sum)
}

/// Reads `16MiB`, `16M` (mebibytes, as in MySQL), `1GiB`, `512`. Returns bytes.
pub(crate) fn parse_size(text: &str) -> Option<i128> {
    let (number, unit) = split_number(text.trim())?;
    let unit_bytes: u64 = match unit {
        "" | "B" => 1,
        "K" | "k" | "KiB" => 1 << 10,
        "M" | "m" | "MiB" => 1 << 20,
        "G" | "g" | "GiB" => 1 << 30,
        "T" | "t" | "TiB" => 1 << 40,
        _ => return None,
    };
    let bytes = number * unit_bytes as f64;
    (bytes < BEYOND as f64 && bytes.fract() == 0.0).then_some(bytes as i128)
}

/// Splits `2.5 s` into 2.5 and `s`.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let end = text
        .find(|it: char| !it.is_ascii_digit() && it != '.')
        .unwrap_or(text.len());
    Some((plain_number(&text[..end]).ok()?, text[end..].trim_start()))
}

/// Reads digits with at most one point; not `inf` or `1e9`, which `f64` would accept.
pub(crate) fn plain_number(text: &str) -> Result<f64, std::num::ParseFloatError> {
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    f64::from_str(if plain { text } else { "" })
}

/// A duration in its largest unit without a remainder: `8h`, `90s`, `1500ms`, `0s`.
pub(crate) fn spell_duration(duration: Duration) -> String {
    const UNITS: [(&str, u128); 4] = [
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1000),
    ];
    let milliseconds = duration.as_millis();
    if milliseconds == 0 {
        return "0s".to_owned();
    }
    match UNITS
        .iter()
        .find(|(_, unit)| milliseconds.is_multiple_of(*unit))
    {
        Some((name, unit)) => format!("{}{name}", milliseconds / unit),
        None => format!("{milliseconds}ms"),
    }
}

/// A size in its largest unit without a remainder: `1GiB`, `1500`.
pub(crate) fn spell_size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [
        ("TiB", 1 << 40),
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
    ];
    let unit = UNITS
        .iter()
        .find(|(_, unit)| bytes != 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(
        || bytes.to_string(),
        |(name, unit)| format!("{}{name}", bytes / unit),
    )
}
