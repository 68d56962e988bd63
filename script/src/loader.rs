//! `require`: the user's folders first, then the built-in modules.

use std::path::Path;

use mlua::{Function, Lua, LuaString, MultiValue, Table, Value};

use crate::arguments::function;
use crate::modules::{self, ModuleContext};

/// The value of `package.path`.
pub(crate) fn path(option: Option<String>, basedir: Option<&Path>) -> String {
    let default = match basedir {
        Some(basedir) => format!("{}/lib/mysql-proxy/lua/?.lua", basedir.display()),
        None => "./?.lua".to_owned(),
    };
    let given = option.or_else(|| std::env::var("LUA_PATH").ok());
    match given {
        // As in Lua, two semicolons stand for the default.
        Some(path) => path
            .replace(";;", &format!(";{default};"))
            .trim_matches(';')
            .to_owned(),
        None => default,
    }
}

/// Sets the path, and appends the searcher of built-in modules, which is asked last.
pub(crate) fn install(lua: &Lua, path: &str, surroundings: ModuleContext) -> mlua::Result<()> {
    let package: Table = lua.globals().get("package")?;
    package.set("path", path)?;
    package.set("cpath", "")?;
    package.set("loadlib", lua.create_function(loadlib)?)?;
    let loaders: Table = package.get("loaders")?;
    loaders.raw_set(3, lua.create_function(no_c_modules)?)?;
    let search = function(lua, "require", move |arguments| {
        let name = arguments.string(1)?;
        let name = name.to_string_lossy();
        match modules::opener(arguments.lua(), &name, &surroundings)? {
            Some(opener) => told_of(arguments.lua(), opener).map(Value::Function),
            None => {
                let text = format!("\n\tno built-in module '{name}'");
                arguments.lua().create_string(text).map(Value::String)
            }
        }
    })?;
    loaders.raw_set(4, search)
}

fn no_c_modules(_: &Lua, _: MultiValue) -> mlua::Result<&'static str> {
    Ok("\n\tno C module: they cannot be loaded here")
}

/// Returns what Lua's own `loadlib` returns on systems without dynamic libraries.
fn loadlib(_: &Lua, _: MultiValue) -> mlua::Result<(Option<Function>, &'static str, &'static str)> {
    Ok((None, "C modules cannot be loaded here", "absent"))
}

/// The registry key of the function that is called when a built-in module is loaded.
const LISTENER: &str = "pilotfish.module_loaded";

/// Has `listener` called with the name and the table of each built-in module that is loaded from now on.
pub(crate) fn tell_of_modules(lua: &Lua, listener: Function) -> mlua::Result<()> {
    lua.set_named_registry_value(LISTENER, listener)
}

/// A function that loads a module, and calls the listener.
fn told_of(lua: &Lua, opener: Function) -> mlua::Result<Function> {
    let package: Table = lua.globals().get("package")?;
    let loaded: Table = package.get("loaded")?;
    lua.create_function(move |lua, name: LuaString| {
        let given: Value = opener.call(&name)?;
        // Modules in Lua set their table themselves.
        let module = match &given {
            Value::Table(module) => Some(module.clone()),
            _ => loaded.raw_get(&name).ok(),
        };
        let listener: Option<Function> = lua.named_registry_value(LISTENER)?;
        if let (Some(listener), Some(module)) = (listener, module) {
            listener.call::<()>((name, module))?;
        }
        Ok(given)
    })
}
