//! `getfenv` and `setfenv`. They are C functions, as Lua's own are: a function that ends with a call of them keeps its
//! frame. The call may be about that frame's environment.
//!
//! Scripts cannot get the environments of the proxy's own functions.

use mlua::{Function, Lua, Table, Value};

use crate::arguments::{Arguments, function, number_of};
use crate::fault::{message, raise};
use crate::stack::Frames;

/// Lua's own functions, and the environments that are hidden from scripts.
#[derive(Clone)]
struct Environments {
    get: Function,
    set: Function,
    hidden: Table,
}

/// The function whose environment is meant.
enum Subject {
    Function(Function),
    /// 1 is the caller of `getfenv` or `setfenv`; 0 is the global environment.
    Level(usize),
}

/// Replaces both globals. Returns the function that hides an environment from them.
pub(crate) fn open(lua: &Lua) -> mlua::Result<Function> {
    let globals = lua.globals();
    let hidden = lua.create_table()?;
    let weak = lua.create_table()?;
    weak.raw_set("__mode", "k")?;
    hidden.set_metatable(Some(weak))?;
    let own = Environments {
        get: globals.get("getfenv")?,
        set: globals.get("setfenv")?,
        hidden: hidden.clone(),
    };
    let of = own.clone();
    globals.set(
        "getfenv",
        function(lua, "getfenv", move |arguments| of.get(arguments))?,
    )?;
    globals.set(
        "setfenv",
        function(lua, "setfenv", move |arguments| own.set(arguments))?,
    )?;
    lua.create_function(move |_, environment: Table| hidden.raw_set(environment, true))
}

impl Environments {
    fn get(&self, arguments: &Arguments<'_>) -> mlua::Result<Table> {
        let globals = arguments.lua().globals();
        let found = match arguments.value(1) {
            Value::Nil => self.of(arguments, &Subject::Level(1))?,
            _ => self.of(arguments, &subject(arguments)?)?,
        };
        let is_hidden = self.hidden.raw_get::<bool>(&found)?;
        Ok(if is_hidden { globals } else { found })
    }

    fn set(&self, arguments: &Arguments<'_>) -> mlua::Result<Value> {
        let lua = arguments.lua();
        let environment = arguments.table(2)?;
        let subject = subject(arguments)?;
        if let Subject::Level(0) = subject {
            // A level below one is this function itself, as in Lua.
            let text = match number_of(lua, arguments.value(1)) {
                Some(0.0) => "setfenv: the globals of all scripts cannot be replaced",
                _ => NOT_TO_CHANGE,
            };
            return Err(raise(lua, text));
        }
        let found = self.of(arguments, &subject)?;
        if self.hidden.raw_get::<bool>(found)? {
            return Err(raise(lua, NOT_TO_CHANGE));
        }
        let set = match subject {
            Subject::Function(of) => self.set.call((of, environment)),
            // Between Lua's own function and the caller there is this function.
            Subject::Level(level) => match Frames::new(lua).nth(level) {
                Some(frame) if frame.is_own() => return Err(raise(lua, NOT_TO_CHANGE)),
                Some(frame) => self.set.call((frame.level + 1, environment)),
                None => Err(arguments.bad(1, "invalid level")),
            },
        };
        set.map_err(|error| raise(lua, &message(&error)))
    }

    fn of(&self, arguments: &Arguments<'_>, subject: &Subject) -> mlua::Result<Table> {
        let lua = arguments.lua();
        let level = match subject {
            Subject::Function(of) => return self.get.call(of),
            Subject::Level(0) => return Ok(lua.globals()),
            Subject::Level(level) => *level,
        };
        match Frames::new(lua).nth(level) {
            None => Err(arguments.bad(1, "invalid level")),
            Some(frame) if frame.is_tail() => Err(raise(
                lua,
                &format!("no function environment for tail call at level {level}"),
            )),
            // The same as for a C function.
            Some(frame) if frame.is_own() => Ok(lua.globals()),
            // Between Lua's own function and the caller there is this function.
            Some(frame) => self.get.call(frame.level + 1),
        }
    }
}

const NOT_TO_CHANGE: &str = "'setfenv' cannot change environment of given object";

/// More levels than a stack can have.
const LEVEL_MAX: i64 = 1 << 24;

fn subject(arguments: &Arguments<'_>) -> mlua::Result<Subject> {
    if let Value::Function(of) = arguments.value(1) {
        return Ok(Subject::Function(of));
    }
    let level = arguments.integer(1)?.min(LEVEL_MAX);
    match usize::try_from(level) {
        Ok(level) => Ok(Subject::Level(level)),
        Err(_) => Err(arguments.bad(1, "level must be non-negative")),
    }
}
