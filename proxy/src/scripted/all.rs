//! The interpreters of a process: one that all workers share, or one for each of them.

use std::sync::Arc;
use std::time::Duration;

use config::{Config, Isolation, ScriptConfig, ScriptResults};
use script::{Commons, Level, Limits, Log, Scripts, Setup};
use tokio::sync::Notify;
use tokio::time::timeout;

/// What runs the scripts of sessions.
#[derive(Default)]
pub struct AllScripts {
    each: Vec<OfWorker>,
    commons: Option<Arc<Commons>>,
}

/// What a worker runs its sessions' scripts with.
#[derive(Clone)]
pub(crate) struct OfWorker {
    pub scripts: Scripts,
    /// Told when a script has set a timer.
    pub timers: Arc<Notify>,
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
        let shared_bytes_max = usize::try_from(config.shared_bytes_max).unwrap_or(usize::MAX);
        let commons = Arc::new(Commons::new(shared_bytes_max));
        let interpreter = || {
            let keeps_all = config.results == ScriptResults::Always;
            let timers = Arc::new(Notify::new());
            let setup = setup(config, &commons, &timers, shutdown);
            let scripts = Scripts::new(setup, keeps_all).map_err(|error| error.to_string())?;
            Ok::<_, String>(OfWorker { scripts, timers })
        };
        let each = match config.isolation {
            Isolation::Shared => {
                let shared = interpreter()?;
                let workers = 0..workers;
                workers.map(|it| shared.of_worker(it, it == 0)).collect()
            }
            Isolation::Worker => {
                let all = (0..workers).map(|it| Ok(interpreter()?.of_worker(it, true)));
                all.collect::<Result<_, String>>()?
            }
        };
        Ok(Self {
            each,
            commons: Some(commons),
        })
    }

    /// What all scripts have together; `None` where there are none.
    pub(crate) fn commons(&self) -> Option<&Arc<Commons>> {
        self.commons.as_ref()
    }

    pub(crate) fn of_worker(&self, worker: usize) -> Option<OfWorker> {
        self.each.get(worker).cloned()
    }
}

impl OfWorker {
    fn of_worker(&self, worker: usize, keeps_time: bool) -> Self {
        Self {
            scripts: self.scripts.of_worker(worker, keeps_time),
            timers: Arc::clone(&self.timers),
        }
    }

    /// Runs scripts' timers when they are due, for ever.
    pub(crate) async fn keep_time(self) {
        loop {
            match self.scripts.time_to_timer() {
                None => self.timers.notified().await,
                Some(Duration::ZERO) => {
                    self.scripts.run_timer();
                    tokio::task::yield_now().await;
                }
                Some(wait) => {
                    let _ = timeout(wait, self.timers.notified()).await;
                }
            }
        }
    }
}

fn setup(
    config: &ScriptConfig,
    commons: &Arc<Commons>,
    timers: &Arc<Notify>,
    shutdown: &Arc<dyn Fn() + Send + Sync>,
) -> Setup {
    let timers = Arc::clone(timers);
    Setup {
        lua_path: config.lua_path.clone(),
        basedir: config.base_folder.clone(),
        limits: Limits {
            instructions: unless_zero(config.instructions_max),
            time: match config.time_max.is_zero() {
                true => Duration::MAX,
                false => config.time_max,
            },
            memory_bytes: usize::try_from(unless_zero(config.memory_bytes_max))
                .unwrap_or(usize::MAX),
        },
        shutdown: Arc::clone(shutdown),
        commons: Arc::clone(commons),
        timers_changed: Arc::new(move || timers.notify_one()),
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

    fn log_with(&self, level: Level, line: &str, data: &str) {
        match level {
            Level::Error | Level::Critical => tracing::error!(target: "script", data, "{line}"),
            Level::Warning => tracing::warn!(target: "script", data, "{line}"),
            Level::Message | Level::Info => tracing::info!(target: "script", data, "{line}"),
            Level::Debug => tracing::debug!(target: "script", data, "{line}"),
        }
    }
}
