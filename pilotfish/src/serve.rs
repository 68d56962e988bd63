//! Being the proxy, from the configuration to the last session: prepare, bind, start, say so, wait,
//! drain, say how it ended.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use admin::AdminPort;
use config::{Config, SessionMode};
use control::Control;
use net::service::{State, notify};
use net::worker::WorkerEnd;
use proxy::{AllScripts, DataPlane, Settings, Surroundings};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval};

use crate::arguments::ServeArguments;
use crate::digests::Notes;
use crate::listening::{self, Listening};
use crate::logging::Log;
use crate::process::{PidFile, become_user, raise_open_files};
use crate::snapshot::{reload_certificates, snapshot};

/// Time between two looks at certificate files.
const CERTIFICATES_INTERVAL: Duration = Duration::from_secs(5);

/// The plain command: serves what the arguments say.
pub fn serve(arguments: &ServeArguments) -> ExitCode {
    match arguments.load() {
        Ok(loaded) => {
            for warning in &loaded.warnings {
                eprintln!("pilotfish: warning: {warning}");
            }
            run(loaded.config, Serving::reloading(arguments))
        }
        Err(faults) => {
            for fault in &faults {
                eprintln!("pilotfish: {fault}");
            }
            ExitCode::FAILURE
        }
    }
}

/// How long to serve, and what a SIGHUP reads.
pub struct Serving<'a> {
    arguments: Option<&'a ServeArguments>,
    ready: Option<Box<dyn FnOnce() + Send>>,
    stop: Option<oneshot::Receiver<()>>,
}

impl<'a> Serving<'a> {
    /// Until a signal; a reload reads what `arguments` name.
    fn reloading(arguments: &'a ServeArguments) -> Self {
        Self {
            arguments: Some(arguments),
            ready: None,
            stop: None,
        }
    }

    /// Until `stop` resolves, or a signal; `ready` is called when clients can connect.
    pub fn until(ready: Box<dyn FnOnce() + Send>, stop: oneshot::Receiver<()>) -> Self {
        Self {
            arguments: None,
            ready: Some(ready),
            stop: Some(stop),
        }
    }
}

/// Serves `config`; returns when it has ended.
pub fn run(config: Config, serving: Serving<'_>) -> ExitCode {
    let log = match Log::start(&config.log) {
        Ok(log) => log,
        Err(error) => {
            eprintln!("pilotfish: the log cannot be opened: {error}");
            return ExitCode::FAILURE;
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let outcome = match runtime {
        Ok(runtime) => runtime.block_on(play(config, serving, &log)),
        Err(error) => Err(format!("no runtime can be started: {error}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            tracing::error!(cause, "pilotfish cannot go on");
            ExitCode::FAILURE
        }
    }
}

/// The whole life, in order.
async fn play(config: Config, mut serving: Serving<'_>, log: &Log) -> Result<(), String> {
    let started = Instant::now();
    let mut signals = Signals::listen().map_err(|error| format!("signals: {error}"))?;
    raise_open_files(&config);
    let listeners = listening::bind(&config)?;
    let mut admin = AdminPort::bind(&config).map_err(|error| format!("the admin port: {error}"))?;
    let pid_file = config.pid_file.as_deref().map(PidFile::write).transpose();
    let _pid_file = pid_file.map_err(|error| format!("the pid file cannot be written: {error}"))?;
    if let Some(user) = &config.user {
        become_user(user).map_err(|error| format!("cannot become user {user}: {error}"))?;
    }
    let config = Arc::new(config);
    let settings = snapshot(Arc::clone(&config), None)?;
    let (publish, settings) = watch::channel(Arc::new(settings));
    let control = Control::start(&config, started).map_err(|error| format!("control: {error}"))?;
    let end = Arc::new(Notify::new());
    let scripts = scripts(&config, &end)?;
    let surroundings = Surroundings {
        scripts: Arc::new(scripts),
        settings,
        topology: control.topology(),
        accounts: control.accounts(),
        reports: control.reports(),
        started,
    };
    let mut plane = DataPlane::start(config.workers, &surroundings)
        .map_err(|error| format!("no worker can be started: {error}"))?;
    for bound in &listeners {
        let mode = bound.config.session.map(SessionMode::name);
        tracing::info!(address = %bound.listener.endpoint(), mode, "listening");
    }
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        workers = config.workers,
        backends = config.backends.len(),
        "pilotfish is ready"
    );
    admin.open(plane.window());
    tell_manager(&[State::Ready, State::Status("serving")]);
    if let Some(ready) = serving.ready.take() {
        ready();
    }

    let mut listening = Listening::start(listeners);
    let mut notes = Notes::new();
    let reloading = Reloading {
        publish: &publish,
        control: &control,
        log,
    };
    let outcome = wait(
        &mut listening,
        &mut plane,
        &mut signals,
        &mut serving,
        (&reloading, &mut notes, &mut admin, &end),
    )
    .await;

    tell_manager(&[State::Stopping, State::Status("draining")]);
    listening.stop().await;
    let last = Arc::clone(&publish.borrow().config);
    notes.write(&last.digests, &plane).await;
    let limit = last.timeout_drain;
    tracing::info!(
        sessions = plane.sessions(),
        ?limit,
        "stopped accepting; sessions are coming to rest"
    );
    let cut = plane.drain(limit, signals.stop()).await;
    control.stop();
    admin.close();
    tracing::info!(cut, "pilotfish has ended");
    outcome
}

/// Hands clients to workers until it is time to end.
async fn wait(
    listening: &mut Listening,
    plane: &mut DataPlane,
    signals: &mut Signals,
    serving: &mut Serving<'_>,
    (reloading, notes, admin, end): (&Reloading<'_>, &mut Notes, &mut AdminPort, &Notify),
) -> Result<(), String> {
    let mut look = interval(CERTIFICATES_INTERVAL);
    look.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            client = listening.next() => plane.take(client.accepted, client.listener),
            wish = signals.next() => match wish {
                Wish::Stop => return Ok(()),
                Wish::Reload => {
                    reloading.reload(serving.arguments);
                    admin.follow(plane.window());
                }
            },
            () = stopped(&mut serving.stop) => return Ok(()),
            () = end.notified() => {
                tracing::info!("a script wants the proxy to end");
                return Ok(());
            }
            _ = look.tick() => {
                let settings = Arc::clone(&reloading.publish.borrow());
                reload_certificates(&settings);
                notes.keep(&settings.config.digests, plane).await;
            }
            Some((worker, end)) = plane.next_end() => return Err(match end {
                WorkerEnd::Panicked(text) => format!("worker {worker} panicked: {text}"),
                WorkerEnd::Finished => format!("worker {worker} ended"),
            }),
        }
    }
}

/// What runs sessions' scripts; one that says so ends the proxy.
fn scripts(config: &Config, end: &Arc<Notify>) -> Result<AllScripts, String> {
    let end = Arc::clone(end);
    let shutdown: Arc<dyn Fn() + Send + Sync> = Arc::new(move || end.notify_one());
    AllScripts::new(config, &shutdown).map_err(|error| format!("scripts cannot be run: {error}"))
}

async fn stopped(stop: &mut Option<oneshot::Receiver<()>>) {
    match stop {
        // An assignment whose owner is gone is over, too.
        Some(stop) => drop(stop.await),
        None => std::future::pending().await,
    }
}

/// What a reload touches.
struct Reloading<'a> {
    publish: &'a watch::Sender<Arc<Settings>>,
    control: &'a Control,
    log: &'a Log,
}

impl Reloading<'_> {
    /// SIGHUP: the new configuration as a whole, or the old one.
    fn reload(&self, arguments: Option<&ServeArguments>) {
        let Some(arguments) = arguments else {
            return tracing::info!("SIGHUP: there is no file to read again");
        };
        tell_manager(&[State::Reloading]);
        match arguments.load() {
            Ok(loaded) => {
                for warning in &loaded.warnings {
                    tracing::warn!(%warning, "configuration");
                }
                self.apply(&loaded.config, &arguments.source());
            }
            Err(faults) => keep_old(&faults),
        }
        tell_manager(&[State::Ready]);
    }

    fn apply(&self, new: &Config, source: &str) {
        let before = Arc::clone(&self.publish.borrow());
        let reloaded = Arc::new(before.config.reloaded(new));
        let settings = match snapshot(Arc::clone(&reloaded), Some(&before)) {
            Ok(settings) => settings,
            Err(error) => {
                return tracing::error!(%error, "reload: the new configuration is faulty; the old one stays");
            }
        };
        reload_certificates(&settings);
        if let Err(faulty) = self.control.reconfigure(Arc::clone(&reloaded)) {
            return keep_old(&faulty);
        }
        // At once: who begins now is to find the new accounts and the new settings.
        self.publish.send_replace(Arc::new(settings));
        for change in config::diff(&before.config, new) {
            tracing::info!(%change, "reload");
        }
        if let Err(error) = self.log.reload(&reloaded.log) {
            tracing::error!(%error, "the log cannot be opened again; the old one is written on");
        }
        tracing::info!(source, "configuration is reloaded");
    }
}

fn keep_old(faults: &[impl Display]) {
    for fault in faults {
        tracing::error!(%fault, "reload: the new configuration is faulty");
    }
    tracing::error!(faults = faults.len(), "the old configuration stays");
}

fn tell_manager(states: &[State<'_>]) {
    if let Err(error) = notify(states) {
        tracing::warn!(%error, "the service manager does not listen");
    }
}

/// The signals that are listened to.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The next of them.
    async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.terminate.recv() => Wish::Stop,
            _ = self.interrupt.recv() => Wish::Stop,
            _ = self.hang_up.recv() => Wish::Reload,
        }
    }

    /// The next that wants an end: while draining, it wants a quick one.
    async fn stop(&mut self) {
        while self.next().await == Wish::Reload {}
    }
}

/// What a signal wants.
#[derive(PartialEq, Eq)]
enum Wish {
    /// SIGTERM, SIGINT.
    Stop,
    /// SIGHUP.
    Reload,
}
