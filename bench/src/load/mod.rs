//! The load generator: sessions in a closed loop on one thread, every reply checked against what was
//! asked, latencies in a histogram, processor time and memory of the processes under test sampled at
//! the edges of the measured window.

mod beside;
pub mod reply;
mod session;
mod stream;
mod window;
mod workload;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_rustls::TlsConnector;

use crate::accounting::{Usage, Watched};
use crate::protocol::{EofStyle, capability};
pub use beside::VIEW;
use reply::Reply;
pub use session::Session;
pub use stream::connector;
pub use workload::Workload;

/// The address and the account of the sessions. The account has no password.
#[derive(Clone)]
pub struct Target {
    pub address: SocketAddr,
    pub user: String,
    /// Empty: none.
    pub password: String,
    pub schema: String,
    /// How result sets shall end when the server leaves the choice.
    pub eof: EofStyle,
    /// Rows of `sbtest1`, with ids from 1 on.
    pub table_rows: u64,
    /// The TLS settings of sessions. `None`: sessions use no TLS.
    pub tls: Option<TlsConnector>,
}

impl Target {
    fn eof_capability(&self) -> u32 {
        match self.eof {
            EofStyle::Classic => 0,
            EofStyle::Deprecated => capability::DEPRECATE_EOF,
        }
    }
}

/// One run of the generator.
#[derive(Clone)]
pub struct Run {
    pub target: Target,
    pub workload: Workload,
    pub connections: usize,
    pub warm_up: Duration,
    pub window: Duration,
    pub watched: Vec<Watched>,
}

/// The results of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Findings {
    /// Length of the measured window in seconds.
    pub seconds: f64,
    /// Replies in the window; for `idle`, sessions opened.
    pub exchanges: u64,
    /// Replies since the start, for tools that count system calls.
    pub exchanges_in_all: u64,
    pub per_second: f64,
    pub latency_us: Latency,
    pub errors: Errors,
    /// The results of the slow sessions, if the load has any.
    #[serde(default)]
    pub beside: Option<Beside>,
    /// Use of each watched process, by its name.
    pub usage: Vec<Usage>,
    /// Share of the machine's processor time that went to processes other than the watched ones and
    /// the generator: the noise of this run, 0 to 1.
    pub foreign_cpu: f64,
    /// Processor time of the whole machine for one exchange in microseconds, threads of the kernel included.
    #[serde(default)]
    pub machine_us: Option<f64>,
}

impl Findings {
    /// Returns the use of the watched process with this name.
    pub fn used_by(&self, name: &str) -> Option<&Usage> {
        self.usage.iter().find(|usage| usage.name == name)
    }
}

/// Microseconds from sending a command to the last byte of its reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
    #[serde(default)]
    pub mean: f64,
}

/// The results of slow sessions in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// Reads that take their time.
    pub reads: u64,
    /// Bytes of large results.
    pub bytes: u64,
}

/// Exchanges that did not end with the right reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// Replies that do not match the statement.
    pub wrong: u64,
    /// ERR packets and broken connections.
    pub failed: u64,
    /// Sessions still waiting for a reply when patience ended.
    pub unanswered: u64,
    /// Transactions that the server broke off because of one another, and that were started again: the
    /// load's own doing, not counted as errors.
    #[serde(default)]
    pub deadlocks: u64,
    /// The first error in words.
    pub first: Option<String>,
}

impl Errors {
    pub fn count(&self) -> u64 {
        self.wrong + self.failed + self.unanswered
    }

    /// Adds another run's errors.
    pub fn add(&mut self, other: &Self) {
        self.wrong += other.wrong;
        self.failed += other.failed;
        self.unanswered += other.unanswered;
        self.deadlocks += other.deadlocks;
        if self.first.is_none() {
            self.first.clone_from(&other.first);
        }
    }

    /// Counts sessions that never got their reply.
    pub fn give_up(&mut self, sessions: u64) {
        self.unanswered += sessions;
        self.first
            .get_or_insert_with(|| "no reply within the patience".to_owned());
    }

    /// Counts an exchange that failed.
    pub fn note(&mut self, failure: &Failure) {
        match failure {
            Failure::Wrong { .. } => self.wrong += 1,
            _ => self.failed += 1,
        }
        self.first.get_or_insert_with(|| failure.to_string());
    }
}

/// Why an exchange did not end with the right reply.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("connection broke: {0}")]
    Broken(#[from] io::Error),
    #[error("connection closed in the middle of an exchange")]
    Closed,
    #[error("error {code}: {text}")]
    Answered { code: u16, text: String },
    #[error("not a reply: {0}")]
    Malformed(&'static str),
    #[error("got {reply:?} in place of {expected:?}")]
    Wrong { reply: Reply, expected: Reply },
}

impl Failure {
    /// The failure that an ERR packet reports.
    fn answered(payload: &[u8]) -> Self {
        let code = payload
            .get(1..3)
            .map_or(0, |code| u16::from_le_bytes([code[0], code[1]]));
        let text = String::from_utf8_lossy(payload.get(3..).unwrap_or_default()).into_owned();
        Self::Answered { code, text }
    }
}

/// Runs one statement without a result on a server.
///
/// # Errors
/// When it cannot be asked, or does not do it.
pub async fn statement(target: &Target, text: &str) -> Result<(), Failure> {
    let mut session = session::Session::open(target).await?;
    session.query(text, Reply::default()).await?;
    session.close().await
}

/// Runs the generator to its end.
///
/// # Errors
/// When the processes under test cannot be sampled. What goes wrong in exchanges is counted instead.
pub async fn run(run: Run) -> io::Result<Findings> {
    match run.workload {
        Workload::Idle => window::hold(run).await,
        _ => window::drive(run).await,
    }
}
