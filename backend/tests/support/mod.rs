//! A worker's pool and a server that accepts every login and answers nearly every command with OK.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use config::Config;
use dialogues::backends::{address, backend};
use dialogues::environment::Server;
use dialogues::peer::{OK, Peer, err, greeting, packet};
use dialogues::pool_scene::{PoolScene, answer, text_of};
use route::Report;
use tokio::sync::Notify;
use tokio::time::timeout;

/// A server that answers by itself and records the commands it receives.
pub struct ScriptedServer {
    /// The received commands with their connection: the text of a query, the name of any other command.
    read: RefCell<Vec<(u32, String)>>,
    news: Notify,
    logins: Cell<u32>,
    /// Whether the server greets with error 1040.
    pub is_full: Cell<bool>,
    /// Whether the server answers queries with error 1053.
    pub shuts_down: Cell<bool>,
}

impl ScriptedServer {
    fn start(mut connections: Server) -> Rc<Self> {
        let server = Rc::new(Self {
            read: RefCell::default(),
            news: Notify::new(),
            logins: Cell::new(0),
            is_full: Cell::new(false),
            shuts_down: Cell::new(false),
        });
        let own = Rc::clone(&server);
        tokio::task::spawn_local(async move {
            loop {
                let peer = connections.accept().await;
                tokio::task::spawn_local(Rc::clone(&own).serve(peer));
            }
        });
        server
    }

    /// Returns the number of connections that have logged in.
    pub fn logins(&self) -> u32 {
        self.logins.get()
    }

    /// Waits until a connection has sent this command; returns the connection's number.
    pub async fn hears(&self, text: &str) -> u32 {
        let read = async {
            loop {
                let news = self.news.notified();
                let found = self.connection_that_said(text);
                match found {
                    Some(connection) => return connection,
                    None => news.await,
                }
            }
        };
        let read = timeout(Duration::from_secs(30), read).await;
        read.unwrap_or_else(|_| panic!("{text}: not heard, but {:?}", self.read.borrow()))
    }

    fn connection_that_said(&self, text: &str) -> Option<u32> {
        let read = self.read.borrow();
        let found = read.iter().find(|it| it.1 == text);
        found.map(|it| it.0)
    }

    async fn serve(self: Rc<Self>, mut peer: Peer) {
        if self.is_full.get() {
            peer.send_payload(&err(1040, "Too many connections")).await;
            return;
        }
        let id = self.logins.get() + 1;
        self.logins.set(id);
        peer.send_greeting(&greeting(id)).await;
        // The handshake response.
        if peer.try_hear().await.is_err() {
            return;
        }
        peer.send_payload(OK).await;
        loop {
            peer.begin_at(0);
            let Ok(command) = peer.try_hear().await else {
                return;
            };
            let text = text_of(&command);
            self.read.borrow_mut().push((id, text.clone()));
            self.news.notify_waiters();
            let packets = match self.shuts_down.get() {
                true => packet(1, &err(1053, "Server shutdown in progress")),
                false => answer(&text),
            };
            if peer.try_send(&packets).await.is_err() {
                return;
            }
        }
    }
}

/// A worker's pool and its server.
pub struct World {
    pub server: Rc<ScriptedServer>,
    pub scene: PoolScene,
}

impl World {
    /// A world whose pool may have this number of connections.
    pub fn new(connections_max: u32) -> Self {
        let mut config = Config::default();
        config.pool.backend_connections_max = connections_max;
        let scene = PoolScene::new(config, backend(1));
        Self {
            server: ScriptedServer::start(scene.environment.serve(1)),
            scene,
        }
    }

    /// Stops the server: connections to it are refused.
    pub fn leave(&self) {
        self.scene.environment.network.close(&address(1).into());
    }

    /// Returns the last report to the control plane.
    pub fn last_report(&self) -> Option<Report> {
        self.scene.environment.reports().pop()
    }
}
