//! A Lua script outside sessions: its interpreter, and its global variables.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use config::ScriptConfig;
use script::mlua::{self, Function, Lua, Table, Value};
use script::{Chunk, Interpreter, Limits, ProcessLog, Setup};
use system::Clock;

/// A Lua script outside sessions. Its global variables last as long as this struct.
pub(crate) struct ScriptFile {
    interpreter: Interpreter,
    globals: Table,
    /// The chunk that was run last.
    loaded: Mutex<Option<Chunk>>,
}

impl ScriptFile {
    /// Creates an interpreter with the limits of the settings.
    ///
    /// # Errors
    /// The interpreter cannot be created.
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

    /// Runs the file, unless it is unchanged.
    ///
    /// # Errors
    /// The file cannot be read, fails, or does not define the function.
    pub(crate) fn load(&self, file: &Path, function: &str) -> Result<(), String> {
        let chunk = self.interpreter.load(file);
        let chunk = chunk.map_err(|fault| format!("{}: {}", file.display(), fault.message()))?;
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.as_ref().is_some_and(|it| it.is(&chunk)) {
            return Ok(());
        }
        *loaded = None;
        let run = |_: &Lua| {
            // Remove the old function, because the changed file may no longer define it.
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

    /// Makes the next [`Self::load`] run the file again.
    pub(crate) fn forget(&self) {
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Calls `run` with the script's function, under the limits.
    ///
    /// # Errors
    /// The error that the script has raised, or the limit that it has exceeded.
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
