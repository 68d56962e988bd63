//! How an exchange has changed a session and its connection: by the server's report first, by the
//! statement's text second.

mod asked;
mod assignments;
mod calls;
mod collation_key;
mod effects;
mod found_rows;
mod generated;
mod prepared;
pub(super) mod reported;
mod seen;
mod word_places;

use std::rc::Rc;

use sql::Effects;
use wire::StatusFlags;

use super::connection::ConnectionState;
use super::pins::Pin;
use super::session::{Hold, PendingChanges, SessionState};
use super::values::{Values, ValuesTable};

pub use seen::{Ran, Seen};

impl SessionState {
    /// Takes in a reply to a command of this session on this connection, when the reply is over.
    ///
    /// The connection had the session's state before ([`super::restored`]), and has it afterwards,
    /// with everything that the session holds there.
    pub fn observe(
        &mut self,
        connection: &mut ConnectionState,
        table: &ValuesTable,
        seen: &Seen<'_>,
    ) {
        self.settle(&connection.baseline);
        self.reading.last_flags = self.reading.flags;
        self.reading.was_utf8 = self.is_utf8();
        if !self.is_nothing_new(seen) && !seen.is_unread() {
            self.note(connection, table, seen);
        }
        self.note_transaction(seen);
        self.note_diagnostics(connection, seen);
        self.reading.parameters = None;
    }

    /// The usual case: a statement that does not change its session, and a reply without reports.
    fn is_nothing_new(&self, seen: &Seen<'_>) -> bool {
        seen.is_ok()
            && seen.changes.is_empty()
            && self.untold.pending_changes == PendingChanges::Nothing
            && !self.set_apart.insert_id
            && !self.set_apart.collation
            && !seen.tally.has_unsent_changes
            && match seen.ran {
                Ran::Statement => is_quiet(seen.facts.effects),
                Ran::Nothing
                | Ran::Fetch
                | Ran::Reset
                | Ran::FieldList
                | Ran::Command
                | Ran::Prepare => self.rules.lasting.is_empty(),
                Ran::InitDb | Ran::Unknown => false,
            }
    }

    fn note(&mut self, connection: &mut ConnectionState, table: &ValuesTable, seen: &Seen<'_>) {
        if seen.may_set_values() {
            self.note_values(table, seen);
        }
        if connection.values.is_some() {
            connection.values = Some(Rc::clone(&self.values));
        }
        self.note_user_variables(connection, seen);
        self.note_effects(connection, seen);
        self.note_state_change(seen);
        self.note_used_up(seen);
    }

    fn note_values(&mut self, table: &ValuesTable, seen: &Seen<'_>) {
        let mut values = Values::clone(&self.values);
        self.note_reported(&mut values, seen);
        self.note_assignments(&mut values, seen);
        self.note_schema(&mut values, seen);
        if values == *self.values {
            return;
        }
        if self.rules.lasting.has(Pin::Variable) && is_more_than_charset(&self.values, &values) {
            self.pinned.for_life.add(Pin::Variable);
        }
        self.assume(table.intern(values));
    }

    /// The flags say whether a transaction is open. After an error there are no flags: an open
    /// transaction stays open, and with autocommit off a transaction may have begun.
    fn note_transaction(&mut self, seen: &Seen<'_>) {
        let Some(status) = seen.status() else {
            if seen.is_unread() && !self.pinned.now.has(Pin::Transaction) {
                return;
            }
            let may_have_begun = self.is_autocommit_off()
                || seen.has(Effects::TRANSACTION_BEGUN | Effects::CHAINED | Effects::ANYTHING);
            if !seen.is_ok() && (may_have_begun || self.pinned.now.has(Pin::Transaction)) {
                self.pinned.now.add(Pin::Transaction);
                self.untold.is_status_unknown = true;
            }
            return;
        };
        self.untold.is_status_unknown = false;
        let is_open = status.contains(StatusFlags::IN_TRANS);
        let is_held = is_open || self.is_held_without_autocommit(status, seen);
        self.pinned.now.set(Pin::Transaction, is_held);
    }

    /// Whether a session without autocommit counts as in a transaction. By [`Hold::Transaction`] it
    /// does from the first statement about data to COMMIT or ROLLBACK, even if the server has not
    /// begun one. By any rule it does from a SAVEPOINT on, which no flag shows.
    fn is_held_without_autocommit(&self, status: StatusFlags, seen: &Seen<'_>) -> bool {
        let is_off = !status.contains(StatusFlags::AUTOCOMMIT);
        let has_ended = seen.has(Effects::TRANSACTION_ENDED);
        let was_held = self.pinned.now.has(Pin::Transaction);
        let has_started = seen.is_statement() && seen.facts.access > sql::Access::Session;
        let is_saved = seen.has(Effects::SAVEPOINT);
        let is_of_rule = self.rules.hold == Hold::Transaction && has_started;
        is_off && !has_ended && (was_held || is_saved || is_of_rule)
    }

    /// Whether autocommit is known to be off, by a SET of the session's or by its login.
    fn is_autocommit_off(&self) -> bool {
        let login = || {
            self.baseline
                .as_ref()?
                .value(b"autocommit")
                .map(|value| &**value)
        };
        self.values.variable(b"autocommit").or_else(login) == Some(b"OFF")
    }
}

/// Whether the effects concern only the transaction, which the flags report, and the diagnostics.
fn is_quiet(mut effects: Effects) -> bool {
    effects.remove(
        Effects::TRANSACTION_BEGUN
            | Effects::TRANSACTION_ENDED
            | Effects::CHAINED
            | Effects::SAVEPOINT
            | Effects::LAST_INSERT_ID
            | Effects::FOUND_ROWS
            | Effects::DIAGNOSTICS,
    );
    effects.is_empty()
}

/// Whether other variables changed than those that do not count for `pin = ["variables"]`.
fn is_more_than_charset(before: &Values, after: &Values) -> bool {
    let counts = |name: &[u8]| {
        !name.starts_with(b"character_set_")
            && !name.starts_with(b"collation_")
            && name != b"autocommit"
    };
    let changed =
        |(name, value): (&[u8], &[u8])| counts(name) && before.variable(name) != Some(value);
    after.variables().any(changed)
}
