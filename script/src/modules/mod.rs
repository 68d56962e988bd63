//! The modules that scripts may require, by name. Modules in Rust return their table. Modules in Lua run
//! like a script's file.

mod chassis;
mod context;
mod glib2;
mod lfs;
mod lpeg;
mod md5;
mod mysql_password;
mod mysql_proto;
pub(crate) mod mysql_tokenizer;
mod posix;

use mlua::{Function, Lua, Table};

pub(crate) use context::ModuleContext;

/// Makes a module's table.
type Open = fn(&Lua, &ModuleContext) -> mlua::Result<Table>;

const IN_RUST: &[(&str, Open)] = &[
    ("mysql.tokenizer", mysql_tokenizer::open),
    ("mysql.proto", mysql_proto::open),
    ("mysql.password", mysql_password::open),
    ("chassis", chassis::open),
    ("glib2", glib2::open),
    ("lfs", lfs::open),
    ("lpeg", lpeg::open),
    ("posix", posix::open),
];

const IN_LUA: &[(&str, &str)] = &[
    (
        "proxy.tokenizer",
        include_str!("../libraries/proxy/tokenizer.lua"),
    ),
    (
        "proxy.commands",
        include_str!("../libraries/proxy/commands.lua"),
    ),
    (
        "proxy.parser",
        include_str!("../libraries/proxy/parser.lua"),
    ),
    (
        "proxy.balance",
        include_str!("../libraries/proxy/balance.lua"),
    ),
    (
        "proxy.auto-config",
        include_str!("../libraries/proxy/auto-config.lua"),
    ),
];

/// The function that `require` calls to load the module; `None` if there is no such module.
pub(crate) fn opener(
    lua: &Lua,
    name: &str,
    surroundings: &ModuleContext,
) -> mlua::Result<Option<Function>> {
    if let Some((_, open)) = IN_RUST.iter().find(|(it, _)| *it == name) {
        let surroundings = surroundings.clone();
        let opener = lua.create_function(move |lua, _: mlua::Value| open(lua, &surroundings))?;
        return Ok(Some(opener));
    }
    match IN_LUA.iter().find(|(it, _)| *it == name) {
        Some((name, text)) => {
            let chunk = lua.load(*text).set_name(format!("={name}"));
            chunk.into_function().map(Some)
        }
        None => Ok(None),
    }
}
