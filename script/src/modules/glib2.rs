//! `glib2`: sleeping, MD5, the time of day.

use std::thread;
use std::time::Duration;

use mlua::{Lua, Table};

use super::context::{ModuleContext, describe};
use super::md5::md5;
use crate::arguments::{Arguments, function};
use crate::budget::Budget;

pub(super) fn open(lua: &Lua, surroundings: &ModuleContext) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    let budget = surroundings.budget.clone();
    let clock = surroundings.clock.clone();
    module.set(
        "usleep",
        function(lua, "usleep", move |arguments| sleep(arguments, &budget))?,
    )?;
    module.set(
        "md5",
        function(lua, "md5", |arguments| {
            Ok(md5(&arguments.string(1)?.as_bytes()))
        })?,
    )?;
    module.set(
        "get_current_time",
        lua.create_function(move |lua, ()| {
            let now = clock.unix_time();
            let time = lua.create_table()?;
            time.set("tv_sec", now.as_secs())?;
            time.set("tv_usec", now.subsec_micros())?;
            Ok(time)
        })?,
    )?;
    describe(&module, "parts of GLib")?;
    Ok(module)
}

/// Sleeps the given number of microseconds, but no longer than the time that the current call has left.
fn sleep(arguments: &Arguments<'_>, budget: &Budget) -> mlua::Result<()> {
    let microseconds = u64::try_from(arguments.integer(1)?).unwrap_or(0);
    let asked = Duration::from_micros(microseconds);
    match budget.time_left() {
        Some(left) if left < asked => {
            thread::sleep(left + Duration::from_nanos(1));
            budget.check_time(arguments.lua())
        }
        _ => {
            thread::sleep(asked);
            Ok(())
        }
    }
}
