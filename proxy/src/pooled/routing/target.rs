//! Where a session's next command is to go.

use route::{Roles, Transaction, Use, Wanted, Why};
use sql::Facts;
use wire::StatusFlags;

use crate::pooled::session::Pooled;

/// What decides which backend gets a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aim {
    /// The session's own backend: a primary, where reads and writes are split.
    Home,
    /// A replica that is fit for it.
    Replica,
    /// The same, or the session's own backend where there is none.
    Optimistic,
    /// Where the session's last command ran.
    Same,
    /// Its own backend, or any other one where that cannot be had.
    Any,
    /// Where rules or hints say, on backends of these roles.
    Ordered(Roles),
}

impl Pooled {
    /// Where a statement of these facts is to go.
    pub(crate) fn aim(&self, facts: &Facts) -> Aim {
        self.routing
            .course
            .use_for
            .set(match route::needs_writable(facts) {
                true => Use::Writes,
                false => Use::Any,
            });
        if let Some(aim) = self.ordered_aim(facts) {
            return aim;
        }
        match self.wanted(facts) {
            None | Some(Wanted::Primary(_)) => Aim::Home,
            Some(Wanted::Replica(Why::BeginsOptimistic)) => Aim::Optimistic,
            Some(Wanted::Replica(_)) => Aim::Replica,
            Some(Wanted::Same(_)) => Aim::Same,
        }
    }

    /// Which role it wants, and why; none where all of the session's statements go one way.
    pub(crate) fn wanted(&self, facts: &Facts) -> Option<Wanted> {
        self.is_split()
            .then(|| match route::wanted(facts, self.transaction()) {
                Wanted::Primary(Why::BeginsWriting) if self.begins_optimistic(facts) => {
                    Wanted::Replica(Why::BeginsOptimistic)
                }
                wanted => wanted,
            })
    }

    pub(crate) fn transaction(&self) -> Transaction {
        let is_open = self.client.status.contains(StatusFlags::IN_TRANS);
        match () {
            () if is_open && self.routing.optimism.is_some() => Transaction::Optimistic,
            () if is_open && self.client.status.contains(StatusFlags::IN_TRANS_READONLY) => {
                Transaction::Reading
            }
            () if is_open => Transaction::Open,
            () if self.client.status.contains(StatusFlags::AUTOCOMMIT) => Transaction::None,
            () => Transaction::Implicit,
        }
    }
}
