//! The facts about a session for the admin interface, the log and the audit log.

use net::Endpoint;
use tracing::Level;

use crate::worker::{AcceptedClient, Worker};
use link::failure::Failure;
use link::session_end::SessionEnd;
use login::relayed_login::ClientLogin;
use registry::session_control::SessionControl;
use registry::session_info::SessionKind;
use registry::worker_sessions::Registered;
use stats::journal::AuditEvent;

/// The facts about a session for the log.
pub(super) struct Facts {
    pub(super) client: Endpoint,
    pub(super) client_login: ClientLogin,
    pub(super) backend: Option<String>,
    pub(super) thread_id: u32,
    /// Whether the session has logged in.
    pub(super) is_in: bool,
}

impl Facts {
    pub(super) fn of(newcomer: &AcceptedClient) -> Self {
        Self {
            client: newcomer.remote.clone(),
            client_login: ClientLogin::default(),
            backend: None,
            thread_id: 0,
            is_in: false,
        }
    }

    /// Writes an event to the audit log, if there is one.
    pub(super) fn audit(
        &self,
        worker: &Worker,
        registered: &Registered,
        event: &'static str,
        detail: impl FnOnce() -> String,
    ) {
        worker.relay.audit(|| AuditEvent {
            at: worker.relay.pool.system.clock.wall(),
            event,
            port: "clients",
            session: registered.control.info().map_or(0, |info| info.id),
            user: self.client_login.user.clone(),
            client: self.client.to_string(),
            schema: self.client_login.schema.clone(),
            detail: detail(),
        });
    }

    pub(super) fn audit_end(
        &self,
        worker: &Worker,
        registered: &Registered,
        ended: &Result<SessionEnd, Failure>,
    ) {
        let event = match self.is_in {
            true => "disconnect",
            false => "login_failed",
        };
        self.audit(worker, registered, event, || match ended {
            Ok(end) => format!("{end}"),
            Err(failure) => format!("{}: {}", failure.kind.verdict().label, failure.cause),
        });
    }

    /// Publishes that the session has logged in, and its id if the proxy has given it.
    pub(super) fn publish(&self, control: &SessionControl, way: SessionKind, id: Option<u32>) {
        control.change_info(|info| {
            info.id = id.unwrap_or(info.id);
            info.user = self.client_login.user.as_str().into();
            info.schema = self.client_login.schema.as_str().into();
            info.thread_id = self.thread_id;
            info.kind = way;
            info.timeout_idle_transaction = self.client_login.timeout_idle_transaction;
        });
    }

    /// Logs one line for a session that failed.
    pub(super) fn log(&self, failure: &Failure) {
        let verdict = failure.kind.verdict();
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    side = %verdict.side,
                    kind = verdict.label,
                    cause = failure.cause,
                    client = %self.client,
                    user = self.client_login.user,
                    schema = self.client_login.schema,
                    backend = self.backend.as_deref().unwrap_or_default(),
                    thread_id = self.thread_id,
                    "session ended badly"
                )
            };
        }
        match verdict.level {
            Level::ERROR => line!(error),
            Level::WARN => line!(warn),
            _ => line!(info),
        }
    }
}
