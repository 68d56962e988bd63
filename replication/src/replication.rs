//! The handle of the thread that runs all streams.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;

use config::{Config, ReplicationConfig};
use net::watch;
use route::Topology;
use system::System;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, LocalSet};

use crate::changes::{ChangeReaders, ChangeSinks, ChangeSource};
use crate::receiver::{Receiver, deliver_changes};
use crate::shared::Shared;
use crate::status::{StreamStatus, Streams};
use crate::store::Store;
use crate::stream::Stream;
use crate::transaction_changes::Origins;

/// The replication of a process. Its thread starts when the first stream is configured.
pub struct Replication {
    streams: Arc<Streams>,
    topology: watch::Receiver<Arc<Topology>>,
    system: System,
    origins: Origins,
    thread: Option<Thread>,
}

struct Thread {
    configs: mpsc::UnboundedSender<Arc<Config>>,
    thread: JoinHandle<()>,
}

/// A stream that runs.
struct RunningStream {
    settings: ReplicationConfig,
    config: Arc<Config>,
    status: Arc<StreamStatus>,
    task: AbortHandle,
    /// The source of changes for readers, if the stream has relay files.
    changes: Option<ChangeSource>,
    /// The writers of change files and Kafka topics. They stop when this is dropped.
    _sinks: Option<ChangeSinks>,
}

impl Replication {
    /// Starts the configured streams.
    ///
    /// # Errors
    /// The history cannot be opened, or the thread cannot be started.
    pub fn start(
        config: &Arc<Config>,
        topology: watch::Receiver<Arc<Topology>>,
        system: &System,
        origins: Origins,
    ) -> Result<Self, String> {
        let mut replication = Self {
            streams: Arc::default(),
            topology,
            system: system.clone(),
            origins,
            thread: None,
        };
        replication.apply(config)?;
        Ok(replication)
    }

    /// The state of the streams.
    pub fn streams(&self) -> &Arc<Streams> {
        &self.streams
    }

    /// Applies a new configuration. A stream whose settings have not changed goes on.
    ///
    /// # Errors
    /// The same as for [`Replication::start`].
    pub fn apply(&mut self, config: &Arc<Config>) -> Result<(), String> {
        if self.thread.is_none() && !config.replications.is_empty() {
            self.thread = Some(self.begin(config)?);
        }
        if let Some(thread) = &self.thread {
            // This fails only if the thread has ended, and `stop` reports that.
            let _ = thread.configs.send(Arc::clone(config));
        }
        Ok(())
    }

    fn begin(&self, config: &Arc<Config>) -> Result<Thread, String> {
        let history = &config.schema_history;
        let store = Store::open(history.file.as_deref(), history.bytes_max)?;
        self.streams.set_source(store.source().to_owned());
        let failed = |error: io::Error| error.to_string();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let (configs, configured) = mpsc::unbounded_channel();
        let (streams, topology) = (Arc::clone(&self.streams), self.topology.clone());
        let system = self.system.clone();
        let origins = Arc::clone(&self.origins);
        let live = move || {
            let store = Rc::new(RefCell::new(store));
            let local = LocalSet::new();
            let living = live(configured, streams, topology, (store, system, origins));
            local.block_on(&runtime, living);
        };
        let thread = self.system.threads.start("replication", live);
        let thread = thread.map_err(failed)?;
        Ok(Thread { configs, thread })
    }

    /// Ends all streams. Each stream begins again at the position that it has stored.
    pub fn stop(self) {
        let Some(Thread { configs, thread }) = self.thread else {
            return;
        };
        drop(configs);
        if thread.join().is_err() {
            tracing::error!(
                "the thread that follows clusters has failed before the proxy stopped; please report this line"
            );
        }
    }
}

/// The thread's main function. It ends when the sender of configurations is dropped.
async fn live(
    mut configured: mpsc::UnboundedReceiver<Arc<Config>>,
    streams: Arc<Streams>,
    topology: watch::Receiver<Arc<Topology>>,
    (store, system, origins): (Rc<RefCell<Store>>, System, Origins),
) {
    let mut running: Vec<RunningStream> = Vec::new();
    let written = Arc::new(watch::Sender::new(()));
    let mut told: Option<watch::Sender<Arc<Config>>> = None;
    while let Some(config) = configured.recv().await {
        let configs = told.get_or_insert_with(|| {
            let (configs, _) = watch::channel(Arc::clone(&config));
            for receiver in Receiver::ALL {
                let (store, written) = (Rc::clone(&store), written.subscribe());
                let clock = system.clock.clone();
                let telling = deliver_changes(receiver, configs.subscribe(), store, written, clock);
                tokio::task::spawn_local(telling);
            }
            configs
        });
        configs.send_replace(Arc::clone(&config));
        let mut kept = Vec::new();
        for settings in &config.replications {
            let same = running
                .iter()
                .position(|it| it.settings == *settings && is_reached_alike(&it.config, &config));
            kept.push(match same {
                Some(at) => running.swap_remove(at),
                None => {
                    end(&mut running, &settings.name);
                    let shared = Shared {
                        config: Arc::clone(&config),
                        topology: topology.clone(),
                        store: Rc::clone(&store),
                        written: Arc::clone(&written),
                        system: system.clone(),
                        origins: Arc::clone(&origins),
                    };
                    begin(shared, settings, streams.change_readers())
                }
            });
        }
        running.iter().for_each(|it| it.task.abort());
        running = kept;
        let sources = running.iter().filter_map(|it| it.changes.clone());
        streams.set_change_sources(sources.collect());
        streams.set(running.iter().map(|it| Arc::clone(&it.status)).collect());
    }
}

fn begin(
    shared: Shared,
    settings: &ReplicationConfig,
    readers: &Arc<ChangeReaders>,
) -> RunningStream {
    let status = Arc::new(StreamStatus::new(settings));
    let changes = settings.relay_folder.as_ref().map(|_| {
        let history = shared.store.borrow().source().to_owned();
        ChangeSource::new(&status, settings, &history, &shared.system)
    });
    let start = |source| ChangeSinks::start(source, settings, readers);
    let sinks = changes.as_ref().map(start);
    let config = Arc::clone(&shared.config);
    let stream = Stream::new(shared, settings.clone(), Arc::clone(&status));
    RunningStream {
        settings: settings.clone(),
        config,
        status,
        task: tokio::task::spawn_local(stream.run()).abort_handle(),
        changes,
        _sinks: sinks,
    }
}

/// Ends the stream of this name, because the old and the new stream must not write at the same time.
fn end(running: &mut Vec<RunningStream>, name: &str) {
    running.retain(|it| {
        let stays = it.settings.name != name;
        if !stays {
            it.task.abort();
        }
        stays
    });
}

/// Whether both configurations connect to backends in the same way.
fn is_reached_alike(one: &Config, other: &Config) -> bool {
    one.backend_tls == other.backend_tls
        && one.proxy_protocol == other.proxy_protocol
        && one.health == other.health
}
