//! Reads that a replica has refused because it takes no writes (error 1290 or 1836): the statement calls
//! something that writes. The client does not learn of the refusal: the replica's connection is reset, because the
//! statement may have set or locked something there, and the statement runs on the primary. The session's state is
//! not touched by the refused try, because only a statement that has ended is observed.
//!
//! The digest is remembered, so that the next statement with that digest goes to the primary at once.

use pool::CloseReason;
use route::{Role, Transaction};
use session::Withholds;
use session::state::Pin;
use sql::{Access, Facts, Marks};

use crate::session::PooledSession;
use command::delivery::Delivery;
use command::repeat::Repeat;
use command::statement::Statement;
use command::target::CommandTarget;
use link::query_command::CommandPart;
use relay::outcome::{After, SessionError};

impl PooledSession {
    /// Takes a read for a statement that may write, if a server has refused one with its digest. The digest is
    /// only made where some digest is remembered.
    #[inline]
    pub fn doubt_refused(&self, facts: &mut Facts, digest: impl FnOnce() -> u64) {
        if self.is_like_refused(facts, digest) {
            facts.doubt(Marks::REFUSED);
        }
    }

    /// Whether a server has refused a read with this digest.
    #[inline]
    pub(crate) fn is_like_refused(&self, facts: &Facts, digest: impl FnOnce() -> u64) -> bool {
        let refused = &self.env.refused;
        if refused.is_empty() || facts.access != Access::Read {
            return false;
        }
        let now = self.env.now();
        refused.has(self.level().0, digest(), now)
    }

    /// Which error about this statement the client does not get, on the connection that the session holds.
    pub(crate) fn withholds(&self, facts: &Facts, part: CommandPart, repeat: &Repeat) -> Withholds {
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
    fn leaves_refusing_replica(&self, facts: &Facts, part: CommandPart, repeat: &Repeat) -> bool {
        self.held_role() == Some(Role::Replica)
            && facts.access == Access::Read
            && self.is_whole_and_alone(part)
            && repeat.has_tries()
            && self.may_leave_refusing(facts, repeat.command_target)
    }

    /// Whether this statement waits for the primary to take writes if the backend that the session holds refuses it.
    fn outwaits_refusing_primary(&self, facts: &Facts, part: CommandPart) -> bool {
        self.is_whole_and_alone(part) && self.may_wait_for_writable(facts, self.held_role())
    }

    /// The role of the backend whose connection the session holds, as far as it is known.
    fn held_role(&self) -> Option<Role> {
        self.held.backend().and_then(|backend| backend.role)
    }

    /// Whether the statement is a whole command of the client, without injected statements.
    fn is_whole_and_alone(&self, part: CommandPart) -> bool {
        part == CommandPart::Whole && !self.injects() && self.command.delivery != Delivery::Nobody
    }

    fn may_leave_refusing(&self, facts: &Facts, command_target: CommandTarget) -> bool {
        match self.transaction() {
            Transaction::None => {
                matches!(
                    command_target,
                    CommandTarget::Replica | CommandTarget::Ordered(_)
                ) && !self.is_pinned()
            }
            Transaction::Optimistic => {
                let mut pins = self.pins();
                pins.remove(Pin::Transaction);
                pins.is_empty() && !self.sql_state.has_cursors() && route::is_repeatable(facts)
            }
            Transaction::Implicit | Transaction::Open | Transaction::Reading => false,
        }
    }

    /// Prepares a refused read, together with its transaction, to be sent again to the primary. `Some`: that is not
    /// possible, and the client knows why.
    pub(crate) async fn leave_refusing(
        &mut self,
        sequence: u8,
        repeat: &mut Repeat,
    ) -> Result<Option<After>, SessionError> {
        self.reset_lease().await;
        repeat.note_refusal();
        if self.routing.optimistic().is_some() {
            self.sql_state.session_mut().connection_lost();
            self.sql_state.session_mut().transaction_lost();
            return self.move_to_primary(sequence).await;
        }
        repeat.command_target = self.after_refusal(repeat.command_target);
        Ok(None)
    }

    /// The target of a read that was refused on its way to `command_target`.
    pub(crate) fn after_refusal(&mut self, command_target: CommandTarget) -> CommandTarget {
        match command_target {
            CommandTarget::Ordered(roles) => self.after_ordered(roles),
            _ => CommandTarget::Home,
        }
    }

    /// Remembers the digest of a refused read: from now on such a statement may do anything.
    pub(crate) fn note_refused(&self, statement: &mut Statement<'_>) {
        let digest = self.digest_of(statement);
        tracing::info!(
            kind = "read_refused",
            user = %self.identity.account().id(),
            digest = format_args!("{digest:#018x}"),
            "a replica has refused a read because it writes; the read goes to the primary"
        );
        let now = self.env.now();
        self.env.refused.remember(self.level().0, digest, now);
        statement.doubt(Marks::REFUSED);
    }

    /// Resets the session's connection, and gives it back.
    pub(crate) async fn reset_lease(&mut self) {
        let Some(mut lease) = self.held.take() else {
            return;
        };
        let limit = self.settings.config.health.timeout_connect;
        let reset = tokio::time::timeout(limit, lease.conn.reset(&self.env.pool_env)).await;
        self.held.put(lease);
        match reset {
            Ok(Ok(())) => self.give_back(),
            // Closing the connection has the same effect.
            Ok(Err(_)) | Err(_) => self.drop_lease(CloseReason::Broken),
        }
    }
}
