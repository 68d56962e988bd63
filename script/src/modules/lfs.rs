//! `lfs`: LuaFileSystem's API of release 1.2, with additions of later releases. A failing function returns nil and
//! a message, as the original does. An open file cannot be locked, because it is a C file with unknown descriptor.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use mlua::{Function, IntoLua, Lua, MultiValue, Table, Value};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use system::Clock;

use super::context::{ModuleContext, describe};
use crate::arguments::{Arguments, function};
use crate::fault::raise;

pub(super) fn open(lua: &Lua, context: &ModuleContext) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    module.set("attributes", function(lua, "attributes", attributes)?)?;
    module.set("dir", function(lua, "dir", dir)?)?;
    let clock = context.clock.clone();
    module.set(
        "touch",
        function(lua, "touch", move |arguments| touch(arguments, &clock))?,
    )?;
    module.set(
        "chdir",
        function(lua, "chdir", |arguments| {
            let path = path(arguments, 1)?;
            done(arguments, std::env::set_current_dir(path))
        })?,
    )?;
    module.set(
        "mkdir",
        function(lua, "mkdir", |arguments| {
            let path = path(arguments, 1)?;
            done(arguments, fs::create_dir(path))
        })?,
    )?;
    module.set(
        "rmdir",
        function(lua, "rmdir", |arguments| {
            let path = path(arguments, 1)?;
            done(arguments, fs::remove_dir(path))
        })?,
    )?;
    module.set(
        "currentdir",
        function(lua, "currentdir", |arguments| {
            match std::env::current_dir() {
                Ok(path) => values(arguments.lua(), [text(arguments.lua(), &path)?]),
                Err(error) => failed(arguments, &error),
            }
        })?,
    )?;
    module.set(
        "symlinkattributes",
        function(lua, "symlinkattributes", |arguments| {
            attributes_of(arguments, fs::symlink_metadata(path(arguments, 1)?))
        })?,
    )?;
    module.set("link", function(lua, "link", link)?)?;
    let clock = context.clock.clone();
    module.set(
        "lock_dir",
        function(lua, "lock_dir", move |arguments| {
            lock_dir(arguments, &clock)
        })?,
    )?;
    module.set("setmode", function(lua, "setmode", setmode)?)?;
    for name in ["lock", "unlock"] {
        let refuse = move |arguments: &Arguments<'_>| {
            failed(
                arguments,
                &io::Error::new(io::ErrorKind::Unsupported, NO_LOCK),
            )
        };
        module.set(name, function(lua, name, refuse)?)?;
    }
    describe(&module, "files and folders")?;
    lua.globals().set("lfs", &module)?;
    Ok(module)
}

const NO_LOCK: &str =
    "unsupported: an open file cannot be locked here; lfs.lock_dir locks a folder";

fn path(arguments: &Arguments<'_>, number: usize) -> mlua::Result<PathBuf> {
    let text = arguments.string(number)?;
    let path = std::ffi::OsStr::from_bytes(&text.as_bytes()).to_owned();
    Ok(PathBuf::from(path))
}

fn text(lua: &Lua, path: &Path) -> mlua::Result<Value> {
    let text = path.as_os_str().as_bytes();
    lua.create_string(text).map(Value::String)
}

fn values<const N: usize>(_: &Lua, values: [Value; N]) -> mlua::Result<MultiValue> {
    Ok(MultiValue::from_iter(values))
}

/// Returns true, or nil and the reason.
fn done(arguments: &Arguments<'_>, result: io::Result<()>) -> mlua::Result<MultiValue> {
    match result {
        Ok(()) => values(arguments.lua(), [Value::Boolean(true)]),
        Err(error) => failed(arguments, &error),
    }
}

fn failed(arguments: &Arguments<'_>, error: &io::Error) -> mlua::Result<MultiValue> {
    let lua = arguments.lua();
    let text = error.to_string().into_lua(lua)?;
    values(lua, [Value::Nil, text])
}

/// `attributes(path [, name])`: a table of all attributes, or one attribute.
fn attributes(arguments: &Arguments<'_>) -> mlua::Result<MultiValue> {
    attributes_of(arguments, fs::metadata(path(arguments, 1)?))
}

fn attributes_of(
    arguments: &Arguments<'_>,
    metadata: io::Result<Metadata>,
) -> mlua::Result<MultiValue> {
    let lua = arguments.lua();
    let name = arguments.string_if_any(2)?;
    let metadata = match metadata {
        Ok(metadata) => metadata,
        Err(error) => return failed(arguments, &error),
    };
    let table = lua.create_table()?;
    table.set("mode", mode(&metadata))?;
    let numbers = [
        ("dev", metadata.dev()),
        ("ino", metadata.ino()),
        ("nlink", metadata.nlink()),
        ("uid", metadata.uid().into()),
        ("gid", metadata.gid().into()),
        ("rdev", metadata.rdev()),
        ("access", metadata.atime().cast_unsigned()),
        ("modification", metadata.mtime().cast_unsigned()),
        ("change", metadata.ctime().cast_unsigned()),
        ("size", metadata.size()),
        ("blocks", metadata.blocks()),
        ("blksize", metadata.blksize()),
    ];
    for (name, number) in numbers {
        table.set(name, number.cast_signed())?;
    }
    match name {
        None => values(lua, [Value::Table(table)]),
        Some(name) => match table.get::<Value>(&name)? {
            Value::Nil => Err(raise(lua, "invalid attribute name")),
            value => values(lua, [value]),
        },
    }
}

fn mode(metadata: &Metadata) -> &'static str {
    let kind = metadata.file_type();
    if kind.is_file() {
        "file"
    } else if kind.is_dir() {
        "directory"
    } else if kind.is_symlink() {
        "link"
    } else if kind.is_socket() {
        "socket"
    } else if kind.is_fifo() {
        "named pipe"
    } else if kind.is_char_device() {
        "char device"
    } else if kind.is_block_device() {
        "block device"
    } else {
        "other"
    }
}

/// `dir(path)`: an iterator over names, `.` and `..` first.
fn dir(arguments: &Arguments<'_>) -> mlua::Result<Function> {
    let lua = arguments.lua();
    let path = path(arguments, 1)?;
    let entries = fs::read_dir(&path).map_err(|error| {
        let path = path.display();
        raise(lua, &format!("cannot open {path}: {error}"))
    })?;
    let names = entries.map_while(|entry| entry.ok().map(|entry| entry.file_name()));
    let own = [".", ".."].map(std::ffi::OsString::from);
    let names = Mutex::new(own.into_iter().chain(names));
    lua.create_function(move |lua, _: MultiValue| {
        let next = names.lock().ok().and_then(|mut names| names.next());
        next.map(|name| lua.create_string(name.as_bytes()))
            .transpose()
    })
}

/// `touch(path [, access [, modification]])`: sets the times, in seconds; without them, to now.
fn touch(arguments: &Arguments<'_>, clock: &Clock) -> mlua::Result<MultiValue> {
    let path = path(arguments, 1)?;
    let now = clock.unix_time().as_secs().cast_signed();
    let access = arguments.integer_if_any(2)?.unwrap_or(now);
    let modification = arguments.integer_if_any(3)?.unwrap_or(access);
    let of = |seconds| Timespec {
        tv_sec: seconds,
        tv_nsec: 0,
    };
    let times = Timestamps {
        last_access: of(access),
        last_modification: of(modification),
    };
    let result = utimensat(CWD, &path, &times, AtFlags::empty());
    done(arguments, result.map_err(io::Error::from))
}

/// `link(old, new [, is_symbolic])`
fn link(arguments: &Arguments<'_>) -> mlua::Result<MultiValue> {
    let (old, new) = (path(arguments, 1)?, path(arguments, 2)?);
    let is_symbolic = !matches!(arguments.value(3), Value::Nil | Value::Boolean(false));
    let linked = match is_symbolic {
        true => symlink(old, new),
        false => fs::hard_link(old, new),
    };
    done(arguments, linked)
}

/// `setmode(file, mode)`: there is only one mode on this system. The second value is its name.
fn setmode(arguments: &Arguments<'_>) -> mlua::Result<MultiValue> {
    let mode = arguments.string(2)?;
    if !matches!(&*mode.as_bytes(), b"binary" | b"text") {
        let text = mode.to_string_lossy();
        return Err(arguments.bad(2, &format!("invalid option '{text}'")));
    }
    let lua = arguments.lua();
    values(lua, [Value::Boolean(true), "binary".into_lua(lua)?])
}

/// The file in a folder that is locked.
const LOCK: &str = "lockfile.lfs";

/// `lock_dir(path [, seconds])`: an object with `free()`, unless the folder is locked. A lock that is
/// older than `seconds` does not count.
fn lock_dir(arguments: &Arguments<'_>, clock: &Clock) -> mlua::Result<MultiValue> {
    let lock = path(arguments, 1)?.join(LOCK);
    let stale = arguments.integer_if_any(2)?;
    let made = |lock: &Path| symlink("lock", lock);
    let locked = made(&lock).or_else(|error| match stale {
        Some(seconds) if is_older(&lock, seconds, clock) => {
            fs::remove_file(&lock).and_then(|()| made(&lock))
        }
        _ => Err(error),
    });
    if let Err(error) = locked {
        return failed(arguments, &error);
    }
    let lua = arguments.lua();
    let object = lua.create_table()?;
    let free = lua.create_function(move |_, _: MultiValue| Ok(fs::remove_file(&lock).is_ok()))?;
    object.set("free", free)?;
    values(lua, [Value::Table(object)])
}

fn is_older(path: &Path, seconds: i64, clock: &Clock) -> bool {
    let made = fs::symlink_metadata(path).and_then(|it| it.modified());
    let age = made
        .ok()
        .and_then(|it| clock.wall().duration_since(it).ok());
    age.is_some_and(|age| age.as_secs().cast_signed() >= seconds)
}
