//! Functions of the Lua state that need a test in Rust; the other functions are tested in `script/tests`.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use system::Clock;

use super::{Interpreter, Setup};
use crate::{Level, Log};

fn clock() -> Clock {
    Clock::new(Instant::now, SystemTime::now)
}

#[derive(Default)]
struct Lines(Mutex<Vec<(Level, String)>>);

impl Log for Lines {
    fn log(&self, level: Level, line: &str) {
        self.0.lock().unwrap().push((level, line.to_owned()));
    }
}

fn logged(basedir: Option<&str>, name: &str, script: &str) -> Vec<(Level, String)> {
    let lines = Arc::new(Lines::default());
    let setup = Setup {
        basedir: basedir.map(Into::into),
        ..Setup::new(lines.clone(), clock())
    };
    let interpreter = Interpreter::new(setup).unwrap();
    let run = interpreter.call(|lua| lua.load(script).set_name(name).exec());
    run.unwrap();
    std::mem::take(&mut lines.0.lock().unwrap())
}

#[test]
fn log_lines_have_their_location() {
    let script = "
        local chassis = require('chassis')
        chassis.critical('one')
        chassis.log('error', 'two')
        chassis.log(nil, 'three')
        print('four', 'not this')
        print(nil)";
    let expected = |folder: &str| {
        [
            (Level::Critical, "(@3) one"),
            (Level::Error, "(@4) two"),
            (Level::Message, "(@5) three"),
            (Level::Message, "(@6) four"),
            (Level::Message, "(@7) nil"),
        ]
        .map(|(level, text)| (level, text.replace('@', &format!("{folder}x.lua:"))))
    };
    let logged_here = logged(None, "/base/x.lua", script);
    assert_eq!(logged_here, expected("/base/"));
    let logged_there = logged(Some("/base"), "/base/x.lua", script);
    assert_eq!(logged_there, expected(""));
}

#[test]
fn a_module_in_lua_path_hides_the_built_in_module() {
    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join("posix.lua");
    std::fs::write(module, "return {getpid = function() return 'mine' end}").unwrap();
    let path = |path: Option<String>, basedir: Option<&Path>| {
        let setup = Setup {
            lua_path: path,
            basedir: basedir.map(Into::into),
            ..Setup::new(Arc::new(Lines::default()), clock())
        };
        let interpreter = Interpreter::new(setup).unwrap();
        let run = interpreter.call(|lua| {
            lua.load("return tostring(require('posix').getpid()), package.path")
                .eval::<(String, String)>()
        });
        run.unwrap()
    };
    let question = folder.path().join("?.lua").display().to_string();
    assert_eq!(
        path(Some(question.clone()), None),
        ("mine".to_owned(), question)
    );
    let own = std::process::id().to_string();
    let default = "/base/lib/mysql-proxy/lua/?.lua".to_owned();
    if std::env::var_os("LUA_PATH").is_none() {
        assert_eq!(
            path(None, Some(Path::new("/base"))),
            (own.clone(), default.clone())
        );
    }
    let both = path(Some("x/?;;".to_owned()), Some(Path::new("/base")));
    assert_eq!(both, (own, format!("x/?;{default}")));
}

#[test]
fn a_lua_interpreter_can_move_between_threads() {
    let interpreter = Interpreter::new(Setup::new(Arc::new(Lines::default()), clock())).unwrap();
    let shared = Arc::new(Mutex::new(interpreter));
    let add = || {
        let shared = Arc::clone(&shared);
        std::thread::spawn(move || {
            for _ in 0..100 {
                let interpreter = shared.lock().unwrap();
                let run = interpreter.call(|lua| lua.load("n = (n or 0) + 1").exec());
                run.unwrap();
            }
        })
    };
    for thread in [add(), add(), add()] {
        thread.join().unwrap();
    }
    let interpreter = shared.lock().unwrap();
    assert_eq!(interpreter.lua().globals().get::<i64>("n").unwrap(), 300);
}

#[test]
fn set_shutdown_requests_a_stop_of_the_proxy() {
    let told = Arc::new(Mutex::new(0));
    let of = Arc::clone(&told);
    let setup = Setup {
        shutdown: Arc::new(move || *of.lock().unwrap() += 1),
        ..Setup::new(Arc::new(Lines::default()), clock())
    };
    let interpreter = Interpreter::new(setup).unwrap();
    let run = interpreter.call(|lua| lua.load("require('chassis').set_shutdown()").exec());
    run.unwrap();
    assert_eq!(*told.lock().unwrap(), 1);
}

/// A worker's thread has a stack of 2 MiB, and the proxy uses a part of it.
#[test]
fn no_recursion_exhausts_the_stack() {
    let recursions = [
        "local function f() return (('x'):gsub('x', f)) end f()",
        "local t = setmetatable({}, {__index = function(t) return (('x'):gsub('x', t)) end})
         local _ = t.x",
        "local function f() pcall(f) end f()",
        "local function f() xpcall(f, f) end f()",
        "local function f() coroutine.wrap(f)() end f()",
        "local function f() table.sort({1, 2}, f) end f()",
        "local function f() load(f) end f()",
        "local function f() f() end f()",
        "local p = setmetatable({}, {}) getmetatable(p).__tostring = function() print(p) end
         require('chassis') print(p)",
        "local lpeg = require('lpeg')
         local p p = lpeg.P(function(s, i) return p:match(s) end) p:match('x')",
        "return loadstring('return ' .. ('('):rep(1e5))()",
        "return ('a'):rep(1e5):find(('a?'):rep(2048))",
    ];
    let run = move || {
        let interpreter =
            Interpreter::new(Setup::new(Arc::new(Lines::default()), clock())).unwrap();
        for script in recursions {
            let _ = interpreter.call(|lua| lua.load(script).exec());
            let next = interpreter.call(|lua| lua.load("return 1").eval::<i64>());
            assert_eq!(next, Ok(1), "behind {script}");
        }
    };
    let thread = std::thread::Builder::new().stack_size(3 << 19);
    thread.spawn(run).unwrap().join().unwrap();
}
