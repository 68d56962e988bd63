//! `os.execute`: a shell command, which runs no longer than the call that started it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt};
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use mlua::{Lua, Table};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::arguments::{Arguments, function};
use crate::budget::Budget;

/// The pause between two checks whether the command has ended: the first pause, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_micros(100), Duration::from_millis(5));

/// The status of system(3) for a command that cannot be run.
const FAILED: i32 = -1;

/// Replaces Lua's own `os.execute`.
pub(crate) fn open(lua: &Lua, budget: &Arc<Budget>) -> mlua::Result<()> {
    let budget = Arc::clone(budget);
    let execute = move |arguments: &Arguments<'_>| execute(arguments, &budget);
    let os: Table = lua.globals().get("os")?;
    os.set("execute", function(lua, "execute", execute)?)
}

/// `execute([command])`: the status as system(3) returns it; without a command, whether there is a shell.
fn execute(arguments: &Arguments<'_>, budget: &Budget) -> mlua::Result<i32> {
    let Some(text) = arguments.string_if_any(1)? else {
        return Ok(1);
    };
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(OsStr::from_bytes(&text.as_bytes()));
    // A group of its own, so that all processes that it starts can be ended.
    let Ok(mut child) = command.process_group(0).spawn() else {
        return Ok(FAILED);
    };
    if !ends_in_time(&mut child, budget) {
        end(&mut child);
        budget.check_time(arguments.lua())?;
    }
    Ok(child.wait().map_or(FAILED, ExitStatusExt::into_raw))
}

fn ends_in_time(child: &mut Child, budget: &Budget) -> bool {
    let (mut pause, pause_max) = PAUSES;
    loop {
        let Some(left) = budget.time_left() else {
            return true;
        };
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        if left.is_zero() {
            return false;
        }
        // Sleeps until after the deadline, not exactly to it.
        sleep(pause.min(left + Duration::from_nanos(1)));
        pause = (2 * pause).min(pause_max);
    }
}

fn end(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let killed = group.map(|group| kill_process_group(group, Signal::KILL));
    if !matches!(killed, Some(Ok(()))) {
        // The group may have ended meanwhile; then this fails, which does not matter.
        let _ = child.kill();
    }
    let _ = child.wait();
}
