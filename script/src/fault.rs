//! The fault of a call into Lua, as text: the error that a script has raised, without the traceback.

use std::borrow::Cow;
use std::fmt;

use mlua::{Error, Lua, Value};

use crate::limits::Limit;
use crate::raised::raised;
use crate::stack::location;

/// The most bytes of a message that are logged.
const LINE_BYTES_MAX: usize = 4096;

/// The fault of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The script's message, with its place in front where Lua knows it.
    pub message: String,
    /// The limit that the call has passed, if that is why it ended.
    pub limit: Option<Limit>,
}

impl Fault {
    /// The fault of a call that has passed no limit.
    pub(crate) fn of(error: &Error) -> Self {
        Self {
            message: message(error),
            limit: None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shortened(&self.message))
    }
}

impl std::error::Error for Fault {}

/// A script's message as it is logged.
fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= LINE_BYTES_MAX {
        return text.into();
    }
    let end = text.floor_char_boundary(LINE_BYTES_MAX);
    let (shown, bytes) = (&text[..end], text.len());
    format!("{shown}... ({bytes} bytes)").into()
}

/// The text of an error for people: the message that was raised.
pub fn message(error: &Error) -> String {
    match error {
        Error::RuntimeError(text) | Error::MemoryError(text) | Error::SafetyError(text) => {
            without_traceback(text).to_owned()
        }
        Error::SyntaxError { message, .. } => without_traceback(message).to_owned(),
        Error::CallbackError { cause, .. } => message(cause),
        Error::WithContext { context, cause } => format!("{context}: {}", message(cause)),
        other => other.to_string(),
    }
}

/// Cuts off the traceback that `mlua` appends to each message.
fn without_traceback(text: &str) -> &str {
    text.split("\nstack traceback:\n").next().unwrap_or(text)
}

/// An error that a Rust function raises, in the form of `luaL_error`: with the caller's place in front.
pub fn raise(lua: &Lua, text: &str) -> Error {
    Error::RuntimeError(format!("{}{text}", location(lua, 1)))
}

/// Lua's text if memory has run out.
const OUT_OF_MEMORY: &str = "not enough memory";

/// Whether an error was caused by a lack of memory. An error that was caught and raised again is a text.
pub(crate) fn is_of_memory(error: &Error) -> bool {
    if let Some(Value::String(text)) = raised(error) {
        return text.as_bytes().ends_with(OUT_OF_MEMORY.as_bytes());
    }
    match error {
        Error::MemoryError(_) => true,
        Error::RuntimeError(text) => without_traceback(text).ends_with(OUT_OF_MEMORY),
        Error::CallbackError { cause, .. } | Error::WithContext { cause, .. } => {
            is_of_memory(cause)
        }
        _ => false,
    }
}
