//! Kills that reach a worker, and the sessions that they concern.

use route::{BackendId, KillReason, KillScope, Report};

use super::Worker;
use registry::session_control::Ask;
use registry::session_info::SessionKind;
use registry::session_registry::{Kill, Killed};

impl Worker {
    /// Tells a session that it, or its statement, should be killed.
    pub(super) fn kill(&self, kill: Kill) {
        if let Some(backend) = kill.at {
            return self.end_hook_at(backend, kill.id);
        }
        if let Some(control) = self.session_registry.borrow().get(&kill.id) {
            match kill.scope {
                KillScope::Statement => control.kill_statement(kill.requested_at),
                KillScope::Connection => control.ask(Ask::KillSession),
            }
        }
    }

    /// Ends the hook that waits in the session with this connection, because a backend has killed the statement there.
    fn end_hook_at(&self, backend: BackendId, thread_id: u32) {
        for (_, control) in self.relay.sessions.borrow().iter() {
            if control.has_waiting_hook_at(backend, thread_id) {
                control.ask(Ask::EndHook);
            }
        }
    }

    /// Kills for an administrator, who sees all sessions, also those that no client can kill.
    /// `None`: the session is not on this worker.
    pub(super) fn kill_by_info(&self, kill: Kill) -> Option<Killed> {
        let watches = self.relay.sessions.borrow();
        let mut found = watches.iter().filter_map(|(_, control)| {
            let info = control.info().filter(|info| info.id == kill.id)?;
            Some((control, info))
        });
        let (control, info) = found.next()?;
        match (kill.scope, info.kind, control.backend()) {
            (KillScope::Statement, SessionKind::Relayed | SessionKind::Joined, Some(backend)) => {
                if !self.relay.has_monitor() {
                    let why = "KILL QUERY of a session that is not pooled needs health.monitor_user; \
                               KILL without QUERY ends the session";
                    return Some(Killed::Impossible(why));
                }
                self.plane_context.report(Report::KillStatement {
                    backend,
                    thread_id: info.thread_id,
                    why: KillReason::Asked,
                });
            }
            (KillScope::Statement, SessionKind::Scripted, _)
                if !control.has_waiting_hook() && !self.relay.has_monitor() =>
            {
                let why = "KILL QUERY of a session that runs a script and is not pooled needs \
                           health.monitor_user unless a hook waits; KILL without QUERY ends the session";
                return Some(Killed::Impossible(why));
            }
            (KillScope::Statement, _, _) => control.kill_statement(kill.requested_at),
            (KillScope::Connection, _, _) => control.ask(Ask::KillSession),
        }
        Some(Killed::Told)
    }
}
