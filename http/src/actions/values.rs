//! What a body may have, by the definitions of settings: its type, and its value as a person types it.

use config::{Kind, Section, Setting};
use serde_json::{Value, json};

use super::super::body::{Object, echoed};

/// One thing that a body may have.
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// What it is for.
    pub about: String,
    /// Whether nothing can be added without it.
    pub is_required: bool,
}

/// What a body has, as a person types it; none: the default value.
pub type BodyValues = Vec<(&'static str, Option<String>)>;

impl Parameter {
    /// One for each setting above all lists.
    pub fn settings() -> Vec<Self> {
        let settings = config::settings();
        settings.map(|it| Self::of(it.name, it)).collect()
    }

    /// One for each setting of a list's items.
    pub fn columns<C>(section: &Section<C>) -> Vec<Self> {
        let settings = section.settings.iter();
        settings.map(|it| Self::of(it.key, it)).collect()
    }

    fn of<C>(name: &'static str, setting: &Setting<C>) -> Self {
        Self {
            name,
            kind: setting.kind,
            about: setting.about(),
            is_required: setting.traits.required,
        }
    }

    /// The place of a row.
    pub fn place(name: &'static str) -> Self {
        Self {
            name,
            kind: Kind::Count,
            about: "Its place in the configuration, from 1; the last one if nothing is said."
                .to_owned(),
            is_required: false,
        }
    }
}

/// Reads what a body has.
///
/// # Errors
/// A name that is not among these, or a value of another type.
pub fn given(parameters: &[Parameter], Object(fields): Object) -> Result<BodyValues, String> {
    let read = |(name, value): (String, Value)| {
        let known = parameters.iter().find(|it| it.name == name);
        let known = known.ok_or_else(|| unknown(parameters, &name))?;
        let text = match &value {
            Value::Null => Ok(None),
            value => text(known.kind, value).map(Some),
        };
        let text = text.map_err(|expected| format!("{:?} is {expected}, or null", known.name))?;
        Ok((known.name, text))
    };
    fields.into_iter().map(read).collect()
}

fn unknown(parameters: &[Parameter], name: &str) -> String {
    let names: Vec<_> = parameters.iter().map(|it| it.name).collect();
    let name = echoed(name);
    match names.len() {
        0 => format!("The body has {name}, and nothing is to be said here"),
        1..60 => format!(
            "{name} is not known here; the body may have {}",
            names.join(", ")
        ),
        _ => format!("{name} is no setting; /api/tables/settings lists those there are"),
    }
}

/// A value as a person types it.
///
/// # Errors
/// What it should be.
fn text(kind: Kind, value: &Value) -> Result<String, String> {
    let expected = || Err(expected(kind));
    match (kind, value) {
        (Kind::List(of), Value::Array(items)) => {
            let items = items.iter().map(|it| item(*of, it));
            let items: Vec<_> = items.collect::<Result<_, _>>()?;
            // TOML wants this one escaped, and JSON does not.
            Ok(Value::Array(items).to_string().replace('\u{7f}', "\\u007f"))
        }
        (Kind::Truth, Value::Bool(is_so)) => Ok(is_so.to_string()),
        (Kind::Count | Kind::Size, Value::Number(number)) if number.is_u64() => {
            Ok(number.to_string())
        }
        (Kind::Fraction | Kind::Duration, Value::Number(number)) => Ok(number.to_string()),
        (Kind::List(_) | Kind::Truth | Kind::Count | Kind::Fraction, _) => expected(),
        (_, Value::String(text)) => Ok(text.clone()),
        _ => expected(),
    }
}

/// What a list has, as TOML knows it.
fn item(kind: Kind, value: &Value) -> Result<Value, String> {
    match (kind, value) {
        (Kind::List(of), Value::Array(items)) => items.iter().map(|it| item(*of, it)).collect(),
        (Kind::Cell, Value::Null) => Ok(json!("\\N")),
        (Kind::Cell, Value::Number(number)) => Ok(json!(number)),
        (Kind::List(_), _) => Err(expected(kind)),
        (_, Value::String(text)) => Ok(json!(text)),
        _ => Err(format!("a list, each entry of it {}", expected(kind))),
    }
}

/// What a value should be, in words.
fn expected(kind: Kind) -> String {
    match kind {
        Kind::Count => "a whole number, not negative".to_owned(),
        Kind::Truth => "true or false".to_owned(),
        Kind::Fraction => "a number".to_owned(),
        Kind::Duration => "a text such as \"2s\", or a number of seconds".to_owned(),
        Kind::Size => "a text such as \"16MiB\", or a number of bytes".to_owned(),
        Kind::List(_) => "a list".to_owned(),
        _ => "a text".to_owned(),
    }
}

/// A value's type, as JSON schema says it.
pub fn schema(kind: Kind) -> Value {
    match kind {
        Kind::Count => json!({"type": "integer", "minimum": 0}),
        Kind::Truth => json!({"type": "boolean"}),
        Kind::Fraction => json!({"type": "number"}),
        Kind::Duration => json!({"type": ["string", "number"]}),
        Kind::Size => json!({"type": ["string", "integer"]}),
        Kind::Cell => json!({"type": ["string", "number", "null"]}),
        Kind::Secret => json!({"type": "string", "writeOnly": true}),
        Kind::Choice(choices) => {
            let names: Vec<_> = choices.iter().map(|it| it.name).collect();
            json!({"type": "string", "enum": names})
        }
        Kind::List(of) => json!({"type": "array", "items": schema(*of)}),
        _ => json!({"type": "string"}),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TEXTS: Kind = Kind::List(&Kind::Text);

    #[test]
    fn values_are_typed_as_people_type_them() {
        let rows = Kind::List(&Kind::List(&Kind::Cell));
        for (kind, value, expected) in [
            (Kind::Count, json!(7), "7"),
            (Kind::Truth, json!(true), "true"),
            (Kind::Fraction, json!(0.5), "0.5"),
            (Kind::Duration, json!(2), "2"),
            (Kind::Duration, json!("2s"), "2s"),
            (Kind::Size, json!("1MiB"), "1MiB"),
            (Kind::Text, json!("a, b"), "a, b"),
            (TEXTS, json!(["a, b", "\u{7f}"]), r#"["a, b","\u007f"]"#),
            (TEXTS, json!([]), "[]"),
            (rows, json!([["a", 1], [null]]), r#"[["a",1],["\\N"]]"#),
        ] {
            assert_eq!(text(kind, &value).unwrap(), expected);
        }
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        for (kind, value) in [
            (Kind::Count, json!("7")),
            (Kind::Count, json!(-1)),
            (Kind::Count, json!(1.5)),
            (Kind::Count, json!(1e300)),
            (Kind::Truth, json!(1)),
            (Kind::Truth, json!("true")),
            (Kind::Text, json!(1)),
            (Kind::Text, json!({"a": 1})),
            (Kind::Secret, json!(["x"])),
            (Kind::Size, json!(-1)),
            (Kind::Duration, json!(true)),
            (TEXTS, json!("a")),
            (TEXTS, json!([1])),
            (TEXTS, json!([["a"]])),
            (TEXTS, json!({})),
        ] {
            assert!(text(kind, &value).is_err(), "{kind:?} {value}");
        }
    }
}
