//! Runs `prelude.lua`, and has the Rust functions that it needs.

use std::sync::Arc;

use mlua::{Error, Function, Lua, LuaString, Table, Value};

use crate::budget::Budget;
use crate::devices;
use crate::fault::message;
use crate::raised::raised;
use crate::stack::{HANDLER, is_own, location};

const TEXT: &str = include_str!("libraries/prelude.lua");

/// The wrapper that `xpcall` puts around a script's error handler.
const HANDLER_TEXT: &str = include_str!("libraries/handler.lua");

/// Runs the prelude. Returns Lua's own `newproxy`, which is removed from scripts.
pub(crate) fn run(lua: &Lua, budget: &Arc<Budget>) -> mlua::Result<Function> {
    let newproxy = lua.globals().get("newproxy")?;
    let chunk = lua.load(TEXT).set_name("=pilotfish.prelude");
    chunk.call::<()>(tools(lua, budget)?)?;
    Ok(newproxy)
}

fn tools(lua: &Lua, budget: &Arc<Budget>) -> mlua::Result<Table> {
    let tools = lua.create_table()?;
    let of = Arc::clone(budget);
    tools.set(
        "is_spent",
        lua.create_function(move |_, ()| Ok(of.passed().is_some()))?,
    )?;
    tools.set("text", lua.create_function(text)?)?;
    let handler = lua.load(HANDLER_TEXT).set_name(HANDLER);
    tools.set("handler", handler.call::<Function>(&tools)?)?;
    let of = Arc::clone(budget);
    tools.set(
        "charge",
        lua.create_function(move |lua, bytes: f64| {
            of.charge(lua, bytes as usize, Caller::find(lua).level)
        })?,
    )?;
    tools.set("blame", lua.create_function(blame)?)?;
    tools.set("refuses", devices::refuses(lua, budget)?)?;
    let of = Arc::clone(budget);
    tools.set(
        "reserve",
        lua.create_function(
            move |lua, bytes: f64| match bytes > of.memory_left(lua) as f64 {
                true => Err(Error::MemoryError("not enough memory".to_owned())),
                false => Ok(()),
            },
        )?,
    )?;
    Ok(tools)
}

/// The value that a script has raised. An error from Rust becomes the string that Lua's library would have raised.
fn text(lua: &Lua, error: Value) -> mlua::Result<Value> {
    match error {
        Value::Error(error) => match raised(&error) {
            Some(value) => Ok(value.clone()),
            None => lua.create_string(message(&error)).map(Value::String),
        },
        other => Ok(other),
    }
}

/// The script that has called a function of the prelude, which has called a Rust function.
struct Caller {
    level: usize,
    /// The name that the script has used for the prelude's function.
    name: Option<String>,
    is_method: bool,
}

impl Caller {
    /// Finds the caller below the prelude's own functions, and below functions whose frames are gone after a tail call.
    fn find(lua: &Lua) -> Self {
        let (mut level, mut function) = (1, 1);
        loop {
            let what = lua.inspect_stack(level, |debug| {
                let source = debug.source();
                (source.source.as_deref().is_some_and(is_own), source.what)
            });
            match what {
                Some((true, _)) => function = level,
                Some((_, "tail")) => {}
                _ => break,
            }
            level += 1;
        }
        let names = lua.inspect_stack(function, |debug| {
            let names = debug.names();
            let name = names.name.map(|name| name.into_owned());
            (name, names.name_what == Some("method"))
        });
        let (name, is_method) = names.unwrap_or_default();
        Self {
            level,
            name,
            is_method,
        }
    }
}

/// Corrects an error of Lua's function: the function did not know its caller, and this adds the caller's place and
/// name. `name`: the function's name, unless the script uses another name.
fn blame(lua: &Lua, (name, told): (LuaString, LuaString)) -> mlua::Result<String> {
    let (name, told) = (name.to_string_lossy(), told.to_string_lossy());
    // This error is not the script's fault, and other code recognizes it by this text.
    if told == "not enough memory" {
        return Ok(told);
    }
    let caller = Caller::find(lua);
    let place = location(lua, caller.level);
    let rest = told.strip_prefix("bad argument #");
    let parts = rest.and_then(|rest| rest.split_once(" to '?' "));
    let Some((number, why)) = parts else {
        return Ok(format!("{place}{told}"));
    };
    let number = number.parse().unwrap_or(1_usize);
    let name = caller.name.unwrap_or(name);
    Ok(match (caller.is_method, number) {
        (true, 1) => {
            let why = why.trim_start_matches('(').trim_end_matches(')');
            format!("{place}calling '{name}' on bad self ({why})")
        }
        (true, _) => format!("{place}bad argument #{} to '{name}' {why}", number - 1),
        (false, _) => format!("{place}bad argument #{number} to '{name}' {why}"),
    })
}
