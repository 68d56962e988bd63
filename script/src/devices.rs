//! Files that a script must not open: a read from a device or a named pipe may wait for ever, in a call that
//! cannot be interrupted.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use mlua::{Function, Lua, LuaString};
use rustix::fs::OFlags;

use crate::budget::Budget;

/// The major number of the memory devices, and the minor numbers of the devices whose reads return at once: `null`,
/// `random` and `urandom`.
const MEMORY_DEVICES: u32 = 1;
const READABLE: [u32; 3] = [3, 8, 9];

/// A Lua function of a file's name and the mode to open it. It returns the reason for a refusal, in the form of Lua's
/// errors, or nil if the file may be opened. In a call without a time limit all files may be opened.
pub(crate) fn refuses(lua: &Lua, budget: &Arc<Budget>) -> mlua::Result<Function> {
    let budget = Arc::clone(budget);
    lua.create_function(move |_, (name, mode): (LuaString, Option<LuaString>)| {
        if budget.time_left().is_none() {
            return Ok(None);
        }
        let (name, mode) = (name.as_bytes(), mode.as_ref().map(LuaString::as_bytes));
        let mode = mode.as_deref().unwrap_or(b"r");
        let why = refusal(Path::new(OsStr::from_bytes(&name)), mode);
        Ok(why.map(|why| format!("{}: {why}", String::from_utf8_lossy(&name))))
    })
}

fn refusal(path: &Path, mode: &[u8]) -> Option<&'static str> {
    // If the file does not exist, Lua itself reports it.
    let metadata = fs::metadata(path).ok()?;
    let reads = mode.starts_with(b"r") || mode.contains(&b'+');
    let kind = metadata.file_type();
    if kind.is_char_device() {
        let (major, minor) = (
            rustix::fs::major(metadata.rdev()),
            rustix::fs::minor(metadata.rdev()),
        );
        let is_readable = major == MEMORY_DEVICES && READABLE.contains(&minor);
        return (reads && !is_readable).then_some("is a device: reading it may not end");
    }
    if kind.is_fifo() && reads {
        return Some("is a named pipe: reading it may not end");
    }
    (kind.is_fifo() && !is_read(path)).then_some("is a named pipe that nobody reads")
}

/// Whether a process has a named pipe open for reading: then opening it for writing does not wait.
fn is_read(path: &Path) -> bool {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let opened = OpenOptions::new()
        .write(true)
        .custom_flags(flags)
        .open(path);
    opened.is_ok()
}
