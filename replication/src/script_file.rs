//! A Lua script that no session runs: an interpreter of its own, and the global variables of the script.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use config::ScriptConfig;
use script::mlua::{self, Function, Lua, Table, Value};
use script::{Chunk, Interpreter, Limits, ProcessLog, Setup};
use system::Clock;

/// See the module. Global variables stay as long as this lives.
pub(crate) struct ScriptFile {
    interpreter: Interpreter,
    globals: Table,
    /// What was run last.
    loaded: Mutex<Option<Chunk>>,
}

impl ScriptFile {
    /// An interpreter with the limits of the settings.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn new(settings: &ScriptConfig, clock: &Clock) -> Result<Self, String> {
        Self::make(settings, clock).map_err(|error| script::message(&error))
    }

    fn make(settings: &ScriptConfig, clock: &Clock) -> mlua::Result<Self> {
        let interpreter = Interpreter::new(setup(settings, clock))?;
        let lua = interpreter.lua();
        let (globals, beneath) = (lua.create_table()?, lua.create_table()?);
        beneath.raw_set("__index", lua.globals())?;
        globals.set_metatable(Some(beneath))?;
        Ok(Self {
            interpreter,
            globals,
            loaded: Mutex::default(),
        })
    }

    /// Runs the file, unless it is as it was.
    ///
    /// # Errors
    /// It cannot be read, fails, or has no such function.
    pub(crate) fn load(&self, file: &Path, function: &str) -> Result<(), String> {
        let chunk = self.interpreter.load(file);
        let chunk = chunk.map_err(|fault| format!("{}: {}", file.display(), fault.message()))?;
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.as_ref().is_some_and(|it| it.is(&chunk)) {
            return Ok(());
        }
        *loaded = None;
        let run = |_: &Lua| {
            // The file may have changed, and no longer have it.
            self.globals.raw_set(function, Value::Nil)?;
            chunk.instance(&self.globals)?.call::<()>(())?;
            match self.globals.get(function)? {
                Value::Function(_) => Ok(()),
                _ => {
                    let text = format!("{} has no function {function}", file.display());
                    Err(mlua::Error::RuntimeError(text))
                }
            }
        };
        let ran = self.interpreter.call(run);
        ran.map_err(|fault| fault.message)?;
        *loaded = Some(chunk);
        Ok(())
    }

    /// Forgets that the file has run: it runs again when it is loaded.
    pub(crate) fn forget(&self) {
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Calls what calls the function of the script, under the limits.
    ///
    /// # Errors
    /// What the script has raised, or the limit that it has passed.
    pub(crate) fn call<R>(
        &self,
        function: &str,
        run: impl FnOnce(&Lua, &Function) -> mlua::Result<R>,
    ) -> Result<R, String> {
        let call = |lua: &Lua| run(lua, &self.globals.get(function)?);
        self.interpreter.call(call).map_err(|fault| fault.message)
    }
}

fn setup(settings: &ScriptConfig, clock: &Clock) -> Setup {
    Setup {
        lua_path: settings.lua_path.clone(),
        basedir: settings.base_folder.clone(),
        limits: Limits::of_settings(
            settings.instructions_max,
            settings.time_max,
            settings.memory_bytes_max,
        ),
        ..Setup::new(Arc::new(ProcessLog), clock.clone())
    }
}
