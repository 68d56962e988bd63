//! What rules and hints want of one command while it runs: where it goes, how long it may take, what
//! is noted of it. A hint's word goes before a rule's: whose hints count, the operator has said.

use std::sync::Arc;
use std::time::Duration;

use config::{Consistency, LaneUse, ReplicaUse};
use route::rules::RuleIndex;
use route::{Backend, BackendId, ClusterId, Position};
use session::Outcome;
use tokio::time::Instant;

use crate::pooled::injection::injecting::Injecting;
use backend::statement_limits::Inside;

/// What is wanted of one command.
#[derive(Default)]
pub(crate) struct CommandPolicy {
    pub role: Option<ReplicaUse>,
    pub cluster: Option<ClusterId>,
    pub backend: Option<BackendId>,
    pub lag_max: Option<Duration>,
    pub consistency: Option<Consistency>,
    /// Whether it may ride a shared lane.
    pub lanes: Option<LaneUse>,
    /// What it must see besides, by its own word.
    pub position: Option<Position>,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// How often it is sent again, if it reads.
    pub retries: Option<u32>,
    pub note: Option<Note>,
    /// What is sent before it and behind it.
    pub injecting: Option<Box<Injecting>>,
    /// Where it goes as well.
    pub mirror: Option<Reflected>,
    /// Its place among those that a limit lets through.
    pub inside: Option<Inside>,
    /// Names that are nobody's.
    pub unknown: Option<String>,
    /// What its script says of where it goes, as a hint; nobody has looked at it yet.
    pub script: Option<Box<[u8]>>,
}

/// What is logged of a command when it is over.
pub(crate) struct Note {
    pub rule: Arc<str>,
    pub tag: Option<Box<str>>,
    pub digest: String,
    pub begun: Instant,
    /// Where it ran, and how it ended there.
    pub ended: Option<(Arc<Backend>, Outcome)>,
}

impl CommandPolicy {
    /// A command that a script sends somewhere, or that may run for so long only.
    pub(crate) fn of_script(
        script: Option<Box<[u8]>>,
        timeout: Option<Duration>,
    ) -> Option<Box<Self>> {
        let has_any = script.is_some() || timeout.is_some();
        has_any.then(|| {
            Box::new(Self {
                script,
                timeout,
                ..Self::default()
            })
        })
    }

    /// Whether it says where the command goes.
    pub(crate) fn directs(&self) -> bool {
        self.role.is_some() || self.cluster.is_some() || self.backend.is_some()
    }

    /// Whether there is nothing to be done.
    pub(crate) fn is_idle(&self) -> bool {
        !self.directs()
            && self.lag_max.is_none()
            && self.consistency.is_none()
            && self.lanes.is_none()
            && self.position.is_none()
            && self.timeout.is_none()
            && self.retries.is_none()
            && self.note.is_none()
            && self.injecting.is_none()
            && self.mirror.is_none()
            && self.inside.is_none()
    }

    /// How the command ended.
    pub(crate) fn ended(&mut self, backend: &Arc<Backend>, outcome: Outcome) {
        if let Some(note) = &mut self.note {
            note.ended = Some((Arc::clone(backend), outcome));
        }
    }
}

/// What a rule wants mirrored.
#[derive(Clone, Copy)]
pub(crate) struct Reflected {
    pub cluster: ClusterId,
    pub rule: RuleIndex,
}
