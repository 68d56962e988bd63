//! What a worker tells of itself when it is asked: values, made for the asker and sent to it.

use std::sync::Arc;
use std::time::Duration;

use pool::{AccountUse, Figures};
use route::BackendId;
use session::state::Pins;

/// One worker at one moment.
#[derive(Debug, Clone, Default)]
pub struct WorkerView {
    /// Which one, from 0.
    pub worker: usize,
    /// Its sessions, those in login included.
    pub sessions: Vec<SessionView>,
    /// Its pools of backend connections.
    pub pools: Vec<PoolView>,
    /// Its statements under way, backend by backend.
    pub loads: Vec<LoadView>,
    /// Digests of reads that a replica has refused because they write.
    pub refused_reads: usize,
}

/// One session.
#[derive(Debug, Clone)]
pub struct SessionView {
    /// What the proxy calls it.
    pub id: u32,
    /// The worker that it lives on.
    pub worker: usize,
    /// Who it is; empty before its login.
    pub user: String,
    /// Where its client is.
    pub client: net::Endpoint,
    /// Where its client has connected.
    pub listener: String,
    /// Its default schema: now, where the proxy follows it, or as it was named at login.
    pub schema: Option<String>,
    /// What it is doing.
    pub state: SessionState,
    /// For how long it has been doing that, in whole seconds.
    pub state_seconds: u32,
    /// How long ago it began.
    pub age: Duration,
    /// For how long it keeps a backend connection: a mode of pooling, `transparent`, `kernel` or `script`.
    pub mode: &'static str,
    /// The backend that it uses, or whose connection it keeps.
    pub backend: Option<BackendId>,
    /// The id there of the connection that it uses or keeps, unless others use that as well.
    pub thread_id: Option<u32>,
    /// The digest of the statement that runs, and its normalised text, where digests are kept.
    pub digest: Option<u64>,
    /// See `digest`.
    pub statement: Option<Arc<str>>,
    /// Whether a transaction is open, as of the last reply.
    pub is_in_transaction: bool,
    /// What keeps a pooled one on its connection; none: it keeps none.
    pub pins: Option<Pins>,
}

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// Logging in.
    Login,
    /// Waiting for its client's next command.
    Idle,
    /// Executing one.
    Running,
    /// The kernel passes its bytes, and the proxy does not see whether a statement runs. So many bytes have come from the
    /// client, and from the backend.
    Joined([u64; 2]),
}

impl SessionState {
    /// As people are told it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Joined(_) => "joined",
        }
    }
}

/// Pooled connections of one account to one backend.
#[derive(Debug, Clone)]
pub struct PoolView {
    /// To which one.
    pub backend: BackendId,
    /// Its name, which it keeps here after it has gone from the configuration.
    pub name: String,
    /// The account whose sessions share them.
    pub account: String,
    /// The user that they are logged in as.
    pub user: String,
    /// How many there are, and what has happened.
    pub figures: Figures,
    /// What the account's sessions do there.
    pub uses: AccountUse,
    /// The account gets no connection beyond what it may keep.
    pub is_bounded: bool,
}

/// What is under way on one backend.
#[derive(Debug, Clone, Copy)]
pub struct LoadView {
    /// Which one.
    pub backend: BackendId,
    /// Statements under way.
    pub in_flight: u32,
    /// How fast it has answered of late; none where nobody measures.
    pub latency: Option<Duration>,
}

/// How long statements have waited in the proxy and backends have taken for them, of one backend and one
/// way, by all workers since the start.
#[derive(Debug, Clone)]
pub struct TimesView {
    /// The backend's cluster.
    pub cluster: String,
    /// The backend.
    pub backend: String,
    /// `own connection` or `lane`.
    pub path: &'static str,
    /// How many statements.
    pub statements: u64,
    /// In the proxy.
    pub waited: SpreadView,
    /// At the backend.
    pub taken: SpreadView,
    /// In the proxy, step by step.
    pub waited_steps: StepsView,
    /// At the backend, step by step.
    pub taken_steps: StepsView,
    /// Bytes of the statements.
    pub bytes_sent: u64,
    /// Bytes of their replies.
    pub bytes_received: u64,
}

/// How many took how long.
#[derive(Debug, Clone)]
pub struct StepsView {
    /// So many took less than this; the durations grow.
    pub steps: Vec<(Duration, u64)>,
    /// All together.
    pub sum: Duration,
    /// How many there were.
    pub count: u64,
}

/// How long something has taken.
#[derive(Debug, Clone, Copy)]
pub struct SpreadView {
    /// On the average.
    pub average: Duration,
    /// Half of all took no longer.
    pub p50: Duration,
    /// 99 of a hundred took no longer.
    pub p99: Duration,
    /// The longest.
    pub max: Duration,
}
