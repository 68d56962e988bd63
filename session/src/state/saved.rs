//! Answers that the proxy has fetched from a session's last connection while another session acquired it.

use super::statement_diagnostics::{LastInsertId, List, StatementDiagnostics};
use std::rc::Rc;
use std::time::Duration;

use super::session::SessionState;
use super::values::{Values, ValuesTable};
use super::variables;

/// A reply that the proxy has given by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// A command that is no statement, with OK.
    Ok,
    /// A statement that changes nothing, with OK.
    Statement,
    /// COM_STMT_RESET, with OK.
    Reset,
    /// COM_SET_OPTION, with EOF.
    Eof,
    /// SHOW WARNINGS and similar statements.
    Rows,
    /// A command that names a prepared statement, with an error.
    Error,
    /// COM_STMT_PREPARE of a text that is known.
    Prepared {
        /// Whether the text names a table.
        reads_tables: bool,
    },
}

impl SessionState {
    /// Sets LAST_INSERT_ID(), if only the connection knew it.
    pub fn last_insert_id_is(&mut self, id: u64) {
        if self.diagnostics.last_insert_id == LastInsertId::OnConnection {
            self.diagnostics.last_insert_id = LastInsertId::Known(id);
        }
    }

    /// Sets FOUND_ROWS(), if only the connection knew it.
    pub fn found_rows_are(&mut self, rows: u64) {
        self.diagnostics.found_rows.get_or_insert(rows);
    }

    /// Records the diagnostics of a command that the proxy has answered as a server answers it.
    pub fn answered(&mut self, answer: Answered) {
        self.diagnostics.list = List::Kept;
        match answer {
            Answered::Ok => self.diagnostics.row_count = 0,
            Answered::Statement => {
                self.diagnostics.row_count = 0;
                self.diagnostics.ok_warnings = Some(0);
                if !super::variables::is_mariadb(self.server) {
                    self.diagnostics.is_list_lost = false;
                    self.diagnostics.list = List::Empty;
                    self.diagnostics.warnings = 0;
                }
            }
            Answered::Eof => self.diagnostics.row_count = -1,
            Answered::Reset => {
                self.diagnostics.row_count = 0;
                self.diagnostics.ok_warnings = Some(0);
            }
            Answered::Rows => {
                self.diagnostics.row_count = -1;
                self.diagnostics.ok_warnings = Some(0);
            }
            Answered::Error => {
                self.diagnostics.is_list_lost = false;
                self.diagnostics.row_count = -1;
                self.diagnostics.warnings = match super::variables::is_mariadb(self.server) {
                    true => 1,
                    false => self.diagnostics.warnings.saturating_add(1),
                };
                self.diagnostics.ok_warnings = Some(1);
            }
            Answered::Prepared {
                reads_tables: false,
            } if super::variables::is_mariadb(self.server) => {}
            Answered::Prepared { .. } => {
                self.diagnostics.is_list_lost = false;
                self.diagnostics.list = List::Empty;
                self.diagnostics.warnings = 0;
                self.diagnostics.ok_warnings = Some(0);
            }
        }
    }

    /// Restores the diagnostics from `before`, except LAST_INSERT_ID(): a statement stood in for
    /// another one, which leaves them as they are.
    pub fn left_alone(&mut self, before: StatementDiagnostics) {
        let last_insert_id = self.diagnostics.last_insert_id;
        self.diagnostics = StatementDiagnostics {
            last_insert_id,
            list: List::Kept,
            ..before
        };
    }

    /// Takes over the values with which a statement has to run; returns the current values.
    pub fn swap_values(&mut self, values: Rc<Values>) -> Rc<Values> {
        let now = Rc::clone(&self.values);
        self.assume(values);
        now
    }

    /// Returns the values for preparing a statement again that was first prepared with `then`: the
    /// current ones, but the schema and everything that decides how a text is read from `then`. A
    /// statement of the proxy's must not set the others, `autocommit` among them: that would commit.
    pub fn values_to_prepare(&self, table: &ValuesTable, then: &Rc<Values>) -> Rc<Values> {
        if Rc::ptr_eq(&self.values, then) {
            return Rc::clone(then);
        }
        let mut values = Values::clone(&self.values);
        // No connection goes back from a schema to none.
        let schema = self.values.schema().and(then.schema());
        values.set_schema(schema.unwrap_or_default());
        for name in variables::DECIDING {
            match then.entry(name.as_bytes()) {
                Some(value) => values.set(name.as_bytes(), Rc::clone(value)),
                None => values.unset(name.as_bytes()),
            }
        }
        table.intern(values)
    }

    /// Enters the schema in which a statement was prepared that is to run. Otherwise the server would
    /// enter it for that time, and its report of that would hide other changes. Returns the current
    /// schema, if it is another one, for [`Self::return_to`].
    pub fn visit(&mut self, table: &ValuesTable, schema: Option<&[u8]>) -> Option<Rc<[u8]>> {
        // The proxy cannot go back to no schema, so the server itself enters the schema and comes back.
        let own = self.values.schema()?;
        let schema = schema.filter(|schema| *schema != own)?;
        let own = Rc::from(own);
        self.change_schema(table, schema);
        Some(own)
    }

    /// The statement has run: the session returns to its schema, the connection does not.
    pub fn return_to(&mut self, table: &ValuesTable, schema: &[u8]) {
        self.change_schema(table, schema);
    }

    fn change_schema(&mut self, table: &ValuesTable, schema: &[u8]) {
        let mut values = Values::clone(&self.values);
        values.set_schema(schema);
        self.assume(table.intern(values));
    }

    /// Records that a transaction has begun on the connection, before a statement of the client's.
    pub fn note_transaction_started(&mut self) {
        self.pinned.now.add(super::Pin::Transaction);
        self.untold.is_status_unknown = false;
    }

    /// Whether a server would answer BEGIN with an OK without reports and warnings, as far as the session's state
    /// goes: it holds nothing, the last statement has left no warnings, and the session has not set how
    /// transactions begin, or what follows their end.
    pub fn begins_silently(&self) -> bool {
        const DECIDING: [&[u8]; 3] = [
            b"transaction_read_only",
            b"tx_read_only",
            b"completion_type",
        ];
        const RESTING: [&[u8]; 4] = [b"OFF", b"0", b"NO_CHAIN", b"DEFAULT"];
        let is_at_rest = |name: &&[u8]| {
            let value = self.values().variable(name);
            value.is_none_or(|value| RESTING.contains(&value))
        };
        self.is_plain() && self.diagnostics.warnings == 0 && DECIDING.iter().all(is_at_rest)
    }

    /// The connection is gone that had the answers about the last statement.
    pub fn answers_lost(&mut self) {
        let is_list_lost = self.diagnostics.list != List::Empty && self.diagnostics.warnings > 0;
        self.connection_lost();
        self.diagnostics.is_list_lost = is_list_lost;
    }

    /// The connection is gone on which the last statement ran: its diagnostics are lost.
    pub fn connection_lost(&mut self) {
        if self.diagnostics.last_insert_id == LastInsertId::OnConnection {
            self.diagnostics.last_insert_id = LastInsertId::Lost;
        }
        self.diagnostics.list = List::Empty;
        self.diagnostics.warnings = 0;
        self.diagnostics.ok_warnings = Some(0);
        self.diagnostics.found_rows.get_or_insert(0);
    }

    /// Returns the longest idle time by the session's `wait_timeout`; none if that is not known.
    pub fn wait_timeout(&self) -> Option<Duration> {
        let seconds = std::str::from_utf8(self.current(b"wait_timeout")?).ok()?;
        seconds.parse().ok().map(Duration::from_secs)
    }

    /// The connection is gone on which a transaction was open, and the transaction with it.
    pub fn transaction_lost(&mut self) {
        self.pinned.now.remove(super::Pin::Transaction);
        self.untold.is_status_unknown = false;
    }
}

impl super::ConnectionState {
    /// A connection of which nothing is known yet.
    pub fn unknown() -> Self {
        let mut state = Self::new(std::rc::Rc::default(), std::rc::Rc::default());
        state.forget();
        state
    }
}

impl super::Baseline {
    /// Whether both logins left the same, of the same server.
    pub fn is_same(&self, other: &Self) -> bool {
        self.server() == other.server() && self.values().eq(other.values())
    }
}

impl super::Changes {
    /// Adds the reports of a later exchange.
    pub fn merge(&mut self, later: &Self) {
        for (name, value) in &later.variables {
            self.variable(name, value);
        }
        if let Some(schema) = &later.schema {
            self.schema(schema);
        }
        self.next_transaction = later.next_transaction.or(self.next_transaction);
        self.is_state_changed |= later.is_state_changed;
        self.changed_with |= later.changed_with;
        self.written(&later.gtids);
        self.has_unsent |= later.has_unsent;
    }
}
