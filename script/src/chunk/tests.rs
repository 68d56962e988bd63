//! Script files: wrapped, named, cached, read anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use mlua::{Table, Value};
use system::Clock;
use tempfile::TempDir;

use crate::{Interpreter, Level, Log, Setup};

struct Nobody;

impl Log for Nobody {
    fn log(&self, _: Level, _: &str) {}
}

struct Scripts {
    folder: TempDir,
    interpreter: Interpreter,
}

impl Scripts {
    fn new() -> Self {
        let clock = Clock::new(Instant::now, SystemTime::now);
        Self {
            folder: tempfile::tempdir().unwrap(),
            interpreter: Interpreter::new(Setup::new(Arc::new(Nobody), clock)).unwrap(),
        }
    }

    fn write(&self, text: &str) -> PathBuf {
        let path = self.folder.path().join("x.lua");
        fs::write(&path, text).unwrap();
        path
    }

    fn load_fault(&self, text: &str) -> String {
        let path = self.write(text);
        let fault = self.interpreter.load(&path).unwrap_err();
        fault.message().to_owned()
    }

    /// Runs the script's body in a new environment.
    fn run(&self, path: &Path) -> Result<Table, String> {
        let chunk = self.interpreter.load(path).map_err(|it| it.to_string())?;
        let lua = self.interpreter.lua();
        let environment = lua.create_table().unwrap();
        let metatable = lua.create_table().unwrap();
        metatable.set("__index", lua.globals()).unwrap();
        environment.set_metatable(Some(metatable)).unwrap();
        let body = chunk.instance(&environment).unwrap();
        let result = self.interpreter.call(|_| body.call::<()>(()));
        result.map(|()| environment).map_err(|it| it.message)
    }
}

#[test]
fn each_instance_has_its_environment() {
    let scripts = Scripts::new();
    let path = scripts.write("x = (x or 0) + 1; function f() y = x end f()");
    for _ in 0..3 {
        let environment = scripts.run(&path).unwrap();
        assert_eq!(environment.raw_get::<i64>("x").unwrap(), 1);
        assert_eq!(environment.raw_get::<i64>("y").unwrap(), 1);
    }
    let globals = scripts.interpreter.lua().globals();
    assert!(globals.raw_get::<Value>("x").unwrap().is_nil());
}

#[test]
fn messages_have_path_and_line() {
    let scripts = Scripts::new();
    let path = scripts.write("local a = 1\n\nerror('here')");
    let name = format!("[string \"{}\"]", path.display());
    assert!(path.as_os_str().len() < 40, "longer ones are cut by Lua");
    assert_eq!(scripts.run(&path).unwrap_err(), format!("{name}:3: here"));
    for (text, line) in [
        ("local a = 1\nlocal = 2\n", 2),
        ("#!/usr/bin/lua\nlocal a = 1", 1),
        ("if true then\n", 3),
        ("return ...", 1),
        ("end", 2),
    ] {
        let fault = scripts.load_fault(text);
        assert!(
            fault.starts_with(&format!("{name}:{line}: ")),
            "{text}: {fault}"
        );
    }
}

#[test]
fn a_last_line_may_be_a_comment_or_a_return() {
    let scripts = Scripts::new();
    for text in ["x = 1 -- the end", "x = 1 return 5", "x = 1 --[[ ]]"] {
        let environment = scripts.run(&scripts.write(text)).unwrap();
        assert_eq!(environment.raw_get::<i64>("x").unwrap(), 1, "{text}");
    }
}

#[test]
fn a_changed_file_is_read_anew() {
    let scripts = Scripts::new();
    let x = |path: &Path| scripts.run(path).unwrap().raw_get::<i64>("x").unwrap();
    let path = scripts.write("x = 1");
    assert_eq!(x(&path), 1);
    let stamp = fs::metadata(&path).unwrap().modified().unwrap();
    let set_time = |time: SystemTime| {
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(time).unwrap();
    };
    // Size and time are unchanged, so the file counts as unchanged.
    scripts.write("x = 2");
    set_time(stamp);
    assert_eq!(x(&path), 1);
    set_time(stamp + Duration::from_secs(1));
    assert_eq!(x(&path), 2);
    // A change of the size alone is noticed.
    scripts.write("x = 300");
    set_time(stamp + Duration::from_secs(1));
    assert_eq!(x(&path), 300);
}

#[test]
fn a_broken_or_vanished_file_is_a_fault_until_it_is_mended() {
    let scripts = Scripts::new();
    let path = scripts.write("x = 1");
    scripts.run(&path).unwrap();
    assert!(scripts.load_fault("x = = 1").contains(":1: "));
    fs::remove_file(&path).unwrap();
    let fault = scripts.interpreter.load(&path).unwrap_err();
    let text = format!("lua_load_file({}) failed: No such file", path.display());
    assert!(fault.to_string().starts_with(&text), "{fault}");
    assert!(scripts.interpreter.load(scripts.folder.path()).is_err());
    scripts.write("x = 22");
    assert!(scripts.run(&path).is_ok());
}

#[test]
fn script_files_with_arbitrary_bytes_do_not_panic() {
    let scripts = Scripts::new();
    let path = scripts.folder.path().join("x.lua");
    for bytes in [&b"\x1bLua"[..], b"\0", b"\xff\xfe", b"", b"x = '\0'"] {
        fs::write(&path, bytes).unwrap();
        let _ = scripts.run(&path);
    }
}
