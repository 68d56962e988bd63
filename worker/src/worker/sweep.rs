//! Asks sessions to end that have been idle or have waited for too long, or whose backend is disabled.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use route::{Backend, BackendId, Duty, Health, Moment, Topology};
use tokio::time::{MissedTickBehavior, interval};

use super::Worker;
use registry::session_control::Ask;
use registry::session_info::SessionKind;

impl Worker {
    /// Has all users leave the disabled backends: sessions, lanes, and connections that scripts have parked.
    pub(crate) fn clear_disabled(&self) {
        let topology = Arc::clone(&self.relay.pool.topology.borrow());
        let backends = topology.backends.iter();
        let disabled: Vec<_> = backends
            .filter(|backend| backend.duty == Duty::Disabled)
            .map(|backend| backend.id)
            .collect();
        if disabled.is_empty() {
            return;
        }
        for (_, control) in self.relay.sessions.borrow().iter() {
            if control.backend().is_some_and(|it| disabled.contains(&it)) {
                control.ask(Ask::BackendDisabled);
            }
        }
        self.engine.lanes.clear(&disabled);
        if let Some(host) = &self.engine.script {
            for id in host.parked.close_to(&disabled) {
                host.scripts.unpark(id);
            }
        }
    }

    /// Has binlog readers leave the backends whose roles differ from `before`; returns the current topology.
    pub(crate) fn note_roles(&self, before: &Arc<Topology>) -> Arc<Topology> {
        let topology = Arc::clone(&self.relay.pool.topology.borrow());
        let role = |topology: &Topology, id| topology.backend(id).and_then(|it| it.role);
        let backends = topology.backends.iter().map(|it| it.id);
        let changed = backends.filter(|it| role(&topology, *it) != role(before, *it));
        let changed: Vec<_> = changed.collect();
        if !changed.is_empty() {
            for (_, control) in self.relay.sessions.borrow().iter() {
                let is_there = control.backend().is_some_and(|it| changed.contains(&it));
                let is_relayed = || {
                    control
                        .info()
                        .is_some_and(|it| it.kind == SessionKind::Relayed)
                };
                if is_there && is_relayed() {
                    control.ask(Ask::RoleChanged);
                }
            }
        }
        topology
    }

    /// Once a second, asks sessions to end that have been idle or have waited for too long.
    pub(super) async fn sweep(self: Rc<Self>) {
        let mut ticks = interval(Duration::from_secs(1));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            ticks.tick().await;
            let config = Arc::clone(&self.plane_context.settings.borrow().config);
            let limits = &config.limits;
            self.end_idle(limits.timeout_idle, limits.timeout_idle_transaction);
            self.end_half_closed(config.limits.timeout_half_closed);
            self.end_waiting(config.health.timeout_down);
            self.share_connections();
            self.relay.sessions.keep_memory_bounded();
            // Sessions that were about to use a backend when it was disabled have arrived there by now.
            self.clear_disabled();
        }
    }

    /// Ends sessions that were idle for longer than `limit`, unless that is zero, or for longer than their own
    /// `wait_timeout`. The clock counts whole seconds: more than the limit by this clock is never less than the
    /// limit. `idle_transaction` is the limit of open transactions, unless a session has a limit of its own.
    fn end_idle(&self, limit: Duration, idle_transaction: Duration) {
        let second = self.relay.clock.now();
        for (_, control) in self.relay.sessions.borrow().iter() {
            let idle = Duration::from_secs(u64::from(control.idle_seconds(second)));
            if !limit.is_zero() && idle > limit {
                control.ask(Ask::IdleTimeout);
            }
            if control.has_idle_transaction(second, idle_transaction) {
                control.ask(Ask::IdleTransaction);
            }
            if control.has_waited_too_long(second) {
                control.ask(Ask::WaitTimeout);
            }
        }
    }

    /// Ends sessions whose clients have closed their side, and in which no byte has moved for `limit`.
    fn end_half_closed(&self, limit: Duration) {
        let second = self.relay.clock.now();
        for (_, control) in self.relay.sessions.borrow().iter() {
            let waited = control.half_closed_seconds(second);
            if waited.is_some_and(|waited| Duration::from_secs(u64::from(waited)) > limit) {
                control.ask(Ask::ClientGone);
            }
        }
    }

    /// Ends sessions in whose exchange no byte has moved for `limit`, on backends that have been down for as long.
    /// Probes decide which backends are down; a slow statement alone never counts. If a session has been idle on
    /// such a backend since before, its command does not wait so long, because the connection may no longer work.
    fn end_waiting(&self, limit: Duration) {
        let now = self.plane_context.now();
        let topology = Arc::clone(&self.plane_context.topology.borrow());
        let gone: Vec<(BackendId, Duration)> = topology
            .backends
            .iter()
            .filter_map(|backend| Some((backend.id, down_for(backend, now, limit)?)))
            .collect();
        if gone.is_empty() {
            return;
        }
        let second = self.relay.clock.now();
        let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
        for (_, control) in self.relay.sessions.borrow().iter() {
            let Some((backend, waited)) = control.waits_for(second) else {
                continue;
            };
            let Some((_, down_for)) = gone.iter().find(|(id, _)| *id == backend) else {
                continue;
            };
            let is_unheard = control
                .unheard_seconds(second)
                .is_some_and(|unheard| seconds(unheard) > *down_for);
            if seconds(waited) > limit || is_unheard {
                control.ask(Ask::BackendDown);
            }
        }
    }
}

/// Returns for how long a backend has been down, if that is `limit` or longer; a zero `limit` means none.
fn down_for(backend: &Backend, now: Moment, limit: Duration) -> Option<Duration> {
    match backend.health {
        Health::Down { since, .. } if !limit.is_zero() => {
            Some(now.since(since)).filter(|down_for| *down_for >= limit)
        }
        Health::Down { .. } | Health::Up { .. } | Health::Unknown => None,
    }
}
