//! What a worker tells of itself and its sessions.

use std::sync::Arc;

use wire::StatusFlags;

use super::Worker;
use registry::session_control::{Activity, SessionControl};
use registry::session_info::SessionKind;
use registry::worker_view::{LoadView, SessionState, SessionView, WorkerView};

impl Worker {
    /// Its sessions, pools and loads.
    pub(super) fn view(&self) -> WorkerView {
        let watches = self.relay.sessions.borrow();
        let sessions = watches.iter();
        let topology = Arc::clone(&self.relay.pool.topology.borrow());
        WorkerView {
            worker: self.index,
            sessions: sessions
                .filter_map(|(_, watch)| self.view_of(watch))
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

    fn view_of(&self, watch: &SessionControl) -> Option<SessionView> {
        let card = watch.card()?;
        let (activity, state_seconds) = watch.activity(self.relay.clock.now());
        let age = self.plane_context.now().since(card.began);
        let (state, state_seconds) = match (card.kind, activity) {
            (SessionKind::Login, _) => (SessionState::Login, u32::try_from(age.as_secs()).ok()?),
            (SessionKind::Joined, _) => {
                let bytes = self.relay.joins.note(card.id).unwrap_or_default();
                let age_seconds = u32::try_from(age.as_secs()).ok()?;
                (SessionState::Joined(bytes), age_seconds)
            }
            (_, Activity::Idle) => (SessionState::Idle, state_seconds),
            (_, Activity::Running) => (SessionState::Running, state_seconds),
        };
        let is_pooled = matches!(card.kind, SessionKind::Pooled(_));
        let pins = watch.pins().filter(|_| is_pooled);
        let is_running = state == SessionState::Running;
        let uses = !is_pooled || pins.is_some() || is_running;
        let thread_id = match is_pooled && uses {
            true => watch.thread(),
            false => card.thread_id,
        };
        let digest = Some(watch.digest()).filter(|digest| is_running && *digest > 0);
        let named = (!card.schema.is_empty()).then(|| card.schema.to_string());
        Some(SessionView {
            id: card.id,
            worker: self.index,
            user: card.user.into(),
            client: card.client,
            listener: card.listener.address.to_string(),
            schema: match is_pooled {
                true => watch.schema(),
                false => named,
            },
            state,
            state_seconds,
            age,
            mode: card.kind.name(),
            backend: watch.backend().filter(|_| uses),
            thread_id: Some(thread_id).filter(|id| *id > 0),
            digest,
            statement: digest.and_then(|digest| self.relay.recorder.stats.known_text(digest)),
            is_in_transaction: watch.status().contains(StatusFlags::IN_TRANS),
            pins,
        })
    }
}
