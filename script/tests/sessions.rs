//! Sessions of scripts that damage shared objects, and the effect on other sessions.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use pilotfish_script::{
    AddressFacts, BackendFacts, Decision, Hook, Level, Limits, Log, Scripts, Session, SessionFault,
    Setup, SocketFacts,
};
use system::Clock;

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Log for Lines {
    fn log(&self, _: Level, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}

/// An interpreter, its log, and the folder of its scripts.
struct Stage {
    scripts: Scripts,
    lines: Arc<Lines>,
    folder: tempfile::TempDir,
}

impl Stage {
    fn new(limits: Limits) -> Self {
        let lines = Arc::new(Lines::default());
        let clock = Clock::new(Instant::now, SystemTime::now);
        let setup = Setup {
            limits,
            ..Setup::new(Arc::clone(&lines) as Arc<dyn Log>, clock)
        };
        Self {
            scripts: Scripts::new(setup, false).unwrap(),
            lines,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.path().join(name);
        fs::write(&file, text).unwrap();
        file
    }

    fn begin(&self, name: &str, text: &str) -> Result<Session, SessionFault> {
        let files = [self.file(name, text)];
        let client = SocketFacts::default();
        self.scripts.begin(&files, 1, &client, true)
    }

    fn log(&self) -> String {
        self.lines.0.lock().unwrap().join("\n")
    }
}

/// Sends a client's statement to the script. Returns the text of the ERR that the script answers.
fn ask(session: &mut Session) -> String {
    match session.read_query(b"\x03SELECT 1") {
        Decision::SendResult => {
            let payloads = session.response().unwrap();
            String::from_utf8_lossy(&payloads.at(0).unwrap()[9..]).into_owned()
        }
        other => format!("{other:?}"),
    }
}

/// Damage that a script does to shared objects, and the message in the log. The message is empty if other scripts
/// are not affected.
const SPOILT: &[(&str, &str)] = &[
    (
        "setmetatable(_G, { __index = function(_, k) error('undeclared ' .. k, 2) end })",
        "_G is every script's",
    ),
    (
        "setmetatable(_G, { __metatable = 1, __index = function() while true do end end })",
        "_G is every script's",
    ),
    ("rawset(proxy, 'connection', 5)", "proxy.connection is each"),
    ("rawset(proxy, 'queries', 5)", "proxy.queries is each"),
    ("rawset(proxy, 'response', 5)", "proxy.response is each"),
    ("getmetatable('').__metatable = 5", ""),
    ("getmetatable('').__index = 5", ""),
    ("getmetatable(io.stdout).__index.write = nil", "io.stdout:write"),
    (
        "for _, name in pairs{ 'stdin', 'stdout', 'stderr' } do
           assert(select(2, io[name]:close()) == 'cannot close standard file')
           assert(select(2, io.close(io[name])) == 'cannot close standard file')
         end",
        "",
    ),
    ("pcall(function() getmetatable(pilotfish.session).__index = nil end)", ""),
    ("pcall(function() debug.getmetatable(pilotfish.session).__index = nil end)", ""),
    ("pcall(function() debug.getmetatable(proxy).__newindex = nil end)", ""),
    ("require('proxy.balance') package.loaded['proxy.balance'] = nil require('proxy.balance')", ""),
    (
        "local old = require('mysql.tokenizer')
         package.loaded['mysql.tokenizer'] = nil
         assert(require('mysql.tokenizer') ~= old)
         old.tokenize = nil",
        "",
    ),
    ("package.path = package.path .. ';/nowhere/?.lua' package.cpath = 'x'", ""),
    ("package.path = 5", "package.path is every script's"),
    ("getmetatable('').__mod = string.format", ""),
    (
        "local pairs, error = pairs, error
         for _, name in pairs{ 'type', 'pairs', 'tonumber', 'rawget', 'tostring', 'setmetatable' } do
           _G[name] = function() while true do end end
         end
         for _, name in pairs{ 'floor', 'ceil' } do math[name] = function() error('spoilt') end end
         for _, name in pairs{ 'insert', 'remove' } do table[name] = function() error('spoilt') end end
         for _, name in pairs{ 'format', 'sub', 'byte' } do string[name] = function() error('spoilt') end end
         for name in pairs(coroutine) do coroutine[name] = function() error('spoilt') end end",
        "",
    ),
    ("require('proxy.commands').parse = nil", "proxy.commands.parse is"),
    ("require('mysql.tokenizer').tokenize = 5", "mysql.tokenizer.tokenize is"),
    ("pcall(setfenv, require('proxy.tokenizer').normalize, {})", ""),
    ("pcall(setfenv, require('proxy.commands').parse, {})", ""),
    (
        "local pcall, setfenv, getfenv, debug = pcall, setfenv, getfenv, debug
         function connect_server()
           for level = 1, 9 do
             local info = debug.getinfo(level, 'f')
             if info then pcall(setfenv, info.func, {}) end
             pcall(setfenv, level, {})
             pcall(function() getfenv(level).rawget = nil end)
           end
         end",
        "rawget is every script's",
    ),
];

const PLAIN: &str = "
    function read_query(packet)
      assert(proxy.connection.client, 'no client')
      assert(proxy.queries:len() == 0)
      assert(pilotfish.session.data, 'no data')
      assert(io.read() == nil)
      local command = require('proxy.commands').parse(packet)
      local tokens = require('mysql.tokenizer').tokenize(command.query)
      local text = require('proxy.tokenizer').normalize(tokens)
      proxy.queries:append(1, packet)
      proxy.queries:reset()
      proxy.response = { type = 255, errmsg = text }
      return 2
    end";

#[test]
fn changes_of_a_script_to_globals_do_not_affect_others() {
    for (spoil, line) in SPOILT {
        let stage = Stage::new(Limits::default());
        let mut before = stage.begin("plain.lua", PLAIN).unwrap();
        assert_eq!(ask(&mut before), "SELECT ? ", "{spoil}");
        let mut spoiler = stage.begin("spoilt.lua", spoil).unwrap();
        spoiler.call(Hook::ConnectServer);
        let mut after = stage.begin("plain.lua", PLAIN).unwrap();
        assert_eq!(ask(&mut after), "SELECT ? ", "{spoil}\n{}", stage.log());
        assert_eq!(ask(&mut before), "SELECT ? ", "{spoil}\n{}", stage.log());
        drop(spoiler);
        assert_eq!(ask(&mut before), "SELECT ? ", "{spoil}\n{}", stage.log());
        assert!(stage.log().contains(line), "{spoil}: {}", stage.log());
        assert!(
            !line.is_empty() || stage.log().is_empty(),
            "{spoil}: {}",
            stage.log()
        );
    }
}

const ANSWERS: &str =
    "function read_query() proxy.response = { type = 255, errmsg = 'closed' } return 2 end";

/// Ways to define `read_query`, and its answer. `Err` has the message that says why the hook is not found.
const FOUND: &[(&str, Result<&str, &str>)] = &[
    ("ANSWERS", Ok("closed")),
    (
        "setmetatable(_G, { __index = function(_, k) error('undeclared ' .. k, 2) end }) ANSWERS",
        Ok("closed"),
    ),
    (
        "module('policies', package.seeall) ANSWERS _G.read_query = read_query",
        Ok("closed"),
    ),
    (
        "local parent = setmetatable({}, { __index = _G })
         setfenv(function() ANSWERS end, parent)()
         setmetatable(getfenv(1), { __index = parent })",
        Ok("closed"),
    ),
    (
        "local own = {} setfenv(function() ANSWERS end, setmetatable(own, { __index = _G }))()
         setmetatable(getfenv(1), { __index = function(_, key) return own[key] end })",
        Ok("closed"),
    ),
    ("x = 1", Ok("Nothing")),
    (
        "local error = error
         setmetatable(getfenv(1), { __index = function() error('no answer') end })",
        Err("no answer"),
    ),
];

#[test]
fn a_script_that_cannot_be_asked_for_its_hooks_lets_nothing_pass() {
    for (text, wanted) in FOUND {
        let stage = Stage::new(Limits::default());
        let text = text.replace("ANSWERS", ANSWERS);
        match (stage.begin("found.lua", &text), wanted) {
            (Ok(mut session), Ok(wanted)) => assert_eq!(ask(&mut session), *wanted, "{text}"),
            (Err(fault), Err(cause)) => {
                let fault = fault.to_string();
                assert!(fault.contains(cause), "{text}: {fault}");
            }
            (found, _) => panic!("{text}: {:?}", found.err()),
        }
    }
}

#[test]
fn a_script_with_a_broken_environment_refuses_its_session() {
    let text = "
        local error = error
        function connect_server()
          setmetatable(getfenv(1), { __index = function() error('no answer') end })
          error('first')
        end
        function read_query() end";
    let stage = Stage::new(Limits::default());
    let mut session = stage.begin("late.lua", text).unwrap();
    assert_eq!(session.call(Hook::ConnectServer), Decision::SendResult);
    assert!(session.has_refused());
    assert!(stage.log().contains("no answer"), "{}", stage.log());
}

/// Scripts whose answer is longer than the memory that a hook may take.
const LONG: &[&str] = &[
    "local r, big = {}, { ('x'):rep(1e5) }
     for i = 1, 300 do r[i] = big end
     proxy.response = { type = 0, resultset = { fields = { { name = 'a', type = 254 } }, rows = r } }",
    "local big, p = ('x'):rep(1e5), {}
     for i = 1, 300 do p[i] = big end
     proxy.response = { type = 250, packets = p }",
    "local big, row = ('x'):rep(1e5), {}
     local fields = {}
     for i = 1, 300 do row[i], fields[i] = big, { name = 'a', type = 254 } end
     proxy.response = { type = 0, resultset = { fields = fields, rows = { row } } }",
    "local fields, r, empty = {}, {}, {}
     for i = 1, 4096 do fields[i] = { name = 'a', type = 254 } end
     for i = 1, 1000 do r[i] = empty end
     proxy.response = { type = 0, resultset = { fields = fields, rows = r } }",
];

#[test]
fn an_answer_counts_as_its_scripts_memory() {
    for body in LONG {
        let stage = Stage::new(Limits {
            memory_bytes: 2 << 20,
            ..Limits::NONE
        });
        let text = format!("function read_query() {body} return 2 end");
        let mut session = stage.begin("long.lua", &text).unwrap();
        let told = "(lua) proxy.response has passed its limit of memory (script.memory_bytes_max)";
        assert_eq!(ask(&mut session), told, "{body}");
        assert!(stage.log().contains("2097152 bytes"), "{}", stage.log());
    }
}

/// Invalid answers of a hook, and the message in the log.
const NO_ANSWER: &[(&str, &str)] = &[
    ("", "proxy.response.type is nil"),
    (
        "proxy.response = 5",
        "proxy.response has to be a table, is a number",
    ),
];

#[test]
fn a_malformed_answer_is_reported() {
    for (body, wanted) in NO_ANSWER {
        let stage = Stage::new(Limits::default());
        let text = format!("function read_query() {body} return 2 end");
        let mut session = stage.begin("none.lua", &text).unwrap();
        assert_eq!(session.read_query(b"\x03SELECT 1"), Decision::SendResult);
        assert!(session.response().is_none(), "{body}");
        assert!(stage.log().contains(wanted), "{body}: {}", stage.log());
    }
}

fn backend(name: &str) -> BackendFacts {
    BackendFacts {
        name: name.to_owned(),
        address: AddressFacts::default(),
        state: 1,
        role: 1,
        connections_max: 10,
        sessions: None,
    }
}

/// The text of the ERR that a hook with this body answers.
fn answer_of(stage: &Stage, body: &str) -> String {
    let text = format!("function read_query() {body} return 2 end");
    ask(&mut stage.begin("answer.lua", &text).unwrap())
}

#[test]
fn an_error_code_of_a_script_is_truncated_to_16_bits() {
    for (code, wanted) in [
        ("70000", 4464_u16),
        ("-1", 65535),
        ("'1064'", 1064),
        ("0/0", 0),
    ] {
        let stage = Stage::new(Limits::default());
        let text = format!(
            "function read_query() proxy.response = {{ type = 255, errcode = {code} }} return 2 end"
        );
        let mut session = stage.begin("code.lua", &text).unwrap();
        assert_eq!(session.read_query(b"\x03SELECT 1"), Decision::SendResult);
        let payloads = session.response().unwrap();
        assert_eq!(
            payloads.at(0).unwrap()[1..3],
            wanted.to_le_bytes(),
            "{code}"
        );
    }
}

#[test]
fn a_script_cannot_change_the_methods_of_backends() {
    let stage = Stage::new(Limits::default());
    stage.scripts.take_up(&[backend("one")]);
    let spoil = "
        local all = proxy.global.backends
        for _, object in ipairs{ all, all[1], all[1].dst, all[1].pool, all[1].pool.users } do
          for _, of in ipairs{ getmetatable, debug.getmetatable } do
            pcall(function() of(object).__index = nil end)
            pcall(function() of(object).__len = nil end)
          end
        end";
    let _spoiler = stage.begin("spoilt.lua", spoil).unwrap();
    let body = "
        local all = proxy.global.backends
        local one = all[1]
        local idle = one.pool.users.me.cur_idle_connections
        local text = #all .. ' ' .. one.state .. ' ' .. tostring(one.dst.port) .. ' ' .. idle
        proxy.response = { type = 255, errmsg = text }";
    assert_eq!(answer_of(&stage, body), "1 1 nil 10", "{}", stage.log());
}

#[test]
fn additions_of_a_script_to_strings_and_its_package_path_stay() {
    let stage = Stage::new(Limits::default());
    let gives = "
        getmetatable('').__mod = string.format
        package.path = package.path .. ';/nowhere/?.lua'
        function read_query()
          local _, times = package.path:gsub('/nowhere/', '')
          proxy.response = { type = 255, errmsg = '%d' % times }
          return 2
        end";
    let mut first = stage.begin("gives.lua", gives).unwrap();
    for _ in 0..3 {
        stage.begin("plain.lua", PLAIN).unwrap();
        assert_eq!(ask(&mut first), "1", "{}", stage.log());
        stage.begin("gives.lua", gives).unwrap();
    }
    stage.begin("plain.lua", PLAIN).unwrap();
    assert_eq!(ask(&mut first), "1", "{}", stage.log());
    assert!(stage.log().is_empty(), "{}", stage.log());
}

#[test]
fn a_session_that_goes_to_another_backend_is_counted_there() {
    let stage = Stage::new(Limits::default());
    stage.scripts.take_up(&[backend("one"), backend("two")]);
    let counts = "
        local all = proxy.global.backends
        function read_query(packet)
          local to = tonumber(packet:sub(2))
          if to then proxy.connection.backend_ndx = to end
          local text = {}
          for i = 1, #all do text[i] = all[i].dst and all[i].connected_clients end
          proxy.response = { type = 255, errmsg = table.concat(text, ' ') }
          return 2
        end";
    let count = |session: &mut Session, command: &[u8]| {
        session.read_query(command);
        let payloads = session.response().unwrap();
        String::from_utf8_lossy(&payloads.at(0).unwrap()[9..]).into_owned()
    };
    let mut watching = stage.begin("counts.lua", counts).unwrap();
    let mut session = stage.begin("counts.lua", counts).unwrap();
    let facts = SocketFacts {
        id: Some(7),
        backend: Some(1),
        ..SocketFacts::default()
    };
    session.know_server(&facts);
    session.set_server(Some(&facts));
    for (command, wanted) in [
        ("-", "1 0"),
        ("2", "0 1"),
        ("2", "0 1"),
        ("1", "1 0"),
        ("2", "0 1"),
    ] {
        let command = [b"\x03", command.as_bytes()].concat();
        assert_eq!(count(&mut session, &command), wanted);
    }
    // The backend's number changes while the session is open.
    stage.scripts.take_up(&[backend("two"), backend("one")]);
    assert_eq!(count(&mut watching, b"\x03-"), "1 0");
    drop(session);
    assert_eq!(count(&mut watching, b"\x03-"), "0 0");
}

#[test]
fn a_long_message_is_cut_short_in_the_log() {
    for text in [
        "function read_query() error(('x'):rep(1e6)) end",
        "function read_query() error(('\\195\\164'):rep(1e6), 0) end",
    ] {
        let stage = Stage::new(Limits::default());
        let mut session = stage.begin("long.lua", text).unwrap();
        assert_eq!(session.read_query(b"\x03SELECT 1"), Decision::Nothing);
        let log = stage.log();
        assert!(
            log.len() < 5000 && log.ends_with(" bytes)"),
            "{}",
            log.len()
        );
    }
    let stage = Stage::new(Limits::default());
    let fault = stage.begin("long.lua", "error(('x'):rep(1e6))").err();
    assert!(fault.unwrap().to_string().len() < 5000);
}

#[test]
fn a_wait_within_pcall_gives_an_error_that_names_pilotfish_pcall() {
    let text = "function read_query()
        local _, cause = pcall(pilotfish.sleep, 1)
        proxy.response = { type = 255, errmsg = cause }
        return 2
    end";
    let stage = Stage::new(Limits::default());
    let mut session = stage.begin("waits.lua", text).unwrap();
    let told = ask(&mut session);
    assert!(told.contains("pilotfish.pcall"), "{told}");
}
