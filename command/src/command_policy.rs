//! The decisions of rules and hints about one command: where it goes, how long it may take, and what is logged. A
//! hint goes before a rule, because the operator has chosen whose hints count.

use std::sync::Arc;
use std::time::Duration;

use config::{Consistency, LaneUse, ReplicaUse};
use route::rules::RuleIndex;
use route::{Backend, BackendId, ClusterId, Position};
use session::Outcome;
use tokio::time::Instant;

use crate::injecting::Injecting;
use backend::statement_limits::Inside;

/// The policy of one command.
#[derive(Default)]
pub struct CommandPolicy {
    /// Which role its backend has.
    pub role: Option<ReplicaUse>,
    /// In which cluster it runs.
    pub cluster: Option<ClusterId>,
    /// On which backend it runs.
    pub backend: Option<BackendId>,
    /// How far behind the primary its replica may be.
    pub lag_max: Option<Duration>,
    /// Which writes it must see.
    pub consistency: Option<Consistency>,
    /// Whether it may use a shared lane.
    pub lanes: Option<LaneUse>,
    /// A further position that the command must see, which a hint names.
    pub position: Option<Position>,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// The number of times that the command is sent again, if it reads.
    pub retries: Option<u32>,
    /// The log entry about the command.
    pub note: Option<Note>,
    /// The statements that are sent before and after it.
    pub injecting: Option<Box<Injecting>>,
    /// The cluster that gets a copy of it.
    pub mirror: Option<Reflected>,
    /// Its place among the statements that a limit lets through.
    pub inside: Option<Inside>,
    /// A name in a rule or hint that does not exist.
    pub unknown: Option<String>,
    /// The route that its script gives, in the form of a hint that is not read yet.
    pub script: Option<Box<[u8]>>,
}

/// The log entry about a command when it is over.
pub struct Note {
    /// The rule that has it logged.
    pub rule: Arc<str>,
    /// The rule's tag.
    pub tag: Option<Box<str>>,
    /// The digest of the statement.
    pub digest: String,
    /// When the command began.
    pub started: Instant,
    /// The backend where it ran, and its outcome there.
    pub ended: Option<(Arc<Backend>, Outcome)>,
}

impl CommandPolicy {
    /// The policy of a command that a script routes, or whose time a script limits.
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

    /// Whether the policy says where the command goes.
    #[inline]
    pub fn directs(&self) -> bool {
        self.role.is_some() || self.cluster.is_some() || self.backend.is_some()
    }

    /// Whether the policy wants nothing.
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

    /// Notes how the command ended.
    #[inline]
    pub fn ended(&mut self, backend: &Arc<Backend>, outcome: Outcome) {
        if let Some(note) = &mut self.note {
            note.ended = Some((Arc::clone(backend), outcome));
        }
    }
}

/// The copy of a statement that a rule wants.
#[derive(Clone, Copy)]
pub struct Reflected {
    /// The cluster that gets the copy.
    pub cluster: ClusterId,
    /// The rule that wants it.
    pub rule: RuleIndex,
}
