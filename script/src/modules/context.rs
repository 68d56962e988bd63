//! The context that every module gets, and a module's description of itself.

use std::path::PathBuf;
use std::sync::Arc;

use mlua::{Function, Table};
use system::Clock;

use crate::budget::Budget;
use crate::log::Log;

/// The context of modules.
#[derive(Clone)]
pub(crate) struct ModuleContext {
    pub(crate) log: Arc<dyn Log>,
    pub(crate) clock: Clock,
    pub(crate) shutdown: Arc<dyn Fn() + Send + Sync>,
    pub(crate) basedir: Option<PathBuf>,
    pub(crate) budget: Arc<Budget>,
    /// Lua's own `newproxy`, which makes proxies with a metatable.
    pub(crate) newproxy: Function,
    /// Lua's own `error`, whose levels are the levels in memory.
    pub(crate) error: Function,
}

/// Sets the fields with which each module describes itself.
pub(crate) fn describe(module: &Table, what: &str) -> mlua::Result<()> {
    module.set("_COPYRIGHT", "the authors of Pilotfish")?;
    module.set("_DESCRIPTION", format!("Pilotfish: {what}"))?;
    module.set("_VERSION", env!("CARGO_PKG_VERSION"))
}
