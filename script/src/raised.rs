//! Values that scripts raise.

use std::fmt;

use mlua::{Error, Value};

/// A value that a script has raised, on its way through Rust.
pub(crate) struct Raised(pub(crate) Value);

impl fmt::Debug for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text that the original logs.
impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::String(text) => f.write_str(&text.to_string_lossy()),
            Value::Integer(number) => number.fmt(f),
            Value::Number(number) => number.fmt(f),
            _ => f.write_str("(null)"),
        }
    }
}

impl std::error::Error for Raised {}

/// Turns an uncaught error into text: an object that a script has raised is converted by its `__tostring`.
pub(crate) fn worded(error: Error) -> Error {
    match raised(&error) {
        Some(value @ (Value::Table(_) | Value::UserData(_))) => match value.to_string() {
            Ok(text) => Error::RuntimeError(text),
            Err(error) => error,
        },
        _ => error,
    }
}

/// The value that a script has raised, if the error is one.
pub(crate) fn raised(error: &Error) -> Option<&Value> {
    match error {
        Error::CallbackError { cause, .. } | Error::WithContext { cause, .. } => raised(cause),
        Error::ExternalError(cause) => cause.downcast_ref::<Raised>().map(|Raised(value)| value),
        _ => None,
    }
}
