//! A transaction of which only its BEGIN has run, on a primary: nothing was read or written in it. If the primary
//! refuses its first write because it is read-only, or is lost before, the transaction begins again at the new primary,
//! like an optimistic transaction without reads. Its client does not learn of that.

use route::Transaction;
use session::Outcome;
use session::state::Pin;
use sql::{Facts, StatementKind};
use wire::StatusFlags;

use crate::deferred_begin::first_statement::BEGIN;
use crate::routing::routing_state::BeginProgress;
use crate::session::PooledSession;
use backend::exchange_outcome::{Done, ExchangeError, Reached};
use link::client_command::Incoming;
use session::effect::{Effect, effect_of};

impl PooledSession {
    /// Whether this statement begins a transaction that could begin elsewhere as well: the session holds nothing,
    /// and the statement says nothing of snapshots or of an access mode.
    #[inline]
    pub(crate) fn begins_movable(&self, facts: &Facts) -> bool {
        matches!(facts.kind, StatementKind::Begin(_))
            && route::begins_on_replica(facts)
            && !self.is_pinned()
            && !self.injects()
    }

    /// Notes that such a transaction has begun, after the reply to its BEGIN.
    pub(crate) fn note_movable_begin(&mut self, done: &Done) {
        let is_open = self.client.status().contains(StatusFlags::IN_TRANS);
        if is_open && done.outcome == Outcome::Ok {
            self.routing.state_mut().note_begin(BeginProgress::Alone);
        }
    }

    /// Whether the session holds such a transaction, and nothing else.
    pub(crate) fn has_only_begin(&self) -> bool {
        let mut pins = self.pins();
        pins.remove(Pin::Transaction);
        self.routing.state().begin() == BeginProgress::Alone
            && self.transaction() == Transaction::Open
            && pins.is_empty()
            && !self.sql_state.has_cursors()
    }

    /// Whether the transaction can begin again after this cut of its first statement: the statement has not left, or
    /// it reads. A write that has left may have reached a table without transactions.
    pub(super) fn may_begin_again(&self, cut: &ExchangeError, facts: &Facts) -> bool {
        let is_harmless =
            cut.reached == Reached::Nobody || matches!(effect_of(facts), Effect::Nothing);
        self.routing.optimistic().is_none() && self.has_only_begin() && is_harmless
    }

    /// Makes the transaction one that begins again at the primary, before its next statement.
    pub(crate) fn begins_again(&mut self) {
        self.routing.state_mut().note_begin(BeginProgress::Past);
        let begin = Incoming::of_text(BEGIN.as_bytes(), self.client.capabilities());
        self.routing.begin_optimistic(begin);
    }
}
