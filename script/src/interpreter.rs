//! One Lua 5.1 state, as MySQL Proxy's scripts expect it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use mlua::{Function, Lua, LuaOptions, StdLib};
use system::Clock;

use crate::budget::Budget;
use crate::chunk::{Chunk, Chunks, LoadFault};
use crate::commons::Commons;
use crate::fault::Fault;
use crate::limits::Limits;
use crate::log::Log;
use crate::modules::ModuleContext;
use crate::{debug_library, environments, errors, execute, loader, prelude};

/// The setup of an interpreter.
pub struct Setup {
    /// Where `require` searches first: the option `lua-path`. If it is not set: the environment's `LUA_PATH`, or
    /// `lib/mysql-proxy/lua/?.lua` in `basedir`, or the current folder.
    pub lua_path: Option<String>,
    /// The option `basedir`. It is also the prefix that is removed from names in the log.
    pub basedir: Option<PathBuf>,
    /// The limits of each call.
    pub limits: Limits,
    /// The log of the scripts.
    pub log: Arc<dyn Log>,
    /// The clock for scripts and their limits.
    pub clock: Clock,
    /// What `chassis.set_shutdown()` does.
    pub shutdown: Arc<dyn Fn() + Send + Sync>,
    /// The data that the interpreter shares with other interpreters.
    pub commons: Arc<Commons>,
    /// Called when a script has set a timer.
    pub timers_changed: Arc<dyn Fn() + Send + Sync>,
}

impl Setup {
    /// The defaults; a script cannot end the process.
    pub fn new(log: Arc<dyn Log>, clock: Clock) -> Self {
        Self {
            lua_path: None,
            basedir: None,
            limits: Limits::default(),
            log,
            shutdown: Arc::new(|| {}),
            commons: Arc::new(Commons::new(1 << 20, clock.clone())),
            clock,
            timers_changed: Arc::new(|| {}),
        }
    }
}

/// A Lua state, its script files and its limits.
pub struct Interpreter {
    lua: Lua,
    budget: Arc<Budget>,
    newproxy: Function,
    error: Function,
    protect: Function,
    chunks: Mutex<Chunks>,
}

impl Interpreter {
    /// A state with the standard libraries, and with the built-in modules for `require`.
    ///
    /// # Errors
    /// The state cannot be made; the reason is never outside this crate.
    pub fn new(setup: Setup) -> mlua::Result<Self> {
        let lua = Lua::new_with(StdLib::ALL_SAFE, LuaOptions::default())?;
        let budget = Arc::new(Budget::new(setup.limits, setup.clock.clone()));
        budget.watch(&lua, lua.globals().get("collectgarbage")?)?;
        let newproxy = prelude::run(&lua, &budget)?;
        let protect = environments::open(&lua)?;
        debug_library::open(&lua)?;
        let error = errors::open(&lua, &budget)?;
        execute::open(&lua, &budget)?;
        let path = loader::path(setup.lua_path, setup.basedir.as_deref());
        let surroundings = ModuleContext {
            log: setup.log,
            clock: setup.clock,
            shutdown: setup.shutdown,
            basedir: setup.basedir,
            budget: Arc::clone(&budget),
            newproxy: newproxy.clone(),
            error: error.clone(),
        };
        loader::install(&lua, &path, surroundings)?;
        Ok(Self {
            lua,
            budget,
            newproxy,
            error,
            protect,
            chunks: Mutex::default(),
        })
    }

    /// The state itself. Code that runs outside [`Interpreter::call`] has no limits.
    pub fn lua(&self) -> &Lua {
        &self.lua
    }

    /// Lua's own `newproxy`, which is removed from scripts: it makes the objects of `proxy`.
    pub(crate) fn newproxy(&self) -> &Function {
        &self.newproxy
    }

    /// Lua's own `error`, which is replaced for scripts: its levels are the levels in memory.
    pub(crate) fn error(&self) -> &Function {
        &self.error
    }

    /// A function that hides an environment from scripts: they can neither read nor replace it.
    pub(crate) fn protect(&self) -> &Function {
        &self.protect
    }

    /// Runs code that calls into scripts, under the limits. Calls within it share its limits.
    ///
    /// # Errors
    /// The error that the script has raised, or the limit that it has passed.
    pub fn call<R>(&self, run: impl FnOnce(&Lua) -> mlua::Result<R>) -> Result<R, Fault> {
        self.budget.call(&self.lua, run)
    }

    /// The budget of the current call.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Loads the current version of a script file; compiles it again if it has changed.
    ///
    /// # Errors
    /// The file cannot be read or compiled. Sessions that use the previous version keep it.
    pub fn load(&self, path: &Path) -> Result<Chunk, LoadFault> {
        // A panic under the lock leaves no half-made entry.
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        chunks.load(&self.lua, path)
    }
}

impl fmt::Debug for Interpreter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interpreter").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
