//! `error`: like Lua's own, but it finds the place by the calls that a script sees ([`crate::stack`]).
//!
//! It is a C function, as Lua's own is: a function that ends with a call of `error` keeps its frame, and the
//! message names the place of that frame.

use std::sync::Arc;

use mlua::{Error, Function, Lua, Value};

use crate::arguments::{Arguments, function};
use crate::budget::Budget;
use crate::raised::Raised;
use crate::stack::Frames;

/// The cost of an error, as bytes of a text: about 10 µs, or 2,000 instructions.
const COST: usize = 32 << 10;

/// Replaces the global. Returns Lua's own `error`, whose levels are the levels in memory.
pub(crate) fn open(lua: &Lua, budget: &Arc<Budget>) -> mlua::Result<Function> {
    let globals = lua.globals();
    let own = globals.get("error")?;
    let of = Arc::clone(budget);
    let charged = move |arguments: &Arguments<'_>| {
        of.charge(arguments.lua(), COST, 1)?;
        error(arguments)
    };
    globals.set("error", function(lua, "error", charged)?)?;
    Ok(own)
}

/// `error([message [, level]])`
fn error(arguments: &Arguments<'_>) -> mlua::Result<()> {
    let level = arguments.integer_if_any(2)?.unwrap_or(1);
    let value = match (arguments.value(1), usize::try_from(level)) {
        (Value::String(_) | Value::Integer(_) | Value::Number(_), Ok(level)) if level > 0 => {
            let lua = arguments.lua();
            let frame = Frames::new(lua).nth(level);
            let place = frame.map_or_else(String::new, |frame| frame.location(lua));
            let text = arguments.string(1)?;
            let text = [place.as_bytes(), &text.as_bytes()].concat();
            Value::String(lua.create_string(text)?)
        }
        (value, _) => value,
    };
    Err(Error::external(Raised(value)))
}
