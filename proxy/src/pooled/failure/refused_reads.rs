//! Reads that a replica has refused because it takes no writes (error 1290 or 1836): the statement calls
//! something that writes. The client does not hear of the refusal: the replica's connection is reset, because the
//! statement may have set or locked something there, and the statement runs on the primary. The session's state is
//! not touched by the refused try, because only a statement that has ended is observed.
//!
//! The digest is remembered, so that the next statement with that digest goes to the primary at once.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::time::Duration;

use lru::LruCache;
use pool::CloseReason;
use route::{ClusterId, Moment, Role, Transaction};
use session::Withholds;
use session::state::Pin;
use sql::{Access, Facts, Marks};

use super::retry::Repeat;
use crate::pooled::command::statement::Statement;
use crate::pooled::exchange::Part;
use crate::pooled::exchange::delivery::Delivery;
use crate::pooled::routing::target::Aim;
use crate::pooled::session::{After, CutOff, PooledSession};

/// Digests that a worker remembers; beyond, those not met for longest are forgotten.
const DIGESTS_MAX: NonZeroUsize = NonZeroUsize::new(4096).expect("it is not zero");

/// What was refused once may only read by now: after this time it is tried again.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);

/// One worker's memory of refused reads.
pub(crate) struct RefusedReads {
    digests: RefCell<LruCache<(ClusterId, u64), Moment>>,
}

impl Default for RefusedReads {
    fn default() -> Self {
        Self {
            digests: RefCell::new(LruCache::new(DIGESTS_MAX)),
        }
    }
}

impl RefusedReads {
    /// Whether there are none, which is the usual case.
    fn is_empty(&self) -> bool {
        self.digests.borrow().is_empty()
    }

    /// How many are remembered.
    pub(crate) fn len(&self) -> usize {
        self.digests.borrow().len()
    }

    fn remember(&self, cluster: ClusterId, digest: u64, now: Moment) {
        self.digests.borrow_mut().put((cluster, digest), now);
    }

    fn has(&self, cluster: ClusterId, digest: u64, now: Moment) -> bool {
        let key = (cluster, digest);
        let mut digests = self.digests.borrow_mut();
        match digests.get(&key) {
            Some(since) if now.since(*since) < REMEMBERED => true,
            Some(_) => {
                digests.pop(&key);
                false
            }
            None => false,
        }
    }
}

impl PooledSession {
    /// Takes a read for a statement that may write, if a server has refused one with its digest. The digest is
    /// only made where some digest is remembered.
    #[inline]
    pub(crate) fn doubt_refused(&self, facts: &mut Facts, digest: impl FnOnce() -> u64) {
        if self.is_like_refused(facts, digest) {
            facts.doubt(Marks::REFUSED);
        }
    }

    /// Whether a server has refused a read with this digest.
    #[inline]
    pub(crate) fn is_like_refused(&self, facts: &Facts, digest: impl FnOnce() -> u64) -> bool {
        let refused = &self.worker.refused;
        if refused.is_empty() || facts.access != Access::Read {
            return false;
        }
        let now = self.worker.surroundings.now();
        refused.has(self.level().0, digest(), now)
    }

    /// Which error of this statement is kept from the client, on the connection that the session holds.
    pub(crate) fn withholds(&self, facts: &Facts, part: Part, repeat: &Repeat) -> Withholds {
        let is_sent_again = self.leaves_refusing_replica(facts, part, repeat)
            || self.outwaits_refusing_primary(facts, part);
        if is_sent_again {
            return Withholds::NoWrites;
        }
        match self.makes_room(facts, part, repeat) {
            true => Withholds::NoRoom,
            false => Withholds::Nothing,
        }
    }

    /// Whether this statement goes to the primary if the replica that the session holds refuses it: it is a read that
    /// went there because it reads, outside a transaction or within an optimistic one.
    fn leaves_refusing_replica(&self, facts: &Facts, part: Part, repeat: &Repeat) -> bool {
        self.held_role() == Some(Role::Replica)
            && facts.access == Access::Read
            && self.is_whole_and_alone(part)
            && repeat.has_tries()
            && self.may_leave_refusing(facts, repeat.aim)
    }

    /// Whether this statement waits for the primary to take writes if the backend that the session holds refuses it.
    fn outwaits_refusing_primary(&self, facts: &Facts, part: Part) -> bool {
        self.is_whole_and_alone(part) && self.may_outwait(facts, self.held_role())
    }

    /// The role of the backend whose connection the session holds, as far as it is known.
    fn held_role(&self) -> Option<Role> {
        self.held
            .lease
            .as_ref()
            .and_then(|lent| lent.conn.backend.role)
    }

    /// Whether the statement is all that its client has sent and waits for.
    fn is_whole_and_alone(&self, part: Part) -> bool {
        part == Part::Whole && !self.injects() && self.command.delivery != Delivery::Nobody
    }

    fn may_leave_refusing(&self, facts: &Facts, aim: Aim) -> bool {
        match self.transaction() {
            Transaction::None => matches!(aim, Aim::Replica | Aim::Ordered(_)) && !self.is_pinned(),
            Transaction::Optimistic => {
                let mut pins = self.pins();
                pins.remove(Pin::Transaction);
                pins.is_empty() && self.sql_state.cursors.is_empty() && route::is_repeatable(facts)
            }
            Transaction::Implicit | Transaction::Open | Transaction::Reading => false,
        }
    }

    /// A replica has refused a read. Afterwards it can be sent again, to the primary, together with the
    /// transaction that it is in. `Some`: that cannot be, and the client knows why.
    pub(crate) async fn leave_refusing(
        &mut self,
        sequence: u8,
        repeat: &mut Repeat,
    ) -> Result<Option<After>, CutOff> {
        self.reset_lent().await;
        repeat.note_refusal();
        if self.routing.optimism.is_some() {
            self.sql_state.session.connection_lost();
            self.sql_state.session.transaction_lost();
            return self.move_to_primary(sequence).await;
        }
        repeat.aim = self.after_refusal(repeat.aim);
        Ok(None)
    }

    /// Where a read goes that was refused on its way to `aim`.
    pub(crate) fn after_refusal(&mut self, aim: Aim) -> Aim {
        match aim {
            Aim::Ordered(roles) => self.after_ordered(roles),
            _ => Aim::Home,
        }
    }

    /// Notes what a refused read is from now on: a statement that may do anything.
    pub(crate) fn note_refused(&self, statement: &mut Statement<'_>) {
        let digest = self.digest_of(statement);
        tracing::info!(
            kind = "read_refused",
            user = %self.identity.account.id(),
            digest = format_args!("{digest:#018x}"),
            "a replica has refused a read because it writes; the read goes to the primary"
        );
        let now = self.worker.surroundings.now();
        self.worker.refused.remember(self.level().0, digest, now);
        statement.doubt(Marks::REFUSED);
    }

    /// Undoes all that was done on the session's connection, and gives that back.
    pub(crate) async fn reset_lent(&mut self) {
        let Some(mut lent) = self.held.lease.take() else {
            return;
        };
        let limit = self.settings.config.health.timeout_connect;
        let reset = tokio::time::timeout(limit, lent.conn.reset(&self.worker)).await;
        self.held.lease = Some(lent);
        match reset {
            Ok(Ok(())) => self.give_back(),
            // Closing it does the same.
            Ok(Err(_)) | Err(_) => self.drop_lent(CloseReason::Broken),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: ClusterId = ClusterId(1);

    #[test]
    fn a_refused_digest_is_remembered_for_an_hour() {
        let refused = RefusedReads::default();
        assert!(refused.is_empty());
        refused.remember(CLUSTER, 7, Moment::START);
        let soon = Moment::START + Duration::from_secs(3_599);
        assert!(refused.has(CLUSTER, 7, soon));
        assert!(!refused.has(CLUSTER, 8, soon));
        assert!(!refused.has(ClusterId(2), 7, soon));
        assert!(!refused.has(CLUSTER, 7, soon + Duration::from_secs(1)));
        assert!(refused.is_empty());
    }

    #[test]
    fn the_number_of_digests_is_bounded() {
        let refused = RefusedReads::default();
        for digest in 0..10_000 {
            refused.remember(CLUSTER, digest, Moment::START);
        }
        assert_eq!(refused.len(), DIGESTS_MAX.get());
        assert!(refused.has(CLUSTER, 9_999, Moment::START));
        assert!(!refused.has(CLUSTER, 0, Moment::START));
    }
}
