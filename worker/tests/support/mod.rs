//! A data plane of one worker on the test's thread.

use std::sync::Arc;

use auth::Accounts;
use config::{Config, ListenerConfig};
use dialogues::backends::backend;
use dialogues::environment::{Environment, Server, client_address};
use dialogues::memory_network::ROOM;
use dialogues::peer::{CAPABILITIES, OK, Peer, greeting};
use net::RawSocket;
use net::listen::Accepted;
use net::watch;
use pilotfish_worker::{AllScripts, DataPlane, DataPlaneContext, SessionView};
use route::{Definitions, Report};
use stats::journal::Journal;
use stats::traces::Traces;
use tokio::sync::mpsc;
use wire::HandshakeResponse;
use wire::handshake::HandshakeHead;

/// The thread id of each session's connection on the backend.
pub const THREAD_ID: u32 = 17;

/// A worker and the server of its sessions.
pub struct World {
    pub environment: Environment,
    pub plane: DataPlane,
    pub server: Server,
    reports: mpsc::UnboundedReceiver<Report>,
    _definitions: watch::Sender<Arc<Definitions>>,
}

impl World {
    pub fn plain() -> Self {
        Self::new(Config::default())
    }

    /// Creates a world in which only the backend knows the accounts, so sessions are relayed.
    pub fn new(mut config: Config) -> Self {
        config.workers = 1;
        let environment = Environment::new(config, vec![backend(1)], Accounts::default());
        let server = environment.serve(1);
        let (definitions, known) = watch::channel(Arc::new(Definitions::default()));
        let (to, reports) = mpsc::unbounded_channel();
        let (journal, _) = Journal::new();
        let (traces, _) = Traces::new();
        let plane_context = DataPlaneContext {
            settings: environment.settings.subscribe(),
            topology: environment.topologies.subscribe(),
            accounts: environment.accounts.subscribe(),
            definitions: known,
            reports: to,
            scripts: Arc::new(AllScripts::default()),
            origins: Arc::default(),
            journal,
            traces,
            system: environment.pool.system.clone(),
            started: net::clock::now().into_std(),
        };
        Self {
            plane: DataPlane::start_here(1, &plane_context),
            environment,
            server,
            reports,
            _definitions: definitions,
        }
    }

    /// A client that has connected.
    pub fn connect(&self) -> Peer {
        let (near, far) = self.environment.client_ends(ROOM);
        let accepted = Accepted {
            socket: RawSocket::Memory(Box::new(near)),
            remote: client_address(),
        };
        self.plane
            .take(accepted, Arc::new(ListenerConfig::default()));
        Peer::new(far)
    }

    /// A client whose login the server has accepted, and the server's side of its session.
    pub async fn log_in(&mut self) -> (Peer, Peer) {
        let app = self.connect();
        self.complete(app).await
    }

    /// Completes the login of a client that has connected.
    pub async fn complete(&mut self, mut app: Peer) -> (Peer, Peer) {
        let mut db = self.server.accept().await;
        db.send_greeting(&greeting(THREAD_ID)).await;
        app.receive_greeting().await;
        app.send_payload(&response()).await;
        db.receive().await;
        db.send_payload(OK).await;
        assert_eq!(app.receive().await, OK);
        app.begin_at(0);
        (app, db)
    }

    /// Returns the sessions as the admin interface shows them.
    pub async fn sessions(&self) -> Vec<SessionView> {
        let views = self.plane.handle().views().await;
        views.into_iter().flat_map(|view| view.sessions).collect()
    }

    /// Returns the reports to the control plane since the last call.
    pub fn reports(&mut self) -> Vec<Report> {
        let mut told = Vec::new();
        while let Ok(report) = self.reports.try_recv() {
            told.push(report);
        }
        told
    }
}

/// Returns a client's answer to a greeting.
pub fn response() -> Vec<u8> {
    let mut payload = Vec::new();
    HandshakeResponse {
        head: HandshakeHead {
            capabilities: CAPABILITIES,
            packet_bytes_max: 1 << 24,
            collation: 45,
        },
        user: b"app",
        auth_response: b"proof",
        schema: Some(b"shop"),
        plugin: Some(b"mysql_native_password"),
        attributes: None,
        zstd_level: None,
        trailing: b"",
    }
    .encode(&mut payload);
    payload
}
