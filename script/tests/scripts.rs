//! Runs every `*.lua` in this folder, each in its own Lua state. A script makes its assertions with `eq(got,
//! wanted, what)` and `fails(pattern, function, …)`; `proxy` has only the constants.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use pilotfish_script::mlua::{self, Lua};
use pilotfish_script::{Interpreter, Level, Limits, Log, Setup, constants};
use system::Clock;

const TOOLS: &str = r#"
local function show(value)
  if type(value) == "string" then return string.format("%q", value) end
  return tostring(value)
end

function eq(got, wanted, what)
  if got ~= wanted and (got == got or wanted == wanted) then
    local where = what and what .. ": " or ""
    error(where .. "got " .. show(got) .. ", wanted " .. show(wanted), 2)
  end
end

function fails(pattern, run, ...)
  local ok, message = pcall(run, ...)
  if ok then error("did not fail, wanted " .. pattern, 2) end
  if type(message) ~= "string" or not message:find(pattern) then
    error("failed with " .. show(message) .. ", wanted " .. pattern, 2)
  end
end
"#;

struct Nobody;

impl Log for Nobody {
    fn log(&self, _: Level, _: &str) {}
}

fn run(file: &Path) -> Result<(), String> {
    let text = fs::read(file).unwrap();
    let setup = Setup {
        limits: Limits {
            instructions: 100_000_000,
            ..Limits::NONE
        },
        ..Setup::new(Arc::new(Nobody), Clock::new(Instant::now, SystemTime::now))
    };
    let interpreter = Interpreter::new(setup).unwrap();
    let name = file.file_name().unwrap().to_string_lossy();
    let run = |lua: &Lua| -> mlua::Result<()> {
        let proxy = lua.create_table()?;
        constants::put(&proxy)?;
        proxy.set("global", lua.create_table()?)?;
        lua.globals().set("proxy", proxy)?;
        lua.load(TOOLS).set_name("=tools").exec()?;
        lua.load(text).set_name(format!("={name}")).exec()
    };
    interpreter.call(run).map_err(|fault| fault.message)
}

#[test]
fn every_lua_test_script_passes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|it| it == "lua"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let faults: Vec<_> = files.iter().filter_map(|file| run(file).err()).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
