//! A worker's pool before one scripted server. This file plays the server's part of a login; the test plays the rest.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use auth::{Accounts, Credential, Password};
use backend::connection::BackendConn;
use backend::sub_pool::{BackendLogin, PoolKey, SubPool};
use backend::worker_pool::{CheckoutStep, HeldConnection, WorkerPool};
use config::Config;
use route::Backend;
use wire::column::{ColumnDefinition, ColumnType};
use wire::result::put_text_result;
use wire::{Capabilities, Command, StatusFlags};

use crate::backends::backend;
use crate::environment::{Environment, Server, account, directory};
use crate::peer::{CAPABILITIES, OK, Peer, greeting, packet};

/// How long a session waits for a connection.
const PATIENCE: Duration = Duration::from_secs(30);

/// The capabilities of pooled connections in dialogues.
pub const POOLED: Capabilities = CAPABILITIES.with(Capabilities::CONNECT_WITH_DB, false);

/// A worker's pool with one sub-pool, and the server that this sub-pool connects to.
pub struct PoolScene {
    /// The environment that the worker gives to the pool.
    pub environment: Environment,
    /// The pool.
    pub pool: Rc<WorkerPool>,
    /// The connections of one account to `db1`.
    pub sub_pool: Rc<SubPool>,
    /// The scripted server of these connections.
    pub server: Server,
    last_thread: u32,
}

impl PoolScene {
    /// Returns a scene with a primary and the default settings.
    pub fn plain() -> Self {
        Self::new(Config::default(), backend(1))
    }

    /// Returns a scene with these settings and this backend.
    pub fn new(config: Config, backend: Backend) -> Self {
        let environment = Environment::new(config, vec![backend], Accounts::default());
        let server = environment.serve(1);
        let pool = Rc::new(WorkerPool::new(Rc::clone(&environment.pool), 7));
        tokio::task::spawn_local(WorkerPool::keep(Rc::clone(&pool), || ()));
        let (key, login) = identity("app");
        let backend = Arc::clone(&environment.pool.topology.borrow().backends[0]);
        let sub_pool = pool.sub_pool(&backend, &key, &login);
        Self {
            environment,
            pool,
            sub_pool,
            server,
            last_thread: 0,
        }
    }

    /// Begins a session's checkout: it gets the nearest idle connection, a new one, or a place in the queue.
    pub fn begin(&self) -> CheckoutStep {
        begin(&self.pool, &self.sub_pool)
    }

    /// Acquires a connection: an idle one, or a new one as soon as the pool allows it.
    pub async fn take(&self) -> HeldConnection {
        take(&self.pool, &self.sub_pool).await
    }

    /// Opens a connection, and returns it with the server's side after the login. Each connection id is one higher.
    pub async fn open(&mut self) -> (HeldConnection, Peer) {
        self.last_thread += 1;
        let mut peer = None;
        let held = tokio::select! {
            biased;
            held = take(&self.pool, &self.sub_pool) => held,
            () = serve(&mut self.server, self.last_thread, &mut peer) => panic!("a server goes on"),
        };
        (held, peer.unwrap())
    }

    /// Accepts the next connection that the pool opens by itself. The server answers commands until it reads `text`,
    /// which gets no answer.
    pub async fn serve_until(&mut self, text: &str) -> Peer {
        self.last_thread += 1;
        let mut peer = log_in(&mut self.server, self.last_thread).await;
        answer_until(&mut peer, text).await;
        peer
    }
}

fn begin(pool: &Rc<WorkerPool>, sub_pool: &SubPool) -> CheckoutStep {
    let nearness = BackendConn::pending_answers_count;
    pool.begin(sub_pool.id, PATIENCE, &mut None, nearness)
}

async fn take(pool: &Rc<WorkerPool>, sub_pool: &SubPool) -> HeldConnection {
    let mut step = begin(pool, sub_pool);
    loop {
        match step {
            CheckoutStep::HeldConnection(held) => return held,
            CheckoutStep::Permit(id, permit) => return pool.open(id, permit).await.unwrap(),
            CheckoutStep::Waits(wait) => {
                let granted = wait.granting.await;
                wait.ticket.spend();
                let next = pool.granted(wait.sub_pool, granted, PATIENCE);
                step = next.unwrap_or_else(|| begin(pool, sub_pool));
            }
            CheckoutStep::Refused(failure) => panic!("{}", failure.cause),
        }
    }
}

/// Accepts the next connection and completes its login.
async fn log_in(server: &mut Server, thread_id: u32) -> Peer {
    let mut peer = server.accept().await;
    peer.send_greeting(&greeting(thread_id)).await;
    peer.receive().await;
    peer.send_payload(OK).await;
    peer
}

async fn serve(server: &mut Server, thread_id: u32, peer: &mut Option<Peer>) {
    let peer = peer.insert(log_in(server, thread_id).await);
    loop {
        let command = peer.receive_command().await;
        peer.send(&answer(&text_of(&command))).await;
    }
}

/// Answers commands until a command has the text `text`.
pub async fn answer_until(peer: &mut Peer, text: &str) {
    loop {
        let command = peer.receive_command().await;
        let said = text_of(&command);
        if said == text {
            return;
        }
        peer.send(&answer(&said)).await;
    }
}

/// Returns the text of a query, or the name of another command.
pub fn text_of(command: &[u8]) -> String {
    match command.split_first() {
        Some((&byte, text)) if Command(byte) == Command::QUERY => {
            String::from_utf8_lossy(text).into_owned()
        }
        Some((&byte, _)) => Command(byte).to_string(),
        None => String::new(),
    }
}

/// Returns the answer to a command: a row of ones for SELECT, an empty list for SHOW WARNINGS, OK for the rest.
pub fn answer(text: &str) -> Vec<u8> {
    let (width, rows) = match text {
        "SHOW WARNINGS" => (3, 0),
        _ if text.starts_with("SELECT ") => (text.split(',').count(), 1),
        _ => return packet(1, OK),
    };
    result(width, rows)
}

/// Returns a result of `width` columns and `rows` rows of ones, in packets from sequence id 1 on.
pub fn result(width: usize, rows: usize) -> Vec<u8> {
    let mut packets = Vec::new();
    let column = ColumnDefinition::new(b"it", ColumnType::VAR_STRING, 45, 64);
    let columns = vec![column; width];
    let rows = (0..rows).map(|_| vec![Some(&b"1"[..]); width]);
    let status = StatusFlags::AUTOCOMMIT;
    put_text_result(&mut packets, 1, POOLED, &columns, rows, status, 0);
    packets
}

/// Returns the identity of a pooled session of this user.
pub fn identity(user: &str) -> (Rc<PoolKey>, Rc<BackendLogin>) {
    let directory = directory([account(user)]);
    let known = directory.accounts().next().unwrap();
    let key = PoolKey {
        account: known.id().clone(),
        user: user.as_bytes().into(),
        capabilities: POOLED,
        collation: 45,
    };
    let login = BackendLogin {
        user: user.as_bytes().to_vec(),
        credential: Credential::Password(Password::new(user)),
    };
    (Rc::new(key), Rc::new(login))
}
