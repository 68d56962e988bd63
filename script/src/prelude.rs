//! What `prelude.lua` needs of Rust, and its run.

use std::sync::Arc;

use mlua::{Error, Function, Lua, Table, Value};

use crate::budget::Budget;
use crate::fault::message;

const TEXT: &str = include_str!("libraries/prelude.lua");

/// Runs the prelude; gives Lua's own `newproxy` back, which scripts have no more.
pub(crate) fn run(lua: &Lua, budget: &Arc<Budget>) -> mlua::Result<Function> {
    let newproxy = lua.globals().get("newproxy")?;
    let chunk = lua.load(TEXT).set_name("=(prelude)");
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

/// An error of ours as the string that a function of Lua's library would have raised.
fn text(lua: &Lua, error: Value) -> mlua::Result<Value> {
    match error {
        Value::Error(error) => lua.create_string(message(&error)).map(Value::String),
        other => Ok(other),
    }
}
