//! What keeps scripts from taking the library away from the proxy's own Lua code, and what
//! `keeping.lua` needs to put back what they have taken from one another.

use mlua::{Function, Lua, Table, Value};

/// The parts of Lua's library that the proxy's own code has copies of.
const COPIED: [&str; 7] = ["coroutine", "debug", "io", "math", "os", "string", "table"];

/// The environment of the proxy's own code: the globals as they are before any script. What a script
/// makes of them afterwards is nothing to it; the true ones are its `_G`. `error`: Lua's own.
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

/// `getmetatable` and `setmetatable` that no `__metatable` deceives, for tables.
pub(crate) fn share(lua: &Lua, host: &Table) -> mlua::Result<()> {
    let metatable = |_: &Lua, table: Table| Ok(table.metatable());
    host.raw_set("metatable", lua.create_function(metatable)?)?;
    let set = |_: &Lua, (table, metatable): (Table, Option<Table>)| table.set_metatable(metatable);
    host.raw_set("set_metatable", lua.create_function(set)?)
}
