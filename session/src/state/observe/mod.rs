//! What an exchange has made of a session and of its connection: the server's word first, the
//! statement's text second.

mod asked;
mod assignments;
mod calls;
mod effects;
mod found_rows;
mod generated;
mod prepared;
pub(super) mod reported;

use std::rc::Rc;

use sql::{Effects, Facts, StatementKind};
use wire::StatusFlags;

use super::changes::Changes;
use super::connection::ConnectionState;
use super::pins::Pin;
use super::session::{Hold, Owed, SessionState};
use super::values::{Values, ValuesTable};
use crate::Tally;

/// What the command was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// COM_QUERY, or EXECUTE of a prepared statement: `text` is what it says.
    Statement,
    /// COM_STMT_PREPARE of `text`, which does not run.
    Prepare,
    /// COM_INIT_DB: `text` is the schema's name.
    InitDb,
    /// COM_STATISTICS and others that change nothing.
    Nothing,
    /// COM_STMT_FETCH, which changes nothing but ROW_COUNT() and the count of warnings.
    Fetch,
    /// COM_STMT_RESET, and EXECUTE of a statement that is not there.
    Reset,
    /// COM_FIELD_LIST, of which MySQL warns without a word.
    FieldList,
    /// COM_SET_OPTION and others that change nothing but what functions say of the
    /// last command.
    Command,
    /// Something whose effects are not known.
    Unknown,
}

/// All that was seen of one exchange.
#[derive(Debug)]
pub struct Seen<'a> {
    /// What the command was.
    pub ran: Ran,
    /// The facts of its text.
    pub facts: &'a Facts,
    /// Its text.
    pub text: &'a [u8],
    /// What the trackers said.
    pub changes: &'a Changes,
    /// How its results ended.
    pub tally: &'a Tally,
    /// The number of the error that it ended with.
    pub error: Option<u16>,
}

/// Not understood, unknown variable, unknown routine (all are looked for before anything runs).
const UNREAD: [u16; 3] = [1064, 1193, 1305];

/// Privileges, schemas, tables, columns, values of variables, locked tables, read-only.
const REFUSED: [u16; 28] = [
    1044, 1046, 1049, 1050, 1051, 1054, 1099, 1100, 1136, 1142, 1143, 1146, 1149, 1179, 1192, 1227,
    1228, 1229, 1231, 1232, 1235, 1238, 1243, 1290, 1295, 1370, 1568, 1792,
];

impl Seen<'_> {
    fn is_ok(&self) -> bool {
        self.error.is_none()
    }

    /// The flags of the last word; none after an error.
    fn status(&self) -> Option<StatusFlags> {
        self.tally.status.filter(|_| self.is_ok())
    }

    /// The server could not read the statement: none of it ran.
    fn is_unread(&self) -> bool {
        self.is_refused_with(&UNREAD)
    }

    /// The server refused the statement before it ran, so that no trigger did either. It may have
    /// evaluated constants.
    fn is_refused(&self) -> bool {
        self.is_refused_with(&UNREAD) || self.is_refused_with(&REFUSED)
    }

    /// Within a procedure the same numbers may come late.
    fn is_refused_with(&self, numbers: &[u16]) -> bool {
        let may_come_late = matches!(
            self.facts.kind,
            StatementKind::Call
                | StatementKind::Prepare
                | StatementKind::Execute
                | StatementKind::ExecuteImmediate
                | StatementKind::Compound
                | StatementKind::Multi
        );
        let is_refusal = self.error.is_some_and(|error| numbers.contains(&error));
        self.is_statement() && is_refusal && !may_come_late
    }

    /// Whether schema or variables may have changed, for all that is said.
    fn may_set_values(&self) -> bool {
        !self.changes.variables.is_empty()
            || self.changes.schema.is_some()
            || self.ran == Ran::InitDb
            || self.has(Effects::VARIABLES | Effects::SCHEMA)
    }

    fn is_statement(&self) -> bool {
        self.ran == Ran::Statement
    }

    fn has(&self, effects: Effects) -> bool {
        self.is_statement() && self.facts.effects.has(effects)
    }
}

impl SessionState {
    /// The reply to a command of this session on this connection is over.
    ///
    /// The connection was like the session before ([`super::restored`]), and is so after it, with
    /// whatever the session holds there.
    pub fn observe(
        &mut self,
        connection: &mut ConnectionState,
        table: &ValuesTable,
        seen: &Seen<'_>,
    ) {
        self.settle(&connection.baseline);
        self.flags_read = self.flags;
        self.is_read_as_utf8 = self.is_utf8();
        if !self.is_nothing_new(seen) && !seen.is_unread() {
            self.note(connection, table, seen);
        }
        self.note_transaction(seen);
        self.note_aftermath(connection, seen);
        self.parameters = None;
    }

    /// The usual case: a statement that does nothing to its session, and no word of change.
    fn is_nothing_new(&self, seen: &Seen<'_>) -> bool {
        seen.is_ok()
            && seen.changes.is_empty()
            && self.owed == Owed::Nothing
            && !self.has_insert_id
            && !self.has_collation
            && !seen.tally.owes_changes
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
            self.lasting.add(Pin::Variable);
        }
        self.assume(table.intern(values));
    }

    /// Whether a transaction is open is what the flags say. After an error there are none: what was
    /// open stays so, and with autocommit off a transaction may have begun.
    fn note_transaction(&mut self, seen: &Seen<'_>) {
        let Some(status) = seen.status() else {
            if seen.is_unread() && !self.pins.has(Pin::Transaction) {
                return;
            }
            let may_have_begun = self.is_autocommit_off()
                || seen.has(Effects::TRANSACTION_BEGUN | Effects::CHAINED | Effects::ANYTHING);
            if !seen.is_ok() && (may_have_begun || self.pins.has(Pin::Transaction)) {
                self.pins.add(Pin::Transaction);
                self.is_status_unknown = true;
            }
            return;
        };
        self.is_status_unknown = false;
        let is_open = status.contains(StatusFlags::IN_TRANS);
        let is_held = is_open || self.is_held_without_autocommit(status, seen);
        self.pins.set(Pin::Transaction, is_held);
    }

    /// By [`Hold::Transaction`] with autocommit off: from the first statement about data to COMMIT
    /// or ROLLBACK, whether the server has begun a transaction or not. By any rule from a SAVEPOINT
    /// on, which no flag shows.
    fn is_held_without_autocommit(&self, status: StatusFlags, seen: &Seen<'_>) -> bool {
        let is_off = !status.contains(StatusFlags::AUTOCOMMIT);
        let has_ended = seen.has(Effects::TRANSACTION_ENDED);
        let was_held = self.pins.has(Pin::Transaction);
        let has_begun = seen.is_statement() && seen.facts.access > sql::Access::Session;
        let is_saved = seen.has(Effects::SAVEPOINT);
        let is_of_rule = self.rules.hold == Hold::Transaction && has_begun;
        is_off && !has_ended && (was_held || is_saved || is_of_rule)
    }

    /// Or not known to be on.
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

/// Whether effects concern the transaction, which the flags tell, and what is left to be asked.
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
