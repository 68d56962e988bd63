//! What a rule does about the statements that match it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use config::{Cell, Consistency, LaneUse, LimitBy, OnLimit, PinRule, ReplicaUse, SessionMode};
use wire::errors::ProxyError;

use super::injection::Injection;
use super::rewrite::Rewrite;

/// All that a rule does; what is not set it leaves open.
#[derive(Clone, Debug, Default)]
pub struct Actions {
    /// Where the statement goes.
    pub route: RuleRoute,
    /// Another statement in its place.
    pub(crate) rewrite: Option<Rewrite>,
    /// What the client gets, without any backend.
    pub reply: Option<Reply<'static>>,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// How long it waits before it is sent.
    pub delay: Option<Duration>,
    /// How many may come in a second, and how many at once.
    pub limit: Option<Limit>,
    /// Another cluster to which it is sent.
    pub mirror: Option<String>,
    /// What is sent before it and behind it.
    pub injection: Option<Arc<Injection>>,
    /// Whether it is profiled.
    pub profile: bool,
    /// How often it is sent again when it only reads and the backend fails under it.
    pub retry: Option<u16>,
    /// Whether it is logged.
    pub log: bool,
    /// The tag that it bears in logs and statistics.
    pub set_tag: Option<String>,
    /// For how long the session keeps its connection from now on, at least.
    pub session: Option<SessionMode>,
    /// What pins the session from now on.
    pub pin: Vec<PinRule>,
}

/// Where a rule sends a statement, and over which connection.
#[derive(Clone, Debug, Default)]
pub struct RuleRoute {
    /// The cluster to which the statement goes.
    pub cluster: Option<String>,
    /// The roles of backends that may be used.
    pub role: Option<ReplicaUse>,
    /// The backend.
    pub backend: Option<String>,
    /// Whether it may use a shared lane.
    pub lanes: Option<LaneUse>,
    /// What a read has to see.
    pub consistency: Option<Consistency>,
}

/// What the client gets when no backend is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply<'r> {
    /// OK, no row changed.
    Ok,
    /// A result of texts.
    Rows {
        /// The columns' names.
        columns: Cow<'r, [String]>,
        /// As many cells in each row as there are columns.
        rows: Cow<'r, [Vec<Cell>]>,
    },
    /// An error.
    Error {
        /// Its number.
        code: u16,
        /// Its SQLSTATE.
        sqlstate: [u8; 5],
        /// Its text.
        message: Cow<'r, str>,
    },
}

impl Reply<'_> {
    /// An error of the proxy's own.
    pub(crate) fn of(error: ProxyError) -> Reply<'static> {
        Reply::Error {
            code: error.code.number,
            sqlstate: error.code.sqlstate,
            message: error.text,
        }
    }

    /// The same, without memory of its own.
    pub(crate) fn borrowed(&self) -> Reply<'_> {
        match self {
            Self::Ok => Reply::Ok,
            Self::Rows { columns, rows } => Reply::Rows {
                columns: Cow::Borrowed(columns),
                rows: Cow::Borrowed(rows),
            },
            Self::Error {
                code,
                sqlstate,
                message,
            } => Reply::Error {
                code: *code,
                sqlstate: *sqlstate,
                message: Cow::Borrowed(message),
            },
        }
    }
}

/// How many statements may come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// In a second.
    pub rate: Option<f64>,
    /// At once after a quiet time, at least 1.
    pub burst: u32,
    /// At the same time.
    pub concurrency: Option<u32>,
    /// What is counted together.
    pub by: LimitBy,
    /// What becomes of one too many.
    pub on_limit: OnLimit,
    /// How long it waits at most.
    pub timeout: Duration,
}
