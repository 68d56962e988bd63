//! `posix`: the process's user, and signals.

use mlua::{Lua, Table};
use nix::unistd::{Uid, User};
use rustix::process::{
    Pid, Signal, getuid, kill_current_process_group, kill_process, kill_process_group,
    test_kill_current_process_group, test_kill_process, test_kill_process_group,
};

use super::context::{ModuleContext, describe};
use crate::arguments::{Arguments, function};

pub(super) fn open(lua: &Lua, _: &ModuleContext) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    module.set(
        "getpid",
        lua.create_function(|_, ()| Ok(std::process::id()))?,
    )?;
    module.set(
        "getuid",
        lua.create_function(|_, ()| Ok(getuid().as_raw()))?,
    )?;
    module.set("getpwuid", function(lua, "getpwuid", user)?)?;
    module.set(
        "kill",
        function(lua, "kill", |arguments| {
            let [process, signal] = [arguments.integer(1)?, arguments.integer(2)?];
            Ok(if send(process, signal) { 0 } else { -1 })
        })?,
    )?;
    describe(&module, "parts of POSIX")?;
    Ok(module)
}

/// `getpwuid(uid)`: nil if there is no such user.
fn user(arguments: &Arguments<'_>) -> mlua::Result<Option<Table>> {
    let Ok(uid) = u32::try_from(arguments.integer(1)?) else {
        return Ok(None);
    };
    let Ok(Some(user)) = User::from_uid(Uid::from_raw(uid)) else {
        return Ok(None);
    };
    let lua = arguments.lua();
    let table = lua.create_table()?;
    let path = |path: &std::path::Path| lua.create_string(path.as_os_str().as_encoded_bytes());
    table.set("name", user.name)?;
    table.set("uid", user.uid.as_raw())?;
    table.set("gid", user.gid.as_raw())?;
    table.set("dir", path(&user.dir)?)?;
    table.set("shell", path(&user.shell)?)?;
    Ok(Some(table))
}

/// Sends a signal. The process number is as in kill(2): 0 is the proxy's group, a negative number another group. But
/// -1 (all processes) is refused.
fn send(process: i64, signal: i64) -> bool {
    let Ok(signal) = i32::try_from(signal) else {
        return false;
    };
    let signal = match signal {
        0 => None,
        number => match Signal::from_named_raw(number) {
            Some(signal) => Some(signal),
            None => return false,
        },
    };
    let number = i32::try_from(process.saturating_abs()).ok();
    let sent = match (process, number.and_then(Pid::from_raw), signal) {
        (-1, ..) => return false,
        (0, _, None) => test_kill_current_process_group(),
        (0, _, Some(signal)) => kill_current_process_group(signal),
        (1.., Some(process), None) => test_kill_process(process),
        (1.., Some(process), Some(signal)) => kill_process(process, signal),
        (_, Some(group), None) => test_kill_process_group(group),
        (_, Some(group), Some(signal)) => kill_process_group(group, signal),
        (_, None, _) => return false,
    };
    sent.is_ok()
}
