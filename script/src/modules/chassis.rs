//! `chassis`: the log, memory statistics, the end of the process. After `require` of this module, `print` writes a log
//! line of level "message", and the old `print` is `os.print`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use mlua::{Function, Lua, MultiValue, Table, Value};

use super::context::{ModuleContext, describe};
use crate::arguments::{Arguments, function};
use crate::fault::raise;
use crate::log::{Level, Log};

/// The shorthands: a function for each level but "error".
const SHORTHANDS: [(&str, Level); 5] = [
    ("critical", Level::Critical),
    ("warning", Level::Warning),
    ("message", Level::Message),
    ("info", Level::Info),
    ("debug", Level::Debug),
];

/// Writes lines into the log, each with its place in front.
#[derive(Clone)]
struct Writer {
    log: Arc<dyn Log>,
    /// The prefix that is removed from the names of scripts.
    basedir: String,
}

pub(super) fn open(lua: &Lua, surroundings: &ModuleContext) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    let writer = Writer::new(surroundings);
    let shutdown = Arc::clone(&surroundings.shutdown);
    module.set(
        "set_shutdown",
        lua.create_function(move |_, _: MultiValue| {
            shutdown();
            Ok(())
        })?,
    )?;
    let of = writer.clone();
    let log = function(lua, "log", move |arguments| log(arguments, &of))?;
    module.set("log", log)?;
    for (name, level) in SHORTHANDS {
        let of = writer.clone();
        let shorthand = function(lua, name, move |arguments| {
            let text = arguments.string(1)?;
            of.write(arguments.lua(), level, &text.to_string_lossy());
            Ok(())
        })?;
        module.set(name, shorthand)?;
    }
    let most = AtomicUsize::new(0);
    let stats = function(lua, "get_stats", move |arguments| stats(arguments, &most))?;
    module.set("get_stats", stats)?;
    let of = writer.clone();
    module.set(
        "mem_profile",
        lua.create_function(move |lua, _: MultiValue| {
            let text = format!("Lua uses {} bytes", lua.used_memory());
            of.write(lua, Level::Message, &text);
            Ok(())
        })?,
    )?;
    describe(&module, "the process around scripts")?;
    replace_print(lua, writer)?;
    Ok(module)
}

/// `log(level, text)`
fn log(arguments: &Arguments<'_>, writer: &Writer) -> mlua::Result<()> {
    let level = match arguments.string_if_any(1)? {
        None => Level::Message,
        Some(name) => {
            let name = name.to_string_lossy();
            let level = Level::ALL.into_iter().find(|level| level.name() == name);
            level.ok_or_else(|| arguments.bad(1, &format!("invalid option '{name}'")))?
        }
    };
    let text = arguments.string(2)?;
    writer.write(arguments.lua(), level, &text.to_string_lossy());
    Ok(())
}

/// `get_stats([plugin])`; the only plugin is the chassis. The memory in use counts as allocated, and nothing as freed,
/// because scripts use the difference. The maximum is the greatest value that this function has returned.
fn stats(arguments: &Arguments<'_>, most: &AtomicUsize) -> mlua::Result<Option<Table>> {
    let lua = arguments.lua();
    let of_lua = lua.create_table()?;
    let used = lua.used_memory();
    of_lua.set("lua_mem_alloc", used)?;
    of_lua.set("lua_mem_free", 0)?;
    of_lua.set("lua_mem_bytes", used)?;
    of_lua.set("lua_mem_bytes_max", most.fetch_max(used, Relaxed).max(used))?;
    match arguments.string_if_any(1)? {
        Some(plugin) if &*plugin.as_bytes() != b"chassis" => Ok(None),
        _ => {
            let all = lua.create_table()?;
            all.set("chassis", of_lua)?;
            Ok(Some(all))
        }
    }
}

/// Replaces `print`. The new one logs the first argument only, as the original does.
fn replace_print(lua: &Lua, writer: Writer) -> mlua::Result<()> {
    let globals = lua.globals();
    let os: Table = globals.get("os")?;
    os.set("print", globals.get::<Value>("print")?)?;
    let tostring: Function = globals.get("tostring")?;
    let print = lua.create_function(move |lua, values: MultiValue| {
        let first = values.into_iter().next().unwrap_or(Value::Nil);
        let text = lua.coerce_string(tostring.call(first)?)?;
        let text = text.ok_or_else(|| raise(lua, "'tostring' must return a string to 'print'"))?;
        writer.write(lua, Level::Message, &text.to_string_lossy());
        Ok(())
    })?;
    globals.set("print", print)
}

impl Writer {
    fn new(surroundings: &ModuleContext) -> Self {
        let basedir = surroundings.basedir.as_deref().map(Path::to_string_lossy);
        Self {
            log: Arc::clone(&surroundings.log),
            basedir: basedir.map_or_else(String::new, |basedir| format!("{basedir}/")),
        }
    }

    /// Writes a line with "(source:line) " in front: the place of the running function's caller.
    fn write(&self, lua: &Lua, level: Level, text: &str) {
        let place = source_and_line(lua).unwrap_or_default();
        let place = match self.basedir.as_str() {
            "" => place.as_str(),
            basedir => place.strip_prefix(basedir).unwrap_or(&place),
        };
        match place {
            "" => self.log.log(level, text),
            place => self.log.log(level, &format!("({place}) {text}")),
        }
    }
}

fn source_and_line(lua: &Lua) -> Option<String> {
    let found = lua.inspect_stack(1, |debug| {
        let source = debug.source().source?.into_owned();
        Some((source, debug.current_line()?))
    });
    let (source, line) = found.flatten()?;
    let source = source.trim_start_matches(['@', '=']);
    Some(format!("{source}:{line}"))
}
