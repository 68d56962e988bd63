//! The fields of a body, by the definitions of settings: their types, and their values in text form.

use config::{Section, Setting, ValueType};
use serde_json::{Value, json};

use super::super::body::{Object, echoed};

/// A field that a body may have.
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// The type of its value.
    pub kind: ValueType,
    /// Its description.
    pub about: String,
    /// Whether a new row must have it.
    pub is_required: bool,
}

/// The fields of a body, with values in text form; `None`: the default value.
pub type BodyValues = Vec<(&'static str, Option<String>)>;

impl Parameter {
    /// A field for each setting outside of lists.
    pub fn settings() -> Vec<Self> {
        let settings = config::settings();
        settings.map(|it| Self::of(it.name, it)).collect()
    }

    /// A field for each setting of a list's items.
    pub fn columns<C>(section: &Section<C>) -> Vec<Self> {
        let settings = section.settings.iter();
        settings.map(|it| Self::of(it.column(), it)).collect()
    }

    fn of<C>(name: &'static str, setting: &Setting<C>) -> Self {
        Self {
            name,
            kind: setting.kind,
            about: setting.about(),
            is_required: setting.traits.required,
        }
    }

    /// The field for the position of a row.
    pub fn position(name: &'static str) -> Self {
        Self {
            name,
            kind: ValueType::Count,
            about: "Its place in the configuration, from 1; the last one if nothing is said."
                .to_owned(),
            is_required: false,
        }
    }
}

/// Reads the fields of a body.
///
/// # Errors
/// A field has an unknown name, or a value of another type.
pub fn body_values(parameters: &[Parameter], Object(fields): Object) -> Result<BodyValues, String> {
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

/// A value in text form.
///
/// # Errors
/// The expected type, in words.
fn text(kind: ValueType, value: &Value) -> Result<String, String> {
    let expected = || Err(expected(kind));
    match (kind, value) {
        (ValueType::List(of), Value::Array(items)) => {
            let items = items.iter().map(|it| item(*of, it));
            let items: Vec<_> = items.collect::<Result<_, _>>()?;
            // TOML requires this character to be escaped, and JSON does not.
            Ok(Value::Array(items).to_string().replace('\u{7f}', "\\u007f"))
        }
        (ValueType::Truth, Value::Bool(is_so)) => Ok(is_so.to_string()),
        (ValueType::Count | ValueType::Size, Value::Number(number)) if number.is_u64() => {
            Ok(number.to_string())
        }
        (ValueType::Fraction | ValueType::Duration, Value::Number(number)) => {
            Ok(number.to_string())
        }
        (ValueType::List(_) | ValueType::Truth | ValueType::Count | ValueType::Fraction, _) => {
            expected()
        }
        (_, Value::String(text)) => Ok(text.clone()),
        _ => expected(),
    }
}

/// An item of a list, in a form that TOML has.
fn item(kind: ValueType, value: &Value) -> Result<Value, String> {
    match (kind, value) {
        (ValueType::List(of), Value::Array(items)) => {
            items.iter().map(|it| item(*of, it)).collect()
        }
        (ValueType::Cell, Value::Null) => Ok(json!("\\N")),
        (ValueType::Cell, Value::Number(number)) => Ok(json!(number)),
        (ValueType::List(_), _) => Err(expected(kind)),
        (_, Value::String(text)) => Ok(json!(text)),
        _ => Err(format!("a list, each entry of it {}", expected(kind))),
    }
}

/// The expected type, in words.
fn expected(kind: ValueType) -> String {
    match kind {
        ValueType::Count => "a whole number, not negative".to_owned(),
        ValueType::Truth => "true or false".to_owned(),
        ValueType::Fraction => "a number".to_owned(),
        ValueType::Duration => "a text such as \"2s\", or a number of seconds".to_owned(),
        ValueType::Size => "a text such as \"16MiB\", or a number of bytes".to_owned(),
        ValueType::List(_) => "a list".to_owned(),
        _ => "a text".to_owned(),
    }
}

/// A value's type, in JSON schema.
pub fn schema(kind: ValueType) -> Value {
    match kind {
        ValueType::Count => json!({"type": "integer", "minimum": 0}),
        ValueType::Truth => json!({"type": "boolean"}),
        ValueType::Fraction => json!({"type": "number"}),
        ValueType::Duration => json!({"type": ["string", "number"]}),
        ValueType::Size => json!({"type": ["string", "integer"]}),
        ValueType::Cell => json!({"type": ["string", "number", "null"]}),
        ValueType::Secret => json!({"type": "string", "writeOnly": true}),
        ValueType::Choice(choices) => {
            let names: Vec<_> = choices.iter().map(|it| it.name).collect();
            json!({"type": "string", "enum": names})
        }
        ValueType::List(of) => json!({"type": "array", "items": schema(*of)}),
        _ => json!({"type": "string"}),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TEXTS: ValueType = ValueType::List(&ValueType::Text);

    #[test]
    fn values_are_typed_as_people_type_them() {
        let rows = ValueType::List(&ValueType::List(&ValueType::Cell));
        for (kind, value, expected) in [
            (ValueType::Count, json!(7), "7"),
            (ValueType::Truth, json!(true), "true"),
            (ValueType::Fraction, json!(0.5), "0.5"),
            (ValueType::Duration, json!(2), "2"),
            (ValueType::Duration, json!("2s"), "2s"),
            (ValueType::Size, json!("1MiB"), "1MiB"),
            (ValueType::Text, json!("a, b"), "a, b"),
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
            (ValueType::Count, json!("7")),
            (ValueType::Count, json!(-1)),
            (ValueType::Count, json!(1.5)),
            (ValueType::Count, json!(1e300)),
            (ValueType::Truth, json!(1)),
            (ValueType::Truth, json!("true")),
            (ValueType::Text, json!(1)),
            (ValueType::Text, json!({"a": 1})),
            (ValueType::Secret, json!(["x"])),
            (ValueType::Size, json!(-1)),
            (ValueType::Duration, json!(true)),
            (TEXTS, json!("a")),
            (TEXTS, json!([1])),
            (TEXTS, json!([["a"]])),
            (TEXTS, json!({})),
        ] {
            assert!(text(kind, &value).is_err(), "{kind:?} {value}");
        }
    }
}
