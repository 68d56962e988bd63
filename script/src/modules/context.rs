//! What every module gets, and what it says of itself.

use std::path::PathBuf;
use std::sync::Arc;

use mlua::{Function, Table};
use system::Clock;

use crate::budget::Budget;
use crate::log::Log;

/// What modules know of the world.
#[derive(Clone)]
pub(crate) struct ModuleContext {
    pub(crate) log: Arc<dyn Log>,
    pub(crate) clock: Clock,
    pub(crate) shutdown: Arc<dyn Fn() + Send + Sync>,
    pub(crate) basedir: Option<PathBuf>,
    pub(crate) budget: Arc<Budget>,
    /// Lua's own, which makes proxies with a metatable.
    pub(crate) newproxy: Function,
    /// Lua's own, whose levels are those in memory.
    pub(crate) error: Function,
}

/// What each module says of itself.
pub(crate) fn describe(module: &Table, what: &str) -> mlua::Result<()> {
    module.set("_COPYRIGHT", "the authors of Pilotfish")?;
    module.set("_DESCRIPTION", format!("Pilotfish: {what}"))?;
    module.set("_VERSION", env!("CARGO_PKG_VERSION"))
}
