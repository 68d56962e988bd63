//! The state of a session.

use std::rc::Rc;

use sql::{Flags, Server};
use thin_vec::ThinVec;

use super::baseline::Baseline;
use super::calls::Calls;
use super::connection::ConnectionState;
use super::held::Held;
use super::pins::{Pin, Pins};
use super::statement_diagnostics::StatementDiagnostics;
use super::user_variables::UserVariables;
use super::values::{Values, ValuesTable, Variable};
use super::variables::{self, INSERT_ID, OF_SCHEMA};

/// How long a session keeps its backend connection when nothing pins it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Hold {
    /// Until it ends.
    Session,
    /// Until its transaction ends; with autocommit off that is from the first statement on.
    Transaction,
    /// Until a statement ends after which no transaction is open.
    #[default]
    Statement,
}

/// The settings of an account's configuration for its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Rules {
    /// How long the sessions keep a backend connection.
    pub hold: Hold,
    /// Pins that last for the session's life once they occur, although their state could be restored: of
    /// [`Pin::UserVariable`], [`Pin::Variable`], [`Pin::PreparedStatement`] and [`Pin::Warnings`].
    pub lasting: Pins,
    /// Pins that do not count, although their state cannot be verified: of [`Pin::Routine`] and
    /// [`Pin::State`].
    pub waived: Pins,
}

/// Changes of a session that the server has noted and not reported yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PendingChanges {
    /// Nothing.
    Nothing,
    /// MariaDB's SET STATEMENT has taken back what it set; the state is as before.
    Reversal,
    /// Anything that a failed statement did before it failed.
    Anything,
}

/// Session variables whose values are in doubt.
#[derive(Debug, Default)]
pub(super) struct VariableDoubts {
    /// Names of variables whose values are not known: the proxy has to ask for them.
    pub(super) names: ThinVec<Rc<[u8]>>,
    /// A query for several variables was refused: each variable is asked alone.
    pub(super) asks_singly: bool,
    /// The doubtful `collation_connection` is the one that comes with its character set. It will be
    /// remembered under this key.
    pub(super) collation_key: Option<Box<[u8]>>,
}

/// State that the server has not reported yet.
#[derive(Debug)]
pub(super) struct Untold {
    /// Whether a transaction is open is not known, because the last reply was an error.
    pub(super) is_status_unknown: bool,
    /// Changes on this session's connection that the server may have noted and not reported.
    pub(super) pending_changes: PendingChanges,
    /// The variables that SET STATEMENT has set and taken back.
    pub(super) reversed: ThinVec<Rc<[u8]>>,
}

/// How statements are read.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) flags: Flags,
    /// The flags with which the last statement was read.
    pub(super) last_flags: Flags,
    /// Whether the last statement was written in UTF-8.
    pub(super) was_utf8: bool,
    /// The numbers that the next statement's parameters may be taken for, if they are known.
    pub(super) parameters: Option<Vec<u64>>,
}

/// Which of the variables with special treatment are among the values.
#[derive(Debug)]
pub(super) struct SetApart {
    /// `insert_id`
    pub(super) insert_id: bool,
    /// `collation_database`
    pub(super) collation: bool,
}

/// The pins of a session.
#[derive(Debug)]
pub(super) struct Pinned {
    /// Pins that have to end before the session can release its connection.
    pub(super) now: Pins,
    /// Pins that last as long as the session, by rule or because the proxy cannot see that they end.
    pub(super) for_life: Pins,
}

/// The known state of a session between two exchanges.
#[derive(Debug)]
pub struct SessionState {
    pub(super) rules: Rules,
    pub(super) server: Server,
    /// The baseline of the connection that the session used last.
    pub(super) baseline: Option<Rc<Baseline>>,
    pub(super) values: Rc<Values>,
    pub(super) set_apart: SetApart,
    /// Former values of global variables, which have changed since the session began. It keeps them.
    pub(super) inherited: ThinVec<Variable>,
    pub(super) doubts: VariableDoubts,
    /// Variables with values that cannot be set on another connection.
    pub(super) bound: ThinVec<Rc<[u8]>>,
    pub(super) user_variables: UserVariables,
    pub(super) held: Held,
    pub(super) calls: Calls,
    pub(super) pinned: Pinned,
    pub(super) diagnostics: StatementDiagnostics,
    pub(super) untold: Untold,
    pub(super) reading: Reading,
}

impl SessionState {
    /// A session directly after its login, with [`ValuesTable::fresh`] or
    /// [`ValuesTable::in_schema`]. Until the session has been on a connection, its statements are
    /// read with `flags`.
    pub fn new(rules: Rules, values: Rc<Values>, flags: Flags) -> Self {
        let flags = values.at_home(flags);
        Self {
            rules,
            server: flags.server,
            baseline: None,
            set_apart: SetApart {
                insert_id: values.variable(INSERT_ID).is_some(),
                collation: values.variable(OF_SCHEMA).is_some(),
            },
            values,
            inherited: ThinVec::new(),
            doubts: VariableDoubts::default(),
            bound: ThinVec::new(),
            user_variables: UserVariables::default(),
            held: Held::default(),
            calls: Calls::default(),
            pinned: Pinned {
                now: Pins::NONE,
                for_life: Pins::NONE,
            },
            diagnostics: StatementDiagnostics::default(),
            untold: Untold {
                is_status_unknown: false,
                pending_changes: PendingChanges::Nothing,
                reversed: ThinVec::new(),
            },
            reading: Reading {
                flags,
                last_flags: flags,
                was_utf8: false,
                parameters: None,
            },
        }
    }

    /// The session's schema and the variables that it has set.
    pub fn values(&self) -> &Rc<Values> {
        &self.values
    }

    /// How the session's next statement is read.
    pub fn flags(&self) -> Flags {
        self.reading.flags
    }

    /// Its rules.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Replaces the session's rules.
    pub fn ruled_by(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// The named objects that the session holds on its connection.
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// The session's user variables: names, and the literals of the values that are known.
    pub fn user_variables(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let all = self.user_variables.iter();
        all.map(|(name, value)| (&**name, value.map(|value| &*value.literal)))
    }

    /// `character_set_results`, if it is known; empty if it is NULL.
    pub fn results_charset(&self) -> Option<&[u8]> {
        self.current(b"character_set_results")
    }

    /// The diagnostics that the last statement left.
    pub fn diagnostics(&self) -> &StatementDiagnostics {
        &self.diagnostics
    }

    /// Returns why the session cannot release its backend connection now. The pins that a
    /// [`super::StateQuery`] would end are among them.
    pub fn pins(&self) -> Pins {
        let mut pins = self.pinned.now.union(self.pinned.for_life);
        let is_unknown = !self.user_variables.are_known() || self.user_variables.are_too_long();
        if is_unknown || self.user_variables.are_wide() && !self.may_write_wide() {
            pins.add(Pin::UserVariable);
        }
        if !self.doubts.names.is_empty() || !self.bound.is_empty() || self.is_schema_unwritable() {
            pins.add(Pin::Variable);
        }
        if self.held.is_prepared_here_only() {
            pins.add(Pin::PreparedText);
        }
        if !self.calls.is_empty() {
            pins.add(Pin::Routine);
        }
        if self.untold.pending_changes != PendingChanges::Nothing {
            pins.add(Pin::State);
        }
        pins
    }

    /// Whether the session may release its backend connection now, as far as state goes: nothing
    /// pins it, and its rules allow it.
    pub fn is_free(&self) -> bool {
        self.rules.hold != Hold::Session && self.pins().is_empty()
    }

    /// Whether the session holds nothing, nothing is in doubt, and the server has nothing left to report. Then its next
    /// read may run on any connection with the same state, together with other sessions' reads.
    pub fn is_plain(&self) -> bool {
        self.is_free()
            && self.untold.pending_changes == PendingChanges::Nothing
            && !self.untold.is_status_unknown
            && self.doubts.names.is_empty()
            && self.calls.is_empty()
            && self.baseline.is_some()
    }

    /// Returns a connection with the session's state, as far as a statement can see that changes nothing.
    pub fn mirrored(&self) -> Option<ConnectionState> {
        let baseline = self.baseline.as_ref()?;
        let values = Rc::clone(&self.values);
        Some(ConnectionState::new(Rc::clone(baseline), values))
    }

    /// Whether the connection keeps traces or profiles of the session's statements. A statement of the proxy's
    /// would replace them.
    pub fn is_traced(&self) -> bool {
        let is_trace = |name: &Rc<[u8]>| matches!(&**name, b"optimizer_trace" | b"profiling");
        self.bound.iter().any(is_trace)
    }

    /// Pins the session for as long as it lives: for a statement that was too long to be read, or a
    /// command whose effects are not known.
    pub fn pin(&mut self, pin: Pin) {
        self.pinned.for_life.add(pin);
    }

    /// Sets how many of the session's prepared statements have an open cursor now.
    pub fn cursors_open(&mut self, count: usize) {
        self.pinned.now.set(Pin::Cursor, count > 0);
    }

    /// Sets the known parameters of the prepared statement that is observed next: integers, and the
    /// beginnings of strings and decimals, taken for integers. An insert id that is none of them
    /// need not be asked for.
    pub fn parameters_are(&mut self, numbers: Vec<u64>) {
        self.reading.parameters = Some(numbers);
    }

    /// COM_RESET_CONNECTION: ends all state but the schema.
    pub fn reset(&mut self, table: &ValuesTable) {
        let values = match self.values.schema() {
            Some(schema) => table.in_schema(schema),
            None => table.fresh(),
        };
        self.change_user(values);
    }

    /// COM_CHANGE_USER: ends all state, and begins with these values.
    pub fn change_user(&mut self, values: Rc<Values>) {
        let baseline = self.baseline.take();
        let flags = baseline
            .as_ref()
            .map_or(self.reading.flags, |baseline| values.flags(baseline));
        *self = Self {
            baseline,
            ..Self::new(self.rules, values, flags)
        };
    }

    /// Begins the session anew after global variables have changed: until it is on a connection, its
    /// statements are read with `flags`.
    pub fn begins_as(&mut self, flags: Flags) {
        self.baseline = None;
        self.reading.flags = self.values.at_home(flags);
    }

    /// Whether COM_INIT_DB would take the schema's name, which the trackers report in UTF-8, for another name.
    fn is_schema_unwritable(&self) -> bool {
        let is_ascii = self.values.schema().is_none_or(<[u8]>::is_ascii);
        !is_ascii && !self.is_utf8()
    }

    pub(super) fn is_utf8(&self) -> bool {
        let client = self.current(b"character_set_client");
        client.is_some_and(|client| client.starts_with(b"utf8"))
    }

    /// Whether names that are not ASCII can be written on the session's connection, and on any that was reset.
    fn may_write_wide(&self) -> bool {
        let login = self.baseline.as_ref();
        self.is_utf8() && login.is_some_and(|baseline| baseline.is_utf8())
    }

    /// The name of a user variable in the last statement; none if it cannot be known.
    pub(super) fn user_variable_name(&self, raw: &[u8]) -> Option<Vec<u8>> {
        let name = sql::user_variable_name(raw, self.reading.last_flags)?;
        (name.is_ascii() || self.reading.was_utf8).then_some(name)
    }

    /// A variable's value, set since login or left by login; none if it is not known.
    pub(super) fn current(&self, name: &[u8]) -> Option<&[u8]> {
        if self.doubts.names.iter().any(|doubtful| **doubtful == *name) {
            return None;
        }
        let login = || self.baseline.as_ref()?.value(name).map(|value| &**value);
        self.values.variable(name).or_else(login)
    }

    /// Records that the session is on a connection with this baseline now.
    pub(super) fn settle(&mut self, baseline: &Rc<Baseline>) {
        let is_same = self
            .baseline
            .as_ref()
            .is_some_and(|own| Rc::ptr_eq(own, baseline));
        if !is_same {
            self.baseline = Some(Rc::clone(baseline));
            self.server = baseline.server();
            self.reading.flags = self.values.flags(baseline);
        }
    }

    /// Gives the session these values.
    pub(super) fn assume(&mut self, values: Rc<Values>) {
        self.set_apart.insert_id = values.variable(INSERT_ID).is_some();
        self.set_apart.collation = values.variable(OF_SCHEMA).is_some();
        self.values = values;
        self.reading.flags = match &self.baseline {
            Some(baseline) => self.values.flags(baseline),
            None => self.values.at_home(self.reading.flags),
        };
    }

    /// Marks a variable's value as doubtful: the proxy has to ask for it.
    pub(super) fn doubt(&mut self, name: &[u8]) {
        if variables::is_name(name) && !self.doubts.names.iter().any(|known| **known == *name) {
            self.doubts.names.push(Rc::from(name));
        }
    }

    /// Records whether a variable has a value that cannot be set on another connection.
    pub(super) fn bind(&mut self, name: &[u8], is_bound: bool) {
        self.bound.retain(|known| **known != *name);
        if is_bound {
            self.bound.push(Rc::from(name));
        }
    }

    /// Records that a variable's value is known.
    pub(super) fn trust(&mut self, name: &[u8]) {
        self.doubts.names.retain(|known| **known != *name);
    }
}
