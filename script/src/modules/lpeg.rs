//! `lpeg`: written in Lua, so that limits and errors are those of scripts. It alone has the function
//! that makes userdata with operators.

use mlua::{Lua, Table};

use super::context::ModuleContext;

const TEXT: &str = include_str!("../libraries/lpeg.lua");

pub(super) fn open(lua: &Lua, surroundings: &ModuleContext) -> mlua::Result<Table> {
    let chunk = lua.load(TEXT).set_name("=pilotfish.lpeg");
    let module: Table = chunk.call((&surroundings.newproxy, &surroundings.error))?;
    lua.globals().set("lpeg", &module)?;
    Ok(module)
}
