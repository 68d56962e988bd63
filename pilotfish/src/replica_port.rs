//! Serves replicas that connect to a listener with `serves = "replication"`: a thread of its own runs their logins, and
//! feeds them from the relay of their cluster.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use auth::{Directory, Plugin};
use config::{Config, Serves};
use replication::{RelayLog, ReplicaConnection, Streams, feed};
use route::Family;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use wire::Capabilities;
use worker::{AdminClient, AdminClientError, AdminState, DataPlaneHandle, Reception};

use crate::listening::{Bound, Client};

/// The most replicas at once, of all listeners together.
const REPLICAS_MAX: usize = 1000;

/// The thread that serves replicas, if a listener has `serves = "replication"`.
pub struct ReplicaPort {
    running: Option<(mpsc::Sender<Client>, JoinHandle<()>)>,
}

/// State that all replicas share.
struct Shared {
    data_plane: DataPlaneHandle,
    streams: Arc<Streams>,
    reception: Reception,
    last_id: AtomicU32,
    /// A random key, so that the check of unknown user names looks the same each time.
    secret: [u8; 32],
    /// The accounts of a configuration that may replicate, in the form that logins need.
    accounts: Mutex<Option<(Arc<Config>, Arc<Directory>)>>,
}

/// A replica that has logged in.
struct Replica {
    admin_client: AdminClient,
    cluster: String,
}

impl ReplicaPort {
    /// Starts the thread, if a listener has `serves = "replication"`.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(
        bound: &[Bound],
        data_plane: &DataPlaneHandle,
        streams: &Arc<Streams>,
    ) -> Result<Self, String> {
        let is_for_replicas = |it: &Bound| it.config.serves == Serves::Replication;
        if !bound.iter().any(is_for_replicas) {
            return Ok(Self { running: None });
        }
        let shared = Arc::new(Shared {
            reception: data_plane.reception(),
            data_plane: data_plane.clone(),
            streams: Arc::clone(streams),
            last_id: AtomicU32::new(0),
            secret: data_plane.system().entropy.bytes().unwrap_or_default(),
            accounts: Mutex::new(None),
        });
        let failed = |error: io::Error| format!("replicas cannot be fed: {error}");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let (sender, accepted) = mpsc::channel(REPLICAS_MAX);
        let live = move || runtime.block_on(live(accepted, shared));
        let thread = data_plane.system().threads.start("replicas", live);
        let thread = thread.map_err(failed)?;
        Ok(Self {
            running: Some((sender, thread)),
        })
    }

    /// Hands a replica that has connected to the thread.
    pub fn take(&self, client: Client) {
        if let Some((sender, _)) = &self.running {
            // If the thread does not keep up, the connection is closed, and the replica connects again.
            let _ = sender.try_send(client);
        }
    }

    /// Ends all streams. When replicas connect again, they continue at their positions.
    pub fn stop(self) {
        if let Some((sender, thread)) = self.running {
            drop(sender);
            if thread.join().is_err() {
                tracing::error!(
                    "the thread that feeds replicas has failed; replicas get no events until the proxy is restarted"
                );
            }
        }
    }
}

/// The thread's main function.
async fn live(mut accepted: mpsc::Receiver<Client>, shared: Arc<Shared>) {
    let mut replicas = JoinSet::new();
    while let Some(client) = accepted.recv().await {
        while replicas.try_join_next().is_some() {}
        if replicas.len() < REPLICAS_MAX {
            replicas.spawn(serve(client, Arc::clone(&shared)));
        }
    }
}

/// Serves one connection, from its greeting on.
async fn serve(client: Client, shared: Arc<Shared>) {
    let config = Arc::clone(&shared.data_plane.settings().config);
    let cluster = config.cluster_of(&client.listener).to_owned();
    let log = shared.streams.relay_of(&cluster);
    let Some(log) = log.filter(|it| it.has_started()) else {
        tracing::warn!(
            kind = "replica_refused",
            cluster,
            "the proxy refuses a replica, because the stream of its cluster keeps no transactions yet; the replica will connect again"
        );
        return;
    };
    match shared.receive(client, &log).await {
        Ok(admin_client) => {
            let feeds = Arc::clone(shared.streams.feeds());
            feed(
                Replica {
                    admin_client,
                    cluster,
                },
                log,
                feeds,
                shared.data_plane.system().clock.clone(),
            )
            .await;
        }
        Err(error) => {
            tracing::warn!(kind = "replica_refused", %error, "the login of a replica has failed")
        }
    }
}

impl Shared {
    /// Runs a login, by the current settings.
    async fn receive(
        &self,
        client: Client,
        log: &RelayLog,
    ) -> Result<AdminClient, AdminClientError> {
        let settings = self.data_plane.settings();
        let accounts = self.accounts(&settings.config);
        let version = log.version();
        let admin_state = AdminState {
            accounts: &accounts,
            settings: &settings,
            version: &version,
            plugin: greeting_plugin(log.family()),
            id: self.last_id.fetch_add(1, Ordering::Relaxed).wrapping_add(1),
            has_schema: |_| true,
        };
        self.reception.receive(client.accepted, &admin_state).await
    }

    /// The accounts with `replication = true`.
    fn accounts(&self, config: &Arc<Config>) -> Arc<Directory> {
        let mut known = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, accounts)) = &*known
            && Arc::ptr_eq(of, config)
        {
            return Arc::clone(accounts);
        }
        let configured = config.configured_accounts.iter();
        let configured: Vec<_> = configured.filter(|it| it.replication).cloned().collect();
        let made = auth::configured(&configured, self.secret);
        // The check of the configuration has built the same directory successfully.
        let made = Arc::new(made.expect("accounts that were checked can be made"));
        *known = Some((Arc::clone(config), Arc::clone(&made)));
        made
    }
}

/// The plugin in the greeting. A replica of MariaDB always names `mysql_native_password`. If the greeting names another
/// plugin, the replica proves nothing until the server asks for its plugin.
fn greeting_plugin(family: Family) -> Plugin {
    match family {
        Family::MariaDb => Plugin::Native,
        Family::MySql => Plugin::CachingSha2,
    }
}

impl ReplicaConnection for Replica {
    async fn command(&mut self) -> Option<Vec<u8>> {
        self.admin_client.command().await.ok().flatten()
    }

    async fn send_packets(&mut self, packets: &[u8]) -> bool {
        self.admin_client.send(packets).await.is_ok()
    }

    fn capabilities(&self) -> Capabilities {
        self.admin_client.capabilities
    }

    fn name(&self) -> String {
        format!(
            "{} from {}",
            self.admin_client.user, self.admin_client.remote
        )
    }

    fn cluster(&self) -> String {
        self.cluster.clone()
    }
}
