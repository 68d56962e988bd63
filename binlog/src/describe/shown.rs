//! Named values that can be printed as text and as JSON.

use std::fmt::{self, Write as _};

use crate::json::JsonDiff;

/// A value to print.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// NULL
    Null,
    /// Yes or no.
    Flag(bool),
    /// A number, as digits.
    Number(String),
    /// An integer whose column may be signed or unsigned: the value for both.
    SignUnknown(i64, u64),
    /// A text.
    Text(String),
    /// A JSON text.
    Json(String),
    /// The changes of a JSON document in the column of this name.
    JsonChanges(String, Vec<JsonDiff>),
    /// Several values.
    List(Vec<Shown>),
    /// Named values.
    Object(Description),
}

impl Shown {
    /// Creates a number.
    pub fn number(number: impl fmt::Display) -> Self {
        Self::Number(number.to_string())
    }

    /// Creates a text from bytes that should be UTF-8.
    pub fn text(bytes: &[u8]) -> Self {
        Self::Text(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Appends the value as JSON.
    pub fn put_json(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Flag(flag) => {
                let _ = write!(out, "{flag}");
            }
            Self::Number(number) => out.push_str(number),
            Self::SignUnknown(signed, _) => {
                let _ = write!(out, "{signed}");
            }
            Self::Text(text) => put_quoted(out, text),
            Self::Json(json) => out.push_str(json),
            Self::JsonChanges(_, changes) => {
                let changes = changes.iter().map(JsonDiff::described);
                Self::List(changes.collect()).put_json(out);
            }
            Self::List(list) => {
                out.push('[');
                for (index, value) in list.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    value.put_json(out);
                }
                out.push(']');
            }
            Self::Object(description) => description.put_json(out),
        }
    }
}

impl fmt::Display for Shown {
    /// Prints the value in SQL notation, with quoted texts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Flag(flag) => f.write_str(if *flag { "yes" } else { "no" }),
            Self::Number(text) | Self::Json(text) => f.write_str(text),
            Self::SignUnknown(signed, unsigned) => write!(f, "{signed} ({unsigned})"),
            Self::Text(text) => put_sql_text(f, text),
            Self::JsonChanges(column, changes) => put_changes(f, column, changes),
            Self::List(list) => {
                f.write_str("[")?;
                for (index, value) in list.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    value.fmt(f)?;
                }
                f.write_str("]")
            }
            Self::Object(description) => write!(f, "({description})"),
        }
    }
}

/// Named values in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// The values.
    pub fields: Vec<(String, Shown)>,
}

impl Description {
    /// Adds a value.
    #[must_use]
    pub fn with(mut self, name: &str, value: Shown) -> Self {
        self.fields.push((name.to_owned(), value));
        self
    }

    /// Adds a value, if there is one.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<Shown>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Appends the values as a JSON object.
    pub fn put_json(&self, out: &mut String) {
        out.push('{');
        self.put_json_members(out);
        out.push('}');
    }

    /// Appends the members of the JSON object, without braces.
    pub fn put_json_members(&self, out: &mut String) {
        for (index, (name, value)) in self.fields.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            put_quoted(out, name);
            out.push(':');
            value.put_json(out);
        }
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.fields.iter().enumerate() {
            f.write_str(if index > 0 { ", " } else { "" })?;
            write!(f, "{name} = {value}")?;
        }
        Ok(())
    }
}

fn put_quoted(out: &mut String, text: &str) {
    // Serialising a text to memory does not fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

impl JsonDiff {
    fn described(&self) -> Shown {
        let description = Description::default()
            .with("operation", Shown::Text(self.operation.to_owned()))
            .with("path", Shown::Text(self.path.clone()))
            .with_some("value", self.value.clone().map(Shown::Json));
        Shown::Object(description)
    }

    /// The SQL function that makes the change.
    fn function(&self) -> &'static str {
        match self.operation {
            "insert" if self.path.ends_with(']') => "JSON_ARRAY_INSERT",
            "insert" => "JSON_INSERT",
            "remove" => "JSON_REMOVE",
            _ => "JSON_REPLACE",
        }
    }
}

/// Prints the expression that makes the changes, as `mysqlbinlog` does: `JSON_REMOVE(JSON_REPLACE(j, '$.a', 1),
/// '$.b')`. Consecutive changes of the same kind share one call.
fn put_changes(f: &mut fmt::Formatter<'_>, column: &str, changes: &[JsonDiff]) -> fmt::Result {
    let calls: Vec<&[JsonDiff]> = changes
        .chunk_by(|one, next| one.function() == next.function())
        .collect();
    for call in calls.iter().rev() {
        let function = call.first().map_or("", JsonDiff::function);
        write!(f, "{function}(")?;
    }
    f.write_str(column)?;
    for call in calls {
        for change in call {
            f.write_str(", ")?;
            put_sql_text(f, &change.path)?;
            if let Some(value) = &change.value {
                f.write_str(", ")?;
                put_value(f, value)?;
            }
        }
        f.write_str(")")?;
    }
    Ok(())
}

/// Prints a JSON value in SQL notation: numbers and texts as literals, others with CAST.
fn put_value(f: &mut fmt::Formatter<'_>, json: &str) -> fmt::Result {
    match serde_json::from_str(json) {
        Ok(serde_json::Value::String(text)) => put_sql_text(f, &text),
        Ok(serde_json::Value::Number(_)) => f.write_str(json),
        _ => {
            f.write_str("CAST(")?;
            put_sql_text(f, json)?;
            f.write_str(" AS JSON)")
        }
    }
}

/// Prints a quoted text. Characters that would end the line or the quotes are escaped as in SQL.
fn put_sql_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("'")?;
    for letter in text.chars() {
        match letter {
            '\'' => f.write_str("\\'")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\0' => f.write_str("\\0")?,
            // Escape control characters, because they could harm a terminal.
            it if it.is_control() => write!(f, "\\u{{{:x}}}", u32::from(it))?,
            it => f.write_char(it)?,
        }
    }
    f.write_str("'")
}
