//! What rules and hints want of one command while it runs: where it goes, how long it may take, what
//! is noted of it. A hint's word goes before a rule's: whose hints count, the operator has said.

use std::sync::Arc;
use std::time::Duration;

use config::{Consistency, LaneUse, ReplicaUse};
use route::rules::RuleIndex;
use route::{Backend, BackendId, ClusterId, Position};
use session::Outcome;
use tokio::time::Instant;

use crate::injecting::Injecting;
use backend::statement_limits::Inside;

/// What is wanted of one command.
#[derive(Default)]
pub struct CommandPolicy {
    /// Which role its backend has.
    pub role: Option<ReplicaUse>,
    /// In which cluster it runs.
    pub cluster: Option<ClusterId>,
    /// On which backend it runs.
    pub backend: Option<BackendId>,
    /// How far behind its replica may be.
    pub lag_max: Option<Duration>,
    /// Which writes it must see.
    pub consistency: Option<Consistency>,
    /// Whether it may use a shared lane.
    pub lanes: Option<LaneUse>,
    /// What it must see besides, by its own word.
    pub position: Option<Position>,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// How often it is sent again, if it reads.
    pub retries: Option<u32>,
    /// What is logged of it.
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
pub struct Note {
    /// The rule that has it logged.
    pub rule: Arc<str>,
    /// The rule's tag.
    pub tag: Option<Box<str>>,
    /// The digest of the statement.
    pub digest: String,
    /// When it has begun.
    pub started: Instant,
    /// Where it ran, and how it ended there.
    pub ended: Option<(Arc<Backend>, Outcome)>,
}

impl CommandPolicy {
    /// A command that a script sends somewhere, or that may run for so long only.
    #[inline]
    pub fn of_script(script: Option<Box<[u8]>>, timeout: Option<Duration>) -> Option<Box<Self>> {
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
    #[inline]
    pub fn directs(&self) -> bool {
        self.role.is_some() || self.cluster.is_some() || self.backend.is_some()
    }

    /// Whether there is nothing to be done.
    #[inline]
    pub fn is_idle(&self) -> bool {
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
    #[inline]
    pub fn ended(&mut self, backend: &Arc<Backend>, outcome: Outcome) {
        if let Some(note) = &mut self.note {
            note.ended = Some((Arc::clone(backend), outcome));
        }
    }
}

/// What a rule wants mirrored.
#[derive(Clone, Copy)]
pub struct Reflected {
    /// The cluster that gets it as well.
    pub cluster: ClusterId,
    /// The rule that says so.
    pub rule: RuleIndex,
}
