//! The answer of a worker that is asked about its state: values, made for the caller and sent to it.

use std::sync::Arc;
use std::time::Duration;

use pool::{AccountUse, Figures};
use route::BackendId;
use session::state::Pins;

/// The state of one worker at one moment.
#[derive(Debug, Clone, Default)]
pub struct WorkerView {
    /// The number of the worker, from 0.
    pub worker: usize,
    /// Its sessions, including those in login.
    pub sessions: Vec<SessionView>,
    /// Its pools of backend connections.
    pub pools: Vec<PoolView>,
    /// Its running statements, by backend.
    pub loads: Vec<LoadView>,
    /// The number of digests of reads that a replica has refused because they write.
    pub refused_reads: usize,
}

/// The state of one session.
#[derive(Debug, Clone)]
pub struct SessionView {
    /// The session's id in the proxy.
    pub id: u32,
    /// The worker that the session runs on.
    pub worker: usize,
    /// The session's user; empty before its login.
    pub user: String,
    /// The client's address.
    pub client: net::Endpoint,
    /// The listener's address.
    pub listener: String,
    /// The default schema: the current one if the proxy follows it, otherwise the one named at login.
    pub schema: Option<String>,
    /// The session's current activity.
    pub state: SessionState,
    /// For how long the session has been doing that, in whole seconds.
    pub state_seconds: u32,
    /// The time since the session began.
    pub age: Duration,
    /// How long the session keeps a backend connection: a pooling mode, `transparent`, `kernel` or `script`.
    pub mode: &'static str,
    /// The backend that the session uses, or whose connection it keeps.
    pub backend: Option<BackendId>,
    /// The id there of the connection that the session uses or keeps, unless other sessions share it.
    pub thread_id: Option<u32>,
    /// The digest of the running statement, if digests are kept.
    pub digest: Option<u64>,
    /// The normalised text of the running statement, if digests are kept.
    pub statement: Option<Arc<str>>,
    /// Whether a transaction is open, as of the last reply.
    pub is_in_transaction: bool,
    /// Why a pooled session keeps its connection; `None`: it keeps none.
    pub pins: Option<Pins>,
}

/// The current activity of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// It is logging in.
    Login,
    /// It waits for the client's next command.
    Idle,
    /// It executes a command.
    Running,
    /// The kernel passes its bytes on, and the proxy does not see whether a statement runs. The
    /// numbers are the bytes from the client and from the backend.
    Joined([u64; 2]),
}

impl SessionState {
    /// The name that the admin interface shows.
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
    /// The backend.
    pub backend: BackendId,
    /// The backend's name, which stays here after the backend was removed from the configuration.
    pub name: String,
    /// The account whose sessions share the connections.
    pub account: String,
    /// The user that the connections are logged in as.
    pub user: String,
    /// The number of connections, and the counts of their events.
    pub figures: Figures,
    /// How the account's sessions use the connections.
    pub uses: AccountUse,
    /// Whether the account gets no more connections than its share.
    pub is_bounded: bool,
}

/// The running statements of one backend.
#[derive(Debug, Clone, Copy)]
pub struct LoadView {
    /// The backend.
    pub backend: BackendId,
    /// The number of running statements.
    pub in_flight: u32,
    /// How fast the backend has answered recently; `None` if that is not measured.
    pub latency: Option<Duration>,
}

/// How long statements have waited in the proxy, and how long backends took for them, for one
/// backend and one path, by all workers since the start.
#[derive(Debug, Clone)]
pub struct TimesView {
    /// The backend's cluster.
    pub cluster: String,
    /// The backend.
    pub backend: String,
    /// The path: `own connection` or `lane`.
    pub path: &'static str,
    /// The number of statements.
    pub statements: u64,
    /// Their time in the proxy.
    pub waited: SpreadView,
    /// Their time at the backend.
    pub taken: SpreadView,
    /// Their time in the proxy, as a histogram.
    pub waited_steps: StepsView,
    /// Their time at the backend, as a histogram.
    pub taken_steps: StepsView,
    /// Bytes of the statements.
    pub bytes_sent: u64,
    /// Bytes of their replies.
    pub bytes_received: u64,
}

/// A histogram of durations.
#[derive(Debug, Clone)]
pub struct StepsView {
    /// For each step, how many took less than its duration; the durations grow.
    pub steps: Vec<(Duration, u64)>,
    /// The sum of all durations.
    pub sum: Duration,
    /// The number of durations.
    pub count: u64,
}

/// A summary of durations.
#[derive(Debug, Clone, Copy)]
pub struct SpreadView {
    /// The average.
    pub average: Duration,
    /// The median: half of all took no longer.
    pub p50: Duration,
    /// The 99th percentile: 99 of a hundred took no longer.
    pub p99: Duration,
    /// The longest.
    pub max: Duration,
}
