//! The actions of a rule for the statements that match it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use config::{Cell, Consistency, LaneUse, LimitBy, OnLimit, PinRule, ReplicaUse, SessionMode};
use wire::errors::ProxyError;

use super::injection::Injection;
use super::rewrite::Rewrite;

/// All actions of a rule. An action that is not set is left to later rules.
#[derive(Clone, Debug, Default)]
pub struct Actions {
    /// Where the statement goes.
    pub route: RuleRoute,
    /// How the statement is replaced by another one.
    pub(crate) rewrite: Option<Rewrite>,
    /// The reply to the client; no backend is asked.
    pub reply: Option<Reply<'static>>,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// How long it waits before it is sent.
    pub delay: Option<Duration>,
    /// The limit of statements per second, and of concurrent statements.
    pub limit: Option<Limit>,
    /// Another cluster to which a copy of it is sent.
    pub mirror: Option<String>,
    /// Statements that are sent before and after it.
    pub injection: Option<Arc<Injection>>,
    /// Whether it is profiled.
    pub profile: bool,
    /// How often it is sent again if it only reads and the backend fails.
    pub retry: Option<u16>,
    /// Whether it is logged.
    pub log: bool,
    /// Its tag in logs and statistics.
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
    /// Which earlier writes a read has to see.
    pub consistency: Option<Consistency>,
}

/// The reply to the client if no backend is asked.
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

    /// Returns the same reply, with borrowed texts.
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

/// The limits of statements per second, and of concurrent statements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The most statements per second.
    pub rate: Option<f64>,
    /// The most statements at once after a quiet time, at least 1.
    pub burst: u32,
    /// The most concurrent statements.
    pub concurrency: Option<u32>,
    /// What is counted together.
    pub by: LimitBy,
    /// Whether a statement beyond the limit waits or is refused.
    pub on_limit: OnLimit,
    /// The longest wait of such a statement.
    pub timeout: Duration,
}
