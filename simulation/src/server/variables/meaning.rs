//! Which values a variable takes, and what becomes of them.

use super::super::error::SqlResult;
use super::super::family::Family;
use super::super::value::Value;
use super::{Definition, Kind, double};

/// The value that a variable has after it was set to `value`.
///
/// # Errors
/// 1115, 1231, 1232, 1273.
pub fn accepted(family: Family, of: &Definition, value: Value) -> SqlResult<Value> {
    match of.kind {
        Kind::Switch => switch(family, of, &value),
        Kind::Unsigned | Kind::Signed => integer(family, of, value),
        Kind::Double => match value {
            Value::Text(_) | Value::Null => Err(family.wrong_type(of.name)),
            other => Ok(double(other.to_double())),
        },
        Kind::Text => text(family, of, value),
    }
}

fn wrong(family: Family, of: &Definition, value: &Value) -> super::super::error::SqlError {
    let shown = match value {
        Value::Null => "NULL".to_owned(),
        other => other.to_text(),
    };
    family.wrong_value(of.name, shown)
}

fn switch(family: Family, of: &Definition, value: &Value) -> SqlResult<Value> {
    match value {
        Value::Int(number @ (0 | 1)) => Ok(Value::Int(*number)),
        Value::Text(bytes) | Value::Binary(bytes) => match bytes.to_ascii_uppercase().as_slice() {
            b"ON" | b"TRUE" => Ok(Value::Int(1)),
            b"OFF" | b"FALSE" => Ok(Value::Int(0)),
            _ => Err(wrong(family, of, value)),
        },
        other => Err(wrong(family, of, other)),
    }
}

fn integer(family: Family, of: &Definition, value: Value) -> SqlResult<Value> {
    Ok(match (of.kind, value) {
        (_, Value::Text(_) | Value::Null | Value::Double(_) | Value::Decimal(..)) => {
            return Err(family.wrong_type(of.name));
        }
        // A hexadecimal literal is a number here.
        (_, Value::Binary(bytes)) => {
            let number = bytes.iter().fold(0u64, |sum, it| sum << 8 | u64::from(*it));
            Value::Unsigned(number)
        }
        (Kind::Unsigned, Value::Int(number)) => Value::Unsigned(u64::try_from(number).unwrap_or(0)),
        (_, other) => other,
    })
}

/// Words that a variable takes.
const WORDS: &[(&str, &[&str])] = &[
    (
        "session_track_transaction_info",
        &["OFF", "STATE", "CHARACTERISTICS"],
    ),
    ("session_track_gtids", &["OFF", "OWN_GTID", "ALL_GTIDS"]),
    ("completion_type", &["NO_CHAIN", "CHAIN", "RELEASE"]),
    ("tx_isolation", ISOLATION),
    ("transaction_isolation", ISOLATION),
    ("binlog_format", &["MIXED", "STATEMENT", "ROW"]),
    ("resultset_metadata", &["NONE", "FULL"]),
];

const ISOLATION: &[&str] = &[
    "READ-UNCOMMITTED",
    "READ-COMMITTED",
    "REPEATABLE-READ",
    "SERIALIZABLE",
];

/// Character sets that the model knows.
const CHARSETS: &[&str] = &[
    "utf8mb4", "utf8mb3", "utf8", "latin1", "ascii", "binary", "latin2", "cp1250", "cp1251",
    "koi8r", "greek", "hebrew", "latin5", "latin7", "ucs2", "utf16", "utf32", "sjis", "gbk",
    "big5",
];

fn text(family: Family, of: &Definition, value: Value) -> SqlResult<Value> {
    if let Some((_, words)) = WORDS.iter().find(|(name, _)| *name == of.name) {
        return word(family, of, words, value);
    }
    let is_charset = of.name.starts_with("character_set_") && of.name != "character_set_system";
    if is_charset {
        return charset(family, of, &value);
    }
    if of.name.starts_with("collation_") {
        return collation(family, of, &value);
    }
    match (of.name, value) {
        ("sql_mode", value) => sql_mode(family, of, &value),
        (_, Value::Binary(bytes)) => Ok(Value::Text(bytes)),
        (_, value @ (Value::Text(_) | Value::Null)) => Ok(value),
        (_, Value::Int(number)) if !matches!(of.name, "time_zone" | "init_connect") => {
            Ok(Value::text(number.to_string()))
        }
        (_, _) => Err(family.wrong_type(of.name)),
    }
}

fn word(family: Family, of: &Definition, words: &[&str], value: Value) -> SqlResult<Value> {
    let found = match &value {
        Value::Int(number) => usize::try_from(*number).ok().and_then(|it| words.get(it)),
        other => {
            let text = other.to_text();
            words.iter().find(|it| it.eq_ignore_ascii_case(&text))
        }
    };
    found
        .map(Value::text)
        .ok_or_else(|| wrong(family, of, &value))
}

fn charset(family: Family, of: &Definition, value: &Value) -> SqlResult<Value> {
    if value.is_null() && of.name == "character_set_results" {
        return Ok(Value::Null);
    }
    if value.is_null() {
        return Err(wrong(family, of, value));
    }
    let name = charset_name(family, &value.to_text())?;
    let is_wide = matches!(name.as_str(), "ucs2" | "utf16" | "utf32");
    match is_wide && of.name == "character_set_client" {
        true => Err(wrong(family, of, value)),
        false => Ok(Value::text(name)),
    }
}

/// A character set by its name in any case.
///
/// # Errors
/// 1115.
pub fn charset_name(family: Family, name: &str) -> SqlResult<String> {
    let lower = name.to_ascii_lowercase();
    match CHARSETS.contains(&lower.as_str()) {
        true if lower == "utf8" => Ok("utf8mb3".to_owned()),
        true => Ok(lower),
        false => Err(family.unknown_charset(name)),
    }
}

fn collation(family: Family, of: &Definition, value: &Value) -> SqlResult<Value> {
    if value.is_null() {
        return Err(wrong(family, of, value));
    }
    let text = value.to_text();
    let lower = text.to_ascii_lowercase();
    let charset = lower.split('_').next().unwrap_or_default();
    let has_charset = CHARSETS.contains(&charset);
    let is_old = lower.ends_with("_0900_ai_ci") && family.is_mariadb();
    let ends = ["_ci", "_bin", "_cs", "binary"]
        .iter()
        .any(|it| lower.ends_with(it));
    match has_charset && ends && !is_old {
        true => Ok(Value::text(lower)),
        false => Err(family.unknown_collation(text)),
    }
}

/// Modes in the order in which both families list them; the second tells which family has it.
const MODES: &[(&str, Option<Family>)] = &[
    ("REAL_AS_FLOAT", None),
    ("PIPES_AS_CONCAT", None),
    ("ANSI_QUOTES", None),
    ("IGNORE_SPACE", None),
    ("IGNORE_BAD_TABLE_OPTIONS", Some(Family::MariaDb)),
    ("ONLY_FULL_GROUP_BY", None),
    ("NO_UNSIGNED_SUBTRACTION", None),
    ("NO_DIR_IN_CREATE", None),
    ("ANSI", None),
    ("NO_AUTO_VALUE_ON_ZERO", None),
    ("NO_BACKSLASH_ESCAPES", None),
    ("STRICT_TRANS_TABLES", None),
    ("STRICT_ALL_TABLES", None),
    ("NO_ZERO_IN_DATE", None),
    ("NO_ZERO_DATE", None),
    ("ALLOW_INVALID_DATES", None),
    ("ERROR_FOR_DIVISION_BY_ZERO", None),
    ("TRADITIONAL", None),
    ("NO_AUTO_CREATE_USER", Some(Family::MariaDb)),
    ("HIGH_NOT_PRECEDENCE", None),
    ("NO_ENGINE_SUBSTITUTION", None),
    ("PAD_CHAR_TO_FULL_LENGTH", None),
];

/// Modes that stand for several.
const GROUPS: &[(&str, &str)] = &[
    (
        "ANSI",
        "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE",
    ),
    (
        "TRADITIONAL",
        "STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,\
         NO_ENGINE_SUBSTITUTION",
    ),
];

fn sql_mode(family: Family, of: &Definition, value: &Value) -> SqlResult<Value> {
    let text = match value {
        Value::Text(_) | Value::Binary(_) => value.to_text().to_ascii_uppercase(),
        other => return Err(wrong(family, of, other)),
    };
    let mut wanted: Vec<&str> = Vec::new();
    for name in text.split(',').filter(|it| !it.is_empty()) {
        let is_known =
            |it: &&(&str, Option<Family>)| it.0 == name && it.1.is_none_or(|only| only == family);
        if !MODES.iter().any(|it| is_known(&it)) {
            return Err(family.wrong_value(of.name, name));
        }
        wanted.push(name);
        let group = GROUPS.iter().find(|(group, _)| *group == name);
        wanted.extend(
            group
                .map_or("", |it| it.1)
                .split(',')
                .filter(|it| !it.is_empty()),
        );
    }
    if !family.is_mariadb() && wanted.contains(&"ANSI") {
        wanted.push("ONLY_FULL_GROUP_BY");
    }
    let listed = MODES.iter().map(|it| it.0).filter(|it| wanted.contains(it));
    Ok(Value::text(listed.collect::<Vec<_>>().join(",")))
}
