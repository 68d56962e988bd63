//! A proxy on the simulation's thread: the real control plane and the real workers.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use backend::settings::Settings;
use config::{Config, ListenerConfig};
use control::{Control, SystemResolver};
use link::memory::MemoryView;

use net::RawSocket;
use net::listen::Accepted;

use net::watch;
use route::KillScope;
use route::rules::Rules;
use stats::{Journal, StatementStatsView, StatsRequest, Traces};
use system::{Clock, Entropy, System, Threads};
use worker::{AllScripts, DataPlane, DataPlaneContext, DataPlaneHandle, WorkerView};

use crate::network::End;

/// The time of day when a simulation begins, since 1970.
const BEGIN: Duration = Duration::from_secs(1_800_000_000);

/// A proxy that runs.
pub struct SimulatedProxy {
    control: Control,
    /// None: it drains, or has drained.
    plane: RefCell<Option<DataPlane>>,
    handle: DataPlaneHandle,
    settings: watch::Sender<Arc<Settings>>,
    listeners: Vec<Arc<ListenerConfig>>,
}

impl SimulatedProxy {
    /// Starts one; `seed` decides when it looks at its backends.
    ///
    /// # Errors
    /// What is wrong with the configuration, in words.
    pub async fn start(text: &str, seed: u64) -> Result<Self, String> {
        let config = read(text)?;
        let started = net::clock::now().into_std();
        let resolver = Arc::new(SystemResolver);
        let system = simulated_system(seed);
        let control = Control::start_here(&config, started, resolver, seed, &system.entropy)
            .await
            .map_err(|error| error.to_string())?;
        let listeners = config.listeners.iter().cloned().map(Arc::new).collect();
        let workers = config.workers;
        // One that wants to end the process does not.
        let shutdown: Arc<dyn Fn() + Send + Sync> = Arc::new(|| {});
        let scripts = AllScripts::new(&config, &system.clock, &shutdown)?;
        let (publish, settings) = watch::channel(Arc::new(settings(config)?));
        // Nobody writes logs or sends spans here.
        let (journal, _) = Journal::new();
        let (traces, _) = Traces::new();
        let plane_context = DataPlaneContext {
            settings,
            topology: control.topology(),
            accounts: control.accounts(),
            definitions: control.definitions(),
            reports: control.reports(),
            scripts: Arc::new(scripts),
            origins: Arc::default(),
            journal,
            traces,
            system,
            started,
        };
        let plane = DataPlane::start_here(workers, &plane_context);
        Ok(Self {
            handle: plane.handle().clone(),
            plane: RefCell::new(Some(plane)),
            control,
            settings: publish,
            listeners,
        })
    }

    /// Takes a client on the listener with this number. While the proxy drains, the connection closes.
    pub fn accept(&self, end: End, client: SocketAddr, listener: usize) {
        let plane = self.plane.borrow();
        let Some(plane) = &*plane else {
            return;
        };
        let accepted = Accepted {
            socket: RawSocket::Memory(Box::new(end)),
            remote: client.into(),
        };
        plane.take(accepted, Arc::clone(&self.listeners[listener]));
    }

    /// Has another configuration take effect, as a reload does.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn reload(&self, text: &str) -> Result<(), String> {
        let before = Arc::clone(&self.settings.borrow());
        let config = Arc::new(before.config.reloaded(&read(text)?));
        let settings = settings(Config::clone(&config))?;
        self.control
            .reconfigure(config)
            .map_err(|faulty| format!("{faulty:?}"))?;
        self.settings.send_replace(Arc::new(settings));
        Ok(())
    }

    /// The backends as the control plane sees them.
    pub fn topology(&self) -> Arc<route::Topology> {
        Arc::clone(&self.control.topology().borrow())
    }

    /// What its workers tell of themselves.
    pub async fn views(&self) -> Vec<WorkerView> {
        self.handle.views().await
    }

    /// What it has counted of statements.
    pub async fn counts(&self) -> StatementStatsView {
        self.handle.statement_stats(StatsRequest::All).await
    }

    /// What its sessions keep in memory.
    pub fn memory(&self) -> MemoryView {
        self.handle.memory()
    }

    /// Sessions in all, unless it drains.
    pub fn sessions(&self) -> usize {
        self.plane.borrow().as_ref().map_or(0, DataPlane::sessions)
    }

    /// Kills a session, or its statement.
    pub async fn kill(&self, id: u32, scope: KillScope) {
        self.handle.kill(id, scope).await;
    }

    /// Takes no more clients, and waits so long for its sessions. How many had to be cut.
    pub async fn drain(&self, limit: Duration) -> usize {
        let plane = self.plane.take();
        match plane {
            Some(plane) => plane.drain(limit, std::future::pending()).await,
            None => 0,
        }
    }

    /// Drains and stops. How many sessions had to be cut.
    pub async fn stop(self, limit: Duration) -> usize {
        let cut = self.drain(limit).await;
        self.control.stop();
        cut
    }
}

/// A system whose time of day is virtual too, whose random bytes follow from the seed, and which has no threads.
fn simulated_system(seed: u64) -> System {
    let begin = SystemTime::UNIX_EPOCH + BEGIN;
    System {
        clock: Clock::set_to(begin, || net::clock::now().into_std()),
        entropy: Entropy::seeded(seed),
        threads: Threads::new(|_, _| Err(io::ErrorKind::Unsupported.into())),
    }
}

fn read(text: &str) -> Result<Config, String> {
    let loaded = Config::load_text(None, text, &[], |_, _| Vec::new());
    let faults = |faults: Vec<config::Fault>| {
        let texts: Vec<_> = faults.iter().map(ToString::to_string).collect();
        texts.join("; ")
    };
    Ok(loaded.map_err(faults)?.config)
}

fn settings(config: Config) -> Result<Settings, String> {
    let rules = Rules::compile(&config).map_err(|faults| {
        let first = faults.first().map(|fault| fault.text.clone());
        first.unwrap_or_default()
    })?;
    Ok(Settings {
        rules: Arc::new(rules),
        config: Arc::new(config),
        client_tls: None,
        backend_tls: None,
        password_tls: None,
        backend_key: None,
    })
}
