//! The parts of its worker that a session needs, whether it is relayed, pooled or runs a script.

use std::rc::Rc;
use std::sync::Arc;

use crate::worker_joins::WorkerJoins;
use backend::pool_env::PoolEnv;
use backend::settings::Settings;
use backend::times::Times;
use link::failure::FailureKind;
use login::login_env::LoginEnv;
use net::clock::Clock;
use registry::change_origins::ChangeOrigins;
use registry::idle_transactions;
use registry::session_control::{Ask, SessionControl};
use registry::session_info::SessionInfo;
use registry::worker_sessions::WorkerSessions;
use sql::Server;
use stats::journal::{AuditEvent, Entry};
use stats::recorder::{SessionOfStatement, StatementRecorder};
use wire::errors::ProxyError;

/// The environment that one worker gives to its sessions.
pub struct RelayEnv {
    /// Settings, backends, the time, reports to the control plane, and the buffer for reading.
    pub pool: Rc<PoolEnv>,
    /// The environment of logins and changes of the user.
    pub login: Rc<LoginEnv>,
    /// Seconds since the worker began.
    pub clock: Clock,
    /// The sessions of the worker.
    pub sessions: Rc<WorkerSessions>,
    /// The sessions that change objects, for the schema history.
    pub origins: Arc<ChangeOrigins>,
    /// Counts and logs statements that have ended.
    pub recorder: Rc<StatementRecorder>,
    /// The times that statements have waited, and that backends took.
    pub times: Rc<Times>,
    /// The sessions that the kernel has joined.
    pub joins: Rc<WorkerJoins>,
}

/// The context that one session has from its beginning.
#[derive(Clone, Copy)]
pub struct SessionContext<'a> {
    /// The environment that its worker gives to its sessions.
    pub env: &'a Rc<RelayEnv>,
    /// The session's cells that other parts of the proxy read, and through which they make requests.
    pub control: &'a Rc<SessionControl>,
    /// The settings at the time of its login.
    pub settings: &'a Arc<Settings>,
}

impl RelayEnv {
    /// Notes that a client has closed its side of the connection during a statement.
    #[inline]
    pub fn note_half_closed(&self, control: &SessionControl) {
        let settings = self.pool.settings.borrow();
        match settings.config.limits.timeout_half_closed.is_zero() {
            true => control.ask(Ask::ClientGone),
            false => control.client_closes(self.clock.now()),
        }
    }

    /// Writes an event to the audit log, if there is one.
    pub fn audit(&self, event: impl FnOnce() -> AuditEvent) {
        if self.pool.settings.borrow().config.audit_log.file.is_some() {
            let entry = Entry::Audit(Box::new(event()));
            self.recorder.journal.offer(entry);
        }
    }

    /// Whether the control plane can kill statements that sessions cannot kill themselves.
    pub fn has_monitor(&self) -> bool {
        let settings = self.pool.settings.borrow();
        settings.config.health.monitor_user.is_some()
    }

    /// Returns the error for the client of a session whose transaction was idle for too long.
    pub fn idle_transaction(&self, control: &SessionControl) -> ProxyError {
        let limits = &self.pool.settings.borrow().config.limits;
        idle_transactions::idle_transaction(control, limits.timeout_idle_transaction)
    }

    /// Logs and counts that a session has lost the state on its connection between two commands.
    pub fn note_cut(&self, control: &SessionControl, kind: FailureKind, cause: &str) {
        if kind == FailureKind::IdleTransaction {
            self.pool.shared.forced_ends.count_idle_transaction();
        }
        let topology = self.pool.topology.borrow();
        let backend = control.backend().and_then(|id| topology.backend(id));
        idle_transactions::log_cut(control, backend.map_or("", |it| &it.name), kind, cause);
    }
}

/// Returns how a log shows a session on a server of this kind.
pub fn session_of(info: Option<&SessionInfo>, server: Server) -> SessionOfStatement {
    SessionOfStatement {
        id: info.map_or(0, |info| info.id),
        client: info
            .map_or_else(String::new, |it| it.client.to_string())
            .into(),
        server,
    }
}
