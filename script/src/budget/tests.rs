//! Scripts that a limit ends, and the limit that ends each of them.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use system::Clock;

use super::{Limit, Limits};
use crate::{Fault, Interpreter, Level, Log, Setup};

struct Nobody;

impl Log for Nobody {
    fn log(&self, _: Level, _: &str) {}
}

fn interpreter(limits: Limits) -> Interpreter {
    let setup = Setup {
        limits,
        ..Setup::new(Arc::new(Nobody), Clock::new(Instant::now, SystemTime::now))
    };
    Interpreter::new(setup).unwrap()
}

fn run(interpreter: &Interpreter, script: &str) -> Result<(), Fault> {
    interpreter.call(|lua| lua.load(script).set_name("=script").exec())
}

const HOUR: Duration = Duration::from_secs(3600);

/// Endless scripts. A script cannot catch the error of its limit.
const ENDLESS: &[&str] = &[
    "while true do end",
    "local function f() return f() end f()",
    "while true do pcall(function() while true do end end) end",
    "while true do pcall(pcall, function() while true do end end) end",
    "local function f() while true do end end while true do xpcall(f, f) end",
    "while true do xpcall(function() while true do end end, print) end",
    "while true do pcall(error, 'x') end",
    "while true do pcall(coroutine.wrap(function() while true do end end)) end",
    "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
    "local function f()
       while true do coroutine.resume(coroutine.create(f)) end
     end
     f()",
    "while true do load(function() while true do end end) end",
    "while true do pcall(string.gsub, ('x'):rep(9), '.', function() while true do end end) end",
    "while true do pcall(table.sort, {3, 2, 1}, function() while true do end end) end",
    "local t = setmetatable({}, {__index = function(t, k) return t[k .. ''] end})
     while true do pcall(function() return t.x end) end",
    "error(setmetatable({}, {__tostring = function() while true do end end}))",
    "while true do pcall(string.rep, 'x', 2 ^ 31) end",
    "for i = 1, 1e9 do local s = ('x'):rep(1000) .. i end",
];

#[test]
fn an_endless_script_ends_by_its_instructions() {
    let interpreter = interpreter(Limits {
        instructions: 300_000,
        time: HOUR,
        memory_bytes: 16 << 20,
    });
    for script in ENDLESS {
        let fault = run(&interpreter, script).unwrap_err();
        assert_eq!(fault.limit, Some(Limit::Instructions), "{script}: {fault}");
        assert!(
            fault.message.contains("limit of 300000 instructions"),
            "{script}: {fault}"
        );
        // The next call has the whole budget again.
        let next = "for i = 1, 1e5 do end assert(pcall(function() end))";
        assert_eq!(run(&interpreter, next), Ok(()), "behind {script}");
    }
}

#[test]
fn a_script_ends_at_its_time_limit() {
    let interpreter = interpreter(Limits {
        time: Duration::from_millis(20),
        ..Limits::NONE
    });
    for script in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "require('glib2').usleep(1e15)",
        "while true do pcall(require('glib2').usleep, 1e15) end",
    ] {
        let fault = run(&interpreter, script).unwrap_err();
        assert_eq!(fault.limit, Some(Limit::Time), "{script}: {fault}");
        assert!(
            fault.message.contains("limit of time, 20ms"),
            "{script}: {fault}"
        );
    }
}

#[test]
fn a_script_ends_at_its_memory_limit() {
    let interpreter = interpreter(Limits {
        memory_bytes: 8 << 20,
        ..Limits::NONE
    });
    for script in [
        "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end",
        "local s = 'x' while true do s = s .. s end",
        "return ('x'):rep(2 ^ 30)",
        "return ('x'):rep(2 ^ 60)",
        "local t = {} for i = 1, 1e9 do t[i] = {} end",
        "local t = {} for i = 1, 1e9 do t[i] = function() return t, i end end",
        "local s = ('x'):rep(1e6) s = s:gsub('x', ('y'):rep(1e6))",
        "return table.concat({('x'):rep(6e6), ('y'):rep(6e6)})",
        "local t = {} for i = 1, 1e6 do t[i] = coroutine.create(function() end) end",
        "local all, t = require('mysql.tokenizer'), {}
         while true do t[#t + 1] = all.tokenize(('+'):rep(10000)) end",
        "require('mysql.tokenizer').tokenize(('+'):rep(1e6))",
    ] {
        let fault = run(&interpreter, script).unwrap_err();
        assert_eq!(fault.limit, Some(Limit::Memory), "{script}: {fault}");
        assert!(
            fault.message.contains("limit of memory, 8388608 bytes"),
            "{script}: {fault}"
        );
        let next = "local t = {} for i = 1, 1000 do t[i] = {} end";
        assert_eq!(run(&interpreter, next), Ok(()), "behind {script}");
    }
}

#[test]
fn garbage_is_collected_before_the_memory_limit_fails_a_script() {
    let interpreter = interpreter(Limits {
        memory_bytes: 4 << 20,
        ..Limits::NONE
    });
    // With so much memory in use, the collector would wait for 20 MB more.
    for _ in 0..10 {
        let kept =
            "kept = kept or {} for i = 1, 2000 do kept[#kept + 1] = ('x'):rep(1000) .. #kept end";
        assert_eq!(run(&interpreter, kept), Ok(()));
    }
    assert_eq!(run(&interpreter, "collectgarbage()"), Ok(()));
    for garbage in [
        "for i = 1, 12000 do local s = ('y'):rep(1000) .. i end",
        "local all = require('mysql.tokenizer') for i = 1, 200 do all.tokenize(('+'):rep(10000)) end",
    ] {
        assert_eq!(run(&interpreter, garbage), Ok(()), "{garbage}");
    }
}

#[test]
fn files_that_may_block_are_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe").display().to_string();
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let interpreter = interpreter(Limits {
        time: HOUR,
        ..Limits::default()
    });
    let script = format!("local PIPE = {pipe:?}\n{OPENS}");
    assert_eq!(run(&interpreter, &script), Ok(()));
}

const OPENS: &str = r#"
    local function fails(why, done, told)
        assert(not done and tostring(told):find(why, 1, true), told)
    end
    for _, name in ipairs{ "/dev/zero", "/dev/full", "/dev/tty", PIPE } do
        local kind = name == PIPE and "named pipe" or "is a device"
        fails(kind, io.open(name))
        fails(kind, io.open(name, "rb"))
        fails(kind, io.open(name, "a+"))
        fails(kind, loadfile(name))
        fails(kind, pcall(dofile, name))
        fails("bad argument #1 to 'lines' (" .. name .. ": is a", pcall(io.lines, name))
        fails("bad argument #1 to 'input' (" .. name .. ": is a", pcall(io.input, name))
    end
    fails("nobody reads", io.open(PIPE, "w"))
    fails("nobody reads", pcall(io.output, PIPE))
    fails("No such file", io.open("/no/such/file"))
    fails("bad argument #1 to 'lines' (/no/such/file: No such file", pcall(io.lines, "/no/such/file"))
    assert(#io.open("/dev/urandom"):read(16) == 16)
    assert(io.open("/dev/null"):read() == nil)
    io.open("/dev/full", "w"):close()
    for _ in io.lines("/proc/self/stat") do end
"#;

#[test]
fn a_scripts_own_error_is_not_reported_as_a_limit() {
    let interpreter = interpreter(Limits {
        time: HOUR,
        ..Limits::default()
    });
    for (script, message) in [
        ("error('so it is')", "script:1: so it is"),
        ("error('so it is', 0)", "so it is"),
        (
            "\nlocal t; t.x = 1",
            "script:2: attempt to index local 't' (a nil value)",
        ),
        ("local function f() f() end f()", "script:1: stack overflow"),
    ] {
        let fault = run(&interpreter, script).unwrap_err();
        assert_eq!(fault.limit, None, "{script}");
        assert!(fault.message.starts_with(message), "{script}: {fault}");
    }
}

#[test]
fn error_values_of_any_type_do_not_panic() {
    let interpreter = interpreter(Limits {
        time: HOUR,
        ..Limits::default()
    });
    for thrown in [
        "nil",
        "true",
        "12",
        "{}",
        "print",
        "io.stdout",
        "coroutine.create(print)",
    ] {
        let script = format!("error({thrown})");
        let thrown_is_no_function_of_lua = thrown.contains("coroutine");
        let fault = run(&interpreter, &script).unwrap_err();
        assert!(
            thrown_is_no_function_of_lua || fault.limit.is_none(),
            "{thrown}: {fault}"
        );
    }
    let bytes = "error('\\255\\0\\254')";
    assert!(run(&interpreter, bytes).is_err());
    assert_eq!(
        run(&interpreter, "coroutine.yield()").unwrap_err().limit,
        None
    );
}

#[test]
fn a_call_in_a_call_shares_its_limits() {
    let interpreter = interpreter(Limits {
        instructions: 300_000,
        ..Limits::NONE
    });
    let fault = interpreter.call(|_| {
        for _ in 0..1000 {
            let inner = run(&interpreter, "for i = 1, 1000 do end");
            inner.map_err(|fault| mlua::Error::RuntimeError(fault.message))?;
        }
        Ok(())
    });
    assert_eq!(fault.unwrap_err().limit, Some(Limit::Instructions));
}

#[test]
fn a_command_of_the_shell_ends_with_the_time() {
    // The time is long enough for a shell to start even on a busy machine.
    let interpreter = interpreter(Limits {
        time: Duration::from_secs(5),
        ..Limits::NONE
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!(
        "pcall(os.execute, 'sleep 3600 & echo $! > {}; wait') while true do end",
        file.display()
    );
    let fault = run(&interpreter, &script).unwrap_err();
    assert_eq!(fault.limit, Some(Limit::Time));
    let process = std::fs::read_to_string(file).unwrap();
    // The shell's child has ended as well, or is a zombie that no process has waited for yet.
    let stat = format!("/proc/{}/stat", process.trim());
    let is_alive = || std::fs::read_to_string(&stat).is_ok_and(|it| !it.contains(") Z "));
    while is_alive() {
        std::thread::sleep(Duration::from_millis(5));
    }
    run(&interpreter, "assert(os.execute('exit 2') == 512)").unwrap();
}

/// Scripts that take long inside functions of C, with few instructions of Lua.
const LONG: &[&str] = &[
    "while true do long:upper() end",
    "while true do long:lower() end",
    "while true do long:reverse() end",
    "while true do ('x'):rep(5e6) end",
    "while true do long:find('y') end",
    "while true do long:find('y', 1, true) end",
    "while true do long:match('y') end",
    "while true do long:gsub('y', 'z') end",
    "while true do long:gmatch('y') end",
    "while true do long:find('^.*y') end",
    "while true do long:find('^x-y') end",
    "while true do long:match('^.+') end",
    "while true do long:find('^y', 1, true) end",
    "while true do ('(' .. long):find('^%b()') end",
    "while true do string.rep(5, 6e6) end",
    "while true do table.concat(list) end",
    "while true do string.format('%s', long) end",
    "local none = {} for i = 1, 1e5 do none[i] = '' end while true do table.concat(none) end",
    "local many = {} for i = 1, 1e5 do many[i] = i end while true do table.sort(many) end",
    "local all = require('mysql.tokenizer') while true do all.tokenize(long) end",
];

#[test]
fn long_texts_count_as_many_instructions() {
    let interpreter = interpreter(Limits {
        instructions: 5_000_000,
        ..Limits::NONE
    });
    for script in LONG {
        let script = format!("local long = ('x'):rep(5e6) local list = {{ long, long }} {script}");
        let fault = run(&interpreter, &script).unwrap_err();
        assert_eq!(fault.limit, Some(Limit::Instructions), "{script}: {fault}");
        assert!(fault.message.starts_with("script:1: "), "{script}: {fault}");
    }
    // Short texts and anchored patterns do not count as extra instructions.
    let script = "local long = ('x'):rep(5e6) for i = 1, 1e4 do long:find('^y'); ('x'):upper() end";
    assert_eq!(run(&interpreter, script), Ok(()));
}

#[test]
fn an_early_match_in_a_long_text_counts_little() {
    let interpreter = interpreter(Limits {
        time: HOUR,
        ..Limits::default()
    });
    let script = r#"
        local s = "INSERT INTO t VALUES " .. ("(12345,'abcdef'),"):rep(32768)
        local pos, found = 1, 0
        while true do
          local first, last = s:find("%(%d+,'%w+'%)", pos)
          if not first then break end
          pos, found = last + 1, found + 1
        end
        assert(found == 32768)
        pos, found = -#s, 0
        while true do
          local number, after = s:match("^[^(]*%((%d+),'%w+'%)()", pos)
          if not number then break end
          pos, found = after, found + 1
        end
        assert(found == 32768)"#;
    assert_eq!(run(&interpreter, script), Ok(()));
}
