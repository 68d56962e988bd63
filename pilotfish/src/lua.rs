//! `pilotfish lua`: runs or checks scripts in the embedded interpreter. There are no limits, and
//! no `proxy`, because there is no client.

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use script::mlua::chunk::ChunkMode;
use script::mlua::{self, Lua, MultiValue, Value};
use script::{Interpreter, Level, Limits, Log, Setup, message};

use config::Config;

use crate::arguments::LuaArguments;
use crate::machine;

/// Runs a script or checks several; the exit code is 1 if a script fails.
pub fn lua(arguments: &LuaArguments) -> ExitCode {
    let setup = Setup {
        lua_path: arguments.lua_path.clone(),
        limits: Limits::NONE,
        ..Setup::new(Arc::new(StandardError), machine::clock())
    };
    let interpreter = match Interpreter::new(setup) {
        Ok(interpreter) => interpreter,
        Err(error) => return failed(&message(&error)),
    };
    if arguments.check {
        return check(&interpreter, arguments);
    }
    match run(&interpreter, arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => failed(&text),
    }
}

fn failed(text: &str) -> ExitCode {
    eprintln!("pilotfish: {text}");
    ExitCode::FAILURE
}

/// Compiles scripts as the proxy does, and reports each faulty one.
fn check(interpreter: &Interpreter, arguments: &LuaArguments) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for path in arguments.words.iter().map(Path::new) {
        if let Err(fault) = interpreter.load(path) {
            eprintln!("{}: {}", path.display(), fault.message());
            code = ExitCode::FAILURE;
        }
    }
    code
}

/// The faults of the scripts in a configuration: those that cannot be read or compiled.
pub fn faults(config: &Config) -> Vec<String> {
    let scripts = config.all_scripts();
    if scripts.is_empty() {
        return Vec::new();
    }
    let setup = Setup {
        lua_path: config.script.lua_path.clone(),
        basedir: config.script.base_folder.clone(),
        limits: Limits::NONE,
        ..Setup::new(Arc::new(StandardError), machine::clock())
    };
    let interpreter = match Interpreter::new(setup) {
        Ok(interpreter) => interpreter,
        Err(error) => return vec![message(&error)],
    };
    let fault = |path: &&Path| {
        let fault = interpreter.load(path).err()?;
        Some(format!("{}: {}", path.display(), fault.message()))
    };
    scripts.iter().filter_map(fault).collect()
}

/// Runs a file like the stand-alone interpreter: `...` and `arg` are the arguments.
fn run(interpreter: &Interpreter, arguments: &LuaArguments) -> Result<(), String> {
    let (file, words) = arguments.words.split_first().ok_or("which script?")?;
    let path = Path::new(file);
    let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let run = |lua: &Lua| {
        let strings = words.iter().map(|it| string(lua, it));
        let strings: Vec<Value> = strings.collect::<mlua::Result<_>>()?;
        let arg = lua.create_sequence_from(&strings)?;
        arg.raw_set(0, string(lua, file)?)?;
        lua.globals().raw_set("arg", arg)?;
        let chunk = lua.load(without_shebang(&text));
        let chunk = chunk.set_name(format!("@{}", path.display()));
        let function = chunk.set_mode(ChunkMode::Text).into_function()?;
        function.call::<()>(MultiValue::from_iter(strings))
    };
    interpreter.call(run).map_err(|fault| fault.message)
}

fn string(lua: &Lua, text: &OsStr) -> mlua::Result<Value> {
    lua.create_string(text.as_encoded_bytes())
        .map(Value::String)
}

/// The text without a first line that begins with `#`. The line's end stays, so that line numbers are right.
fn without_shebang(text: &[u8]) -> &[u8] {
    match text.first() {
        Some(b'#') => {
            let end = text.iter().position(|byte| *byte == b'\n');
            &text[end.unwrap_or(text.len())..]
        }
        _ => text,
    }
}

/// Writes the log lines of scripts to standard error.
struct StandardError;

impl Log for StandardError {
    fn log(&self, level: Level, line: &str) {
        eprintln!("{}: {line}", level.name());
    }
}
