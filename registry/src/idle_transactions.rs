//! Messages about transactions that end between two commands.

use std::time::Duration;

use link::failure::FailureKind;
use wire::errors::{self, ProxyError};

use crate::session_control::SessionControl;

/// Returns the error for a client whose transaction was idle for too long. `in_general`: the limit
/// of sessions that have no limit of their own.
pub fn idle_transaction(session: &SessionControl, in_general: Duration) -> ProxyError {
    let limit = session.timeout_idle_transaction(in_general);
    errors::idle_transaction(format_args!("{limit:?}"))
}

/// Logs that a session has lost the state on its connection to `backend` between two commands.
pub fn log_cut(session: &SessionControl, backend: &str, kind: FailureKind, cause: &str) {
    let info = session.info();
    let (id, user) = info.map(|info| (info.id, info.user)).unwrap_or_default();
    tracing::info!(
        kind = kind.verdict().label,
        cause,
        id,
        user = &*user,
        backend,
        "a transaction was cut"
    );
}
