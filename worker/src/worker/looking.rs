//! The reports of a worker about itself and its sessions.

use std::sync::Arc;

use wire::StatusFlags;

use super::Worker;
use registry::session_control::{Activity, SessionControl};
use registry::session_info::SessionKind;
use registry::worker_view::{LoadView, SessionState, SessionView, WorkerView};

impl Worker {
    /// Returns the worker's sessions, pools and loads.
    pub(super) fn view(&self) -> WorkerView {
        let watches = self.relay.sessions.borrow();
        let sessions = watches.iter();
        let topology = Arc::clone(&self.relay.pool.topology.borrow());
        WorkerView {
            worker: self.index,
            sessions: sessions
                .filter_map(|(_, control)| self.view_of(control))
                .collect(),
            refused_reads: self.engine.refused.len(),
            pools: self.engine.pool.views(&self.uses()),
            loads: topology
                .backends
                .iter()
                .map(|backend| LoadView {
                    backend: backend.id,
                    in_flight: self.engine.loads.in_flight(backend.id),
                    latency: self.engine.loads.latency(backend.id),
                })
                .collect(),
        }
    }

    fn view_of(&self, control: &SessionControl) -> Option<SessionView> {
        let info = control.info()?;
        let (activity, state_seconds) = control.activity(self.relay.clock.now());
        let age = self.plane_context.now().since(info.began);
        let (state, state_seconds) = match (info.kind, activity) {
            (SessionKind::Login, _) => (SessionState::Login, u32::try_from(age.as_secs()).ok()?),
            (SessionKind::Joined, _) => {
                let bytes = self.relay.joins.note(info.id).unwrap_or_default();
                let age_seconds = u32::try_from(age.as_secs()).ok()?;
                (SessionState::Joined(bytes), age_seconds)
            }
            (_, Activity::Idle) => (SessionState::Idle, state_seconds),
            (_, Activity::Running) => (SessionState::Running, state_seconds),
        };
        let is_pooled = matches!(info.kind, SessionKind::Pooled(_));
        let pins = control.pins().filter(|_| is_pooled);
        let is_running = state == SessionState::Running;
        let uses = !is_pooled || pins.is_some() || is_running;
        let thread_id = match is_pooled && uses {
            true => control.thread(),
            false => info.thread_id,
        };
        let digest = Some(control.digest()).filter(|digest| is_running && *digest > 0);
        let named = (!info.schema.is_empty()).then(|| info.schema.to_string());
        Some(SessionView {
            id: info.id,
            worker: self.index,
            user: info.user.into(),
            client: info.client,
            listener: info.listener.address.to_string(),
            schema: match is_pooled {
                true => control.schema(),
                false => named,
            },
            state,
            state_seconds,
            age,
            mode: info.kind.name(),
            backend: control.backend().filter(|_| uses),
            thread_id: Some(thread_id).filter(|id| *id > 0),
            digest,
            statement: digest.and_then(|digest| self.relay.recorder.stats.known_text(digest)),
            is_in_transaction: control.status().contains(StatusFlags::IN_TRANS),
            pins,
        })
    }
}
