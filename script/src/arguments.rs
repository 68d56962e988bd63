//! The arguments of a script's call to a Rust function, read and refused as Lua's own library does:
//! numbers are strings, numerals are numbers, and errors are "bad argument #1 to 'f' (string expected, got nil)".

use mlua::{Error, Lua, LuaString, MultiValue, Table, Value};

use crate::fault::raise;

/// The arguments of one call.
pub(crate) struct Arguments<'a> {
    lua: &'a Lua,
    function: &'static str,
    values: MultiValue,
}

impl<'a> Arguments<'a> {
    pub(crate) fn new(lua: &'a Lua, function: &'static str, values: MultiValue) -> Self {
        Self {
            lua,
            function,
            values,
        }
    }

    pub(crate) fn lua(&self) -> &'a Lua {
        self.lua
    }

    pub(crate) fn count(&self) -> usize {
        self.values.len()
    }

    /// The argument with that number, counted from 1; nil if there is none.
    pub(crate) fn value(&self, number: usize) -> Value {
        let value = self.values.get(number.wrapping_sub(1));
        value.cloned().unwrap_or(Value::Nil)
    }

    pub(crate) fn string(&self, number: usize) -> mlua::Result<LuaString> {
        let found = self.string_if_any(number)?;
        found.ok_or_else(|| self.expected(number, "string"))
    }

    /// `None` for nil or none.
    pub(crate) fn string_if_any(&self, number: usize) -> mlua::Result<Option<LuaString>> {
        match self.value(number) {
            Value::Nil => Ok(None),
            value @ (Value::String(_) | Value::Integer(_) | Value::Number(_)) => {
                self.lua.coerce_string(value)
            }
            _ => Err(self.expected(number, "string")),
        }
    }

    pub(crate) fn number(&self, number: usize) -> mlua::Result<f64> {
        let found = number_of(self.lua, self.value(number));
        found.ok_or_else(|| self.expected(number, "number"))
    }

    /// `None` for nil or none.
    pub(crate) fn number_if_any(&self, number: usize) -> mlua::Result<Option<f64>> {
        match self.value(number) {
            Value::Nil => Ok(None),
            _ => self.number(number).map(Some),
        }
    }

    /// A number without its fraction; beyond 64 bits the nearest integer, and 0 for NaN.
    pub(crate) fn integer(&self, number: usize) -> mlua::Result<i64> {
        self.number(number).map(|number| number as i64)
    }

    /// `None` for nil or none.
    pub(crate) fn integer_if_any(&self, number: usize) -> mlua::Result<Option<i64>> {
        match self.value(number) {
            Value::Nil => Ok(None),
            _ => self.integer(number).map(Some),
        }
    }

    pub(crate) fn table(&self, number: usize) -> mlua::Result<Table> {
        match self.value(number) {
            Value::Table(table) => Ok(table),
            _ => Err(self.expected(number, "table")),
        }
    }

    /// The error for an argument of another type.
    pub(crate) fn expected(&self, number: usize, wanted: &str) -> Error {
        let got = match self.values.get(number.wrapping_sub(1)) {
            Some(value) => type_name(value),
            None => "no value",
        };
        self.bad(number, &format!("{wanted} expected, got {got}"))
    }

    /// The error for a wrong argument.
    pub(crate) fn bad(&self, number: usize, what: &str) -> Error {
        let function = self.function;
        let text = format!("bad argument #{number} to '{function}' ({what})");
        raise(self.lua, &text)
    }
}

/// The type's name in Lua 5.1.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::Boolean(_) => "boolean",
        Value::Integer(_) | Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Table(_) => "table",
        Value::Function(_) => "function",
        Value::Thread(_) => "thread",
        _ => "userdata",
    }
}

/// A number, or a string that reads as one.
pub(crate) fn number_of(lua: &Lua, value: Value) -> Option<f64> {
    lua.coerce_number(value).ok().flatten()
}

/// Makes a Lua function with checked arguments.
pub(crate) fn function<R: mlua::IntoLuaMulti>(
    lua: &Lua,
    name: &'static str,
    body: impl Fn(&Arguments<'_>) -> mlua::Result<R> + Send + Sync + 'static,
) -> mlua::Result<mlua::Function> {
    lua.create_function(move |lua, values: MultiValue| body(&Arguments::new(lua, name, values)))
}
