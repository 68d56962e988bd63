//! The interpreters of a process: one that all workers share, or one for each of them.

use std::sync::Arc;
use std::time::Duration;

use config::{Config, Isolation, ScriptConfig, ScriptResults};
use script::{Commons, Limits, ProcessLog, Scripts, Setup};
use system::Clock;
use tokio::sync::Notify;
use tokio::time::timeout;

/// The interpreters that run scripts.
#[derive(Default)]
pub struct AllScripts {
    each: Vec<OfWorker>,
    admin: Option<OfAdmin>,
    commons: Option<Arc<Commons>>,
}

/// The interpreter with which a worker runs its sessions' scripts.
#[derive(Clone)]
pub struct OfWorker {
    /// The interpreter.
    pub scripts: Scripts,
    /// Notified when a script has set a timer.
    pub timers: Arc<Notify>,
}

/// The interpreter with which the admin port runs its script.
#[derive(Clone)]
pub struct OfAdmin {
    /// The interpreter.
    pub scripts: Scripts,
    /// No session runs a script in this interpreter.
    pub is_alone: bool,
    timers: Arc<Notify>,
}

impl AllScripts {
    /// Sets up the interpreters as configured, for so many workers. If no session runs a script, workers have
    /// none. `clock` tells scripts the time. `shutdown` runs at a script's `chassis.set_shutdown()`.
    ///
    /// # Errors
    /// The interpreter cannot be set up.
    pub fn new(
        config: &Config,
        clock: &Clock,
        shutdown: &Arc<dyn Fn() + Send + Sync>,
    ) -> Result<Self, String> {
        let (has_sessions, has_clerk) = (config.runs_scripts(), config.admin.script.is_some());
        if !has_sessions && !has_clerk {
            return Ok(Self::default());
        }
        let workers = match has_sessions {
            true => config.workers,
            false => 0,
        };
        let config = &config.script;
        let shared_bytes_max = usize::try_from(config.shared_bytes_max).unwrap_or(usize::MAX);
        let commons = Arc::new(Commons::new(shared_bytes_max, clock.clone()));
        let interpreter = || {
            let keeps_all = config.results == ScriptResults::Always;
            let timers = Arc::new(Notify::new());
            let setup = setup(config, clock, &commons, &timers, shutdown);
            let scripts = Scripts::new(setup, keeps_all).map_err(|error| error.to_string())?;
            Ok::<_, String>(OfWorker { scripts, timers })
        };
        let mut shared = None;
        let each = match config.isolation {
            Isolation::Shared if has_sessions => {
                let shared = shared.insert(interpreter()?);
                let workers = 0..workers;
                workers.map(|it| shared.of_worker(it, it == 0)).collect()
            }
            Isolation::Shared => Vec::new(),
            Isolation::Worker => {
                let all = (0..workers).map(|it| Ok(interpreter()?.of_worker(it, true)));
                all.collect::<Result<_, String>>()?
            }
        };
        let admin = match (has_clerk, shared) {
            (false, _) => None,
            // As in MySQL Proxy, the admin script sees what sessions' scripts have put into `proxy.global`.
            (true, Some(shared)) => Some(OfAdmin::new(shared.of_worker(workers, false), false)),
            (true, None) => Some(OfAdmin::new(interpreter()?.of_worker(workers, true), true)),
        };
        Ok(Self {
            each,
            admin,
            commons: Some(commons),
        })
    }

    /// Returns the state that all scripts share; `None` if there are no scripts.
    pub fn commons(&self) -> Option<&Arc<Commons>> {
        self.commons.as_ref()
    }

    /// The interpreter of a worker, by its number from 0; `None` if sessions run no script.
    pub fn of_worker(&self, worker: usize) -> Option<OfWorker> {
        self.each.get(worker).cloned()
    }

    /// The interpreter of the admin port's script; `None` if the port has no script.
    pub fn of_admin(&self) -> Option<&OfAdmin> {
        self.admin.as_ref()
    }
}

impl OfAdmin {
    fn new(of_worker: OfWorker, is_alone: bool) -> Self {
        Self {
            scripts: of_worker.scripts,
            is_alone,
            timers: of_worker.timers,
        }
    }

    /// Returns the interpreter whose timers no worker runs; `None` if a worker runs them.
    pub fn timekeeper(&self) -> Option<OfWorker> {
        self.is_alone.then(|| OfWorker {
            scripts: self.scripts.clone(),
            timers: Arc::clone(&self.timers),
        })
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
    pub async fn keep_time(self) {
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
    clock: &Clock,
    commons: &Arc<Commons>,
    timers: &Arc<Notify>,
    shutdown: &Arc<dyn Fn() + Send + Sync>,
) -> Setup {
    let timers = Arc::clone(timers);
    Setup {
        lua_path: config.lua_path.clone(),
        basedir: config.base_folder.clone(),
        limits: Limits::of_settings(
            config.instructions_max,
            config.time_max,
            config.memory_bytes_max,
        ),
        shutdown: Arc::clone(shutdown),
        commons: Arc::clone(commons),
        timers_changed: Arc::new(move || timers.notify_one()),
        ..Setup::new(Arc::new(ProcessLog), clock.clone())
    }
}
