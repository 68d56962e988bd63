//! The interpreters of a process: one that all workers share, or one for each of them.

use std::sync::Arc;

use config::{Config, Isolation, ScriptConfig, ScriptResults};
use script::{Level, Limits, Log, Scripts, Setup};

/// What runs the scripts of sessions.
#[derive(Default)]
pub struct AllScripts {
    each: Vec<Scripts>,
}

impl AllScripts {
    /// As configured, for so many workers. Where no session runs a script there is none. `shutdown` is what
    /// a script's `chassis.set_shutdown()` does.
    ///
    /// # Errors
    /// The interpreter cannot be set up.
    pub fn new(config: &Config, shutdown: &Arc<dyn Fn() + Send + Sync>) -> Result<Self, String> {
        if !config.runs_scripts() {
            return Ok(Self::default());
        }
        let (config, workers) = (&config.script, config.workers);
        let scripts = || {
            let keeps_all = config.results == ScriptResults::Always;
            let scripts = Scripts::new(setup(config, shutdown), keeps_all);
            scripts.map_err(|error| error.to_string())
        };
        let each = match config.isolation {
            Isolation::Shared => {
                let shared = scripts()?;
                let workers = 0..workers;
                workers.map(|worker| shared.of_worker(worker)).collect()
            }
            Isolation::Worker => {
                let all = (0..workers).map(|worker| Ok(scripts()?.of_worker(worker)));
                all.collect::<Result<_, String>>()?
            }
        };
        Ok(Self { each })
    }

    pub(crate) fn of_worker(&self, worker: usize) -> Option<Scripts> {
        self.each.get(worker).cloned()
    }
}

fn setup(config: &ScriptConfig, shutdown: &Arc<dyn Fn() + Send + Sync>) -> Setup {
    Setup {
        lua_path: config.lua_path.clone(),
        basedir: config.base_folder.clone(),
        limits: Limits {
            instructions: unless_zero(config.instructions_max),
            time: match config.time_max.is_zero() {
                true => std::time::Duration::MAX,
                false => config.time_max,
            },
            memory_bytes: usize::try_from(unless_zero(config.memory_bytes_max))
                .unwrap_or(usize::MAX),
        },
        shutdown: Arc::clone(shutdown),
        ..Setup::new(Arc::new(ScriptLog))
    }
}

/// Settings say "no limit" by zero.
fn unless_zero(limit: u64) -> u64 {
    match limit {
        0 => u64::MAX,
        limit => limit,
    }
}

/// Scripts log where everybody does.
struct ScriptLog;

impl Log for ScriptLog {
    fn log(&self, level: Level, line: &str) {
        match level {
            Level::Error | Level::Critical => tracing::error!(target: "script", "{line}"),
            Level::Warning => tracing::warn!(target: "script", "{line}"),
            Level::Message | Level::Info => tracing::info!(target: "script", "{line}"),
            Level::Debug => tracing::debug!(target: "script", "{line}"),
        }
    }
}
