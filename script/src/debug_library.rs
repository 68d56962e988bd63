//! The safe part of Lua's `debug`: `traceback`, `getinfo`, `getmetatable`, and the
//! environments. The rest raises an error: the budget uses the hook, and locals of other functions are private.
//!
//! Levels and calls are those that a script sees ([`crate::stack`]).

use mlua::debug::Debug;
use mlua::{Function, Lua, MultiValue, Table, Value};

use crate::arguments::{Arguments, function, number_of};
use crate::fault::raise;
use crate::stack::{Frame, Frames, is_own};
use crate::traceback;

const MISSING: [&str; 10] = [
    "debug",
    "gethook",
    "getlocal",
    "getregistry",
    "getupvalue",
    "sethook",
    "setlocal",
    "setmetatable",
    "setupvalue",
    "upvalueid",
];

/// Makes the global `debug`.
pub(crate) fn open(lua: &Lua) -> mlua::Result<()> {
    let debug = lua.create_table()?;
    debug.set("traceback", function(lua, "traceback", traceback)?)?;
    debug.set("getinfo", function(lua, "getinfo", info)?)?;
    debug.set("getmetatable", lua.create_function(metatable)?)?;
    let globals = lua.globals();
    for name in ["getfenv", "setfenv"] {
        debug.set(name, globals.get::<Function>(name)?)?;
    }
    for name in MISSING {
        let missing = move |lua: &Lua, _: MultiValue| -> mlua::Result<()> {
            Err(raise(lua, &format!("debug.{name} is not available")))
        };
        debug.set(name, lua.create_function(missing)?)?;
    }
    let package: Table = globals.get("package")?;
    package.get::<Table>("loaded")?.set("debug", &debug)?;
    globals.set("debug", debug)
}

/// `traceback([thread,] [message [, level]])`; for another thread only the message.
fn traceback(arguments: &Arguments<'_>) -> mlua::Result<Value> {
    let lua = arguments.lua();
    let of_thread = matches!(arguments.value(1), Value::Thread(_));
    let at = if of_thread { 2 } else { 1 };
    let text = match arguments.value(at) {
        Value::Nil if arguments.count() < at => Vec::new(),
        Value::String(_) | Value::Integer(_) | Value::Number(_) => {
            [&*arguments.string(at)?.as_bytes(), b"\n"].concat()
        }
        // Also a nil, as in Lua 5.1.
        other => return Ok(other),
    };
    let level = number_of(lua, arguments.value(at + 1)).map_or(1, |level| level as i64);
    let stack = match of_thread {
        true => "stack traceback:".to_owned(),
        false => traceback::lines(lua, usize::try_from(level).unwrap_or_default()),
    };
    let text = [text, stack.into_bytes()].concat();
    lua.create_string(text).map(Value::String)
}

/// `getinfo(function or level [, what])`
fn info(arguments: &Arguments<'_>) -> mlua::Result<Option<Table>> {
    let lua = arguments.lua();
    let what = arguments.string_if_any(2)?;
    let what = what.map_or_else(|| b"nSluf".to_vec(), |what| what.as_bytes().to_vec());
    if let Value::Function(of) = arguments.value(1) {
        return info_of_function(lua, &of, &what).map(Some);
    }
    let Ok(level) = usize::try_from(arguments.integer(1)?) else {
        return Ok(None);
    };
    let Some(frame) = Frames::new(lua).nth(level) else {
        return Ok(None);
    };
    lua.inspect_stack(frame.level, |debug| {
        info_of_frame(lua, &frame, debug, &what)
    })
    .transpose()
}

fn info_of_function(lua: &Lua, of: &Function, what: &[u8]) -> mlua::Result<Table> {
    let info = of.info();
    let table = lua.create_table()?;
    if what.contains(&b'S') && info.source.as_deref().is_some_and(is_own) {
        say_it_is_of_c(&table)?;
    } else if what.contains(&b'S') {
        table.set("source", info.source)?;
        table.set("short_src", info.short_src)?;
        table.set("what", info.what)?;
        table.set("linedefined", line(info.line_defined))?;
        table.set("lastlinedefined", line(info.last_line_defined))?;
    }
    if what.contains(&b'l') {
        table.set("currentline", -1)?;
    }
    if what.contains(&b'u') {
        table.set("nups", info.num_upvalues)?;
    }
    if what.contains(&b'n') {
        table.set("namewhat", "")?;
    }
    if what.contains(&b'f') {
        table.set("func", of)?;
    }
    Ok(table)
}

fn info_of_frame(lua: &Lua, frame: &Frame, debug: &Debug<'_>, what: &[u8]) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    if what.contains(&b'S') && frame.is_own() {
        say_it_is_of_c(&table)?;
    } else if what.contains(&b'S') {
        let source = debug.source();
        table.set("source", source.source.as_deref())?;
        table.set("short_src", source.short_src.as_deref())?;
        table.set("what", source.what)?;
        table.set("linedefined", line(source.line_defined))?;
        table.set("lastlinedefined", line(source.last_line_defined))?;
    }
    if what.contains(&b'l') {
        let current = debug.current_line().filter(|_| !frame.is_own());
        table.set("currentline", line(current))?;
    }
    if what.contains(&b'u') {
        table.set("nups", debug.stack().num_upvalues)?;
    }
    if what.contains(&b'n') {
        let (name, kind) = frame.name(debug).unzip();
        table.set("name", name)?;
        table.set("namewhat", kind.unwrap_or_default())?;
    }
    if what.contains(&b'f') {
        table.set("func", debug.function())?;
    }
    Ok(table)
}

/// Sets the fields that Lua reports for a C function.
fn say_it_is_of_c(table: &Table) -> mlua::Result<()> {
    table.set("source", "=[C]")?;
    table.set("short_src", "[C]")?;
    table.set("what", "C")?;
    table.set("linedefined", -1)?;
    table.set("lastlinedefined", -1)
}

/// A line number; -1 if there is none, as in Lua.
fn line(line: Option<usize>) -> i64 {
    line.and_then(|line| i64::try_from(line).ok()).unwrap_or(-1)
}

/// The real metatable of a table, even if it has `__metatable`. If that is false, the table is the proxy's own: false.
fn metatable(lua: &Lua, value: Value) -> mlua::Result<Value> {
    match value {
        Value::Table(table) => match table.metatable() {
            Some(found) if found.raw_get::<Value>("__metatable")? == Value::Boolean(false) => {
                Ok(Value::Boolean(false))
            }
            found => Ok(found.map_or(Value::Nil, Value::Table)),
        },
        other => lua.globals().get::<Function>("getmetatable")?.call(other),
    }
}
