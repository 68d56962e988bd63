//! The call stack that scripts see: as in MySQL Proxy, which calls hooks from C.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use pilotfish_script::{
    Decision, Hook, Level, Log, Scripts, Session, SessionFault, Setup, SocketFacts,
};
use system::Clock;

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Log for Lines {
    fn log(&self, _: Level, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}

/// A session with this text as its script, and its log. `FILE` stands for the script's name in Lua's messages.
fn begin(folder: &Path, text: &str) -> (Result<Session, SessionFault>, Arc<Lines>) {
    let lines = Arc::new(Lines::default());
    let clock = Clock::new(Instant::now, SystemTime::now);
    let setup = Setup::new(Arc::clone(&lines) as Arc<dyn Log>, clock);
    let scripts = Scripts::new(setup, false).unwrap();
    let file = folder.join("x.lua");
    fs::write(&file, text).unwrap();
    let session = scripts.begin(&[file], 1, &SocketFacts::default(), true);
    (session, lines)
}

fn with_file(text: &str, folder: &Path) -> String {
    text.replace(&format!("[string \"{}/x.lua\"]", folder.display()), "FILE")
}

/// The text that the script passes to `tell` while it answers a statement.
fn told(text: &str) -> String {
    let folder = tempfile::Builder::new()
        .prefix("s")
        .rand_bytes(4)
        .tempdir()
        .unwrap();
    let tell = "function tell(text) proxy.response = { type = 255, errmsg = text } return 2 end ";
    let (session, lines) = begin(folder.path(), &format!("{tell}{text}"));
    let mut session = session.unwrap();
    let decision = session.read_query(b"\x03SELECT 1");
    assert_eq!(
        decision,
        Decision::SendResult,
        "{:?}",
        lines.0.lock().unwrap()
    );
    let payloads = session.response().unwrap();
    let told = String::from_utf8_lossy(&payloads.at(0).unwrap()[9..]).into_owned();
    with_file(&told, folder.path())
}

#[test]
fn a_traceback_in_a_hook_begins_with_the_hook() {
    let told = told(
        "
        local function helper() return (debug.traceback('why')) end
        function read_query()
            local text = helper()
            return tell(text)
        end",
    );
    assert_eq!(
        told,
        "why\nstack traceback:\n\
         \tFILE:2: in function 'helper'\n\
         \tFILE:4: in function <FILE:3>"
    );
}

#[test]
fn a_traceback_of_each_hook_and_of_the_body_is_the_scripts_own() {
    for hook in [
        "connect_server",
        "read_handshake",
        "read_auth",
        "disconnect_client",
    ] {
        let folder = tempfile::Builder::new()
            .prefix("s")
            .rand_bytes(4)
            .tempdir()
            .unwrap();
        let text = format!(
            "local body = debug.traceback()\nfunction {hook}() error(debug.traceback(body), 0) end"
        );
        let (session, lines) = begin(folder.path(), &text);
        let hook = Hook::ALL.into_iter().find(|it| it.name() == hook).unwrap();
        let mut session = session.unwrap();
        match hook {
            Hook::DisconnectClient => session.end(),
            hook => drop(session.call(hook)),
        }
        let log = with_file(&lines.0.lock().unwrap().join("\n"), folder.path());
        let name = hook.name();
        assert_eq!(
            log,
            format!(
                "({name}) stack traceback:\n\
                 \tFILE:1: in function <FILE:1>\n\
                 stack traceback:\n\
                 \tFILE:2: in function <FILE:2>"
            )
        );
    }
}

#[test]
fn the_proxys_own_functions_are_functions_of_c() {
    let told = told(
        "
        local function fails() proxy.queries:append('x') end
        function read_query()
            local _, text = xpcall(fails, debug.traceback)
            return tell(text)
        end",
    );
    assert_eq!(
        told,
        "FILE:2: bad argument #1 to 'append' (number expected, got string)\nstack traceback:\n\
         \t[C]: in function 'append'\n\
         \tFILE:2: in function <FILE:2>\n\
         \t[C]: in function 'xpcall'\n\
         \tFILE:4: in function <FILE:3>"
    );
}

#[test]
fn raised_errors_and_functions_of_c_are_in_the_stack() {
    let told = told(
        "
        function read_query()
            local _, text = xpcall(function()
                table.foreach({ 1 }, function() error('here') end)
            end, function(text) return debug.traceback(text, 2) end)
            return tell(text)
        end",
    );
    assert_eq!(
        told,
        "FILE:4: here\nstack traceback:\n\
         \t[C]: in function 'error'\n\
         \tFILE:4: in function <FILE:4>\n\
         \t[C]: in function 'foreach'\n\
         \tFILE:4: in function <FILE:3>\n\
         \t[C]: in function 'xpcall'\n\
         \tFILE:3: in function <FILE:2>"
    );
}

#[test]
fn calls_within_the_proxys_own_library_are_in_the_stack() {
    let told = told(
        "
        function read_query()
            local text
            string.gsub('x', 'x', function() text = debug.traceback() end)
            return tell(text)
        end",
    );
    assert_eq!(
        told,
        "stack traceback:\n\
         \tFILE:4: in function <FILE:4>\n\
         \t[C]: in function 'gsub'\n\
         \tFILE:4: in function <FILE:2>"
    );
}

#[test]
fn a_tail_call_is_in_the_stack() {
    let told = told(
        "
        local function helper() local text = debug.traceback() return text end
        local function between() return helper() end
        function read_query()
            return tell(between())
        end",
    );
    assert_eq!(
        told,
        "stack traceback:\n\
         \tFILE:2: in function <FILE:2>\n\
         \t(tail call): ?\n\
         \tFILE:5: in function <FILE:4>"
    );
}

#[test]
fn a_deep_stack_has_its_first_and_last_calls() {
    let told = told(
        "
        local function down(n) if n == 0 then return (debug.traceback()) end return (down(n - 1)) end
        function read_query()
            local lines = {}
            for line in (down(1000)):gmatch('[^\\n]+') do lines[#lines + 1] = line end
            return tell(#lines .. lines[2] .. lines[13] .. lines[#lines])
        end",
    );
    assert_eq!(
        told,
        "23\tFILE:2: in function 'down'\t...\tFILE:5: in function <FILE:3>"
    );
}

#[test]
fn the_lua_stack_ends_at_the_hook() {
    let told = told(
        "
        local function helper() return debug.getinfo(2, 'nSl'), debug.getinfo(3), (pcall(setfenv, 4, {})) end
        function read_query()
            local hook, below, is_set = helper()
            local own = debug.getinfo(proxy.queries.append)
            return tell(table.concat({ hook.short_src, hook.currentline, tostring(hook.name), hook.namewhat, hook.what,
                tostring(below), tostring(is_set), own.what, own.short_src, own.currentline }, ' '))
        end",
    );
    assert_eq!(told, "FILE 4 nil  Lua nil false C [C] -1");
}

/// The location in the message of `error` for each level.
#[test]
fn lua_error_messages_have_locations_in_scripts_only() {
    let told = told(
        "
        local function check(level) error('x', level) end
        local function between(level) check(level) end
        function read_query()
            local texts = {}
            for level = 0, 6 do
                texts[#texts + 1] = select(2, pcall(between, level))
            end
            return tell(table.concat(texts, ' '))
        end",
    );
    assert_eq!(told, "x FILE:2: x FILE:3: x x FILE:7: x x x");
}

#[test]
fn an_error_of_a_hook_at_its_callers_level_has_no_place() {
    for (level, place) in [(1, "FILE:1: "), (2, ""), (3, ""), (9, "")] {
        let folder = tempfile::Builder::new()
            .prefix("s")
            .rand_bytes(4)
            .tempdir()
            .unwrap();
        let text = format!("function read_query() error('wrong', {level}) end");
        let (session, lines) = begin(folder.path(), &text);
        session.unwrap().read_query(b"\x03SELECT 1");
        let log = with_file(&lines.0.lock().unwrap().join("\n"), folder.path());
        assert_eq!(log, format!("(read_query) {place}wrong"), "{level}");
    }
}

#[test]
fn a_caught_error_is_the_raised_value() {
    let told = told(
        r"
        local thrown = setmetatable({}, { __tostring = function() return 'thrown' end })
        local function caught(...)
            local ok, value = pcall(error, ...)
            assert(not ok)
            return value
        end
        function read_query()
            assert(caught(thrown) == thrown)
            assert(caught(nil) == nil)
            assert(caught(false) == false)
            assert(caught('\255\0\254', 0) == '\255\0\254')
            assert(caught(7, 0) == 7 and caught(7) == '7')
            local text = 'x\nstack traceback:\n\tmine'
            assert(caught(text, 0) == text)
            local resumed = select(2, coroutine.resume(coroutine.create(function() error(thrown) end)))
            assert(resumed == thrown)
            local wrapped = coroutine.wrap(function() error(thrown) end)
            assert(select(2, pcall(wrapped)) == thrown)
            local again = select(2, pcall(function() error(select(2, pcall(error, thrown))) end))
            assert(again == thrown)
            return tell(tostring(thrown))
        end",
    );
    assert_eq!(told, "thrown");
}
