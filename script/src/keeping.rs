//! Protects the library functions that the proxy's own Lua code uses from changes by scripts, and has the functions
//! that `keeping.lua` needs to restore what scripts have changed for one another.

use mlua::{Function, Lua, Table, Value};

/// The parts of Lua's library that are copied for the proxy's own code.
const COPIED: [&str; 7] = ["coroutine", "debug", "io", "math", "os", "string", "table"];

/// The environment of the proxy's own code: a copy of the globals, made before any script runs. Later changes by
/// scripts do not affect it. The scripts' globals are its `_G`. `error`: Lua's own.
pub(crate) fn environment(lua: &Lua, error: &Function) -> mlua::Result<Table> {
    let globals = lua.globals();
    let own = copy(lua, &globals)?;
    own.raw_set("error", error)?;
    for name in COPIED {
        let library = globals.raw_get::<Table>(name)?;
        own.raw_set(name, copy(lua, &library)?)?;
    }
    Ok(own)
}

fn copy(lua: &Lua, table: &Table) -> mlua::Result<Table> {
    let copied = lua.create_table()?;
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair?;
        copied.raw_set(key, value)?;
    }
    Ok(copied)
}

/// Adds `getmetatable` and `setmetatable` for tables, which ignore `__metatable`.
pub(crate) fn share(lua: &Lua, host: &Table) -> mlua::Result<()> {
    let metatable = |_: &Lua, table: Table| Ok(table.metatable());
    host.raw_set("metatable", lua.create_function(metatable)?)?;
    let set = |_: &Lua, (table, metatable): (Table, Option<Table>)| table.set_metatable(metatable);
    host.raw_set("set_metatable", lua.create_function(set)?)
}
