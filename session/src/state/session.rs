//! What a session has made of itself.

use std::rc::Rc;

use sql::{Flags, Server};

use super::baseline::Baseline;
use super::calls::Calls;
use super::connection::ConnectionState;
use super::held::Held;
use super::pins::{Pin, Pins};
use super::statement_diagnostics::StatementDiagnostics;
use super::user_variables::UserVariables;
use super::values::{Values, ValuesTable, Variable};
use super::variables::{self, INSERT_ID, OF_SCHEMA};

/// For how long a session holds its backend connection when nothing pins it.
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

/// What an account's configuration says about its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Rules {
    /// For how long they hold a backend connection.
    pub hold: Hold,
    /// What pins them for good once it occurs, although it could be restored: of
    /// [`Pin::UserVariable`], [`Pin::Variable`], [`Pin::PreparedStatement`] and [`Pin::Warnings`].
    pub lasting: Pins,
    /// What does not pin them, although it cannot be verified: of [`Pin::Routine`] and
    /// [`Pin::State`].
    pub waived: Pins,
}

/// Changes of a session that the server has noted and not reported yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PendingChanges {
    /// Nothing.
    Nothing,
    /// That MariaDB's SET STATEMENT has taken back what it set; the state is as before.
    Reversal,
    /// Anything that a failed statement did before it failed.
    Anything,
}

/// Variables of which not all is known.
#[derive(Debug, Default)]
pub(super) struct VariableDoubts {
    /// Variables that were set to nobody knows what: to be asked, by name.
    pub(super) names: Vec<Rc<[u8]>>,
    /// One of several questions was refused: each is asked alone.
    pub(super) asks_singly: bool,
    /// The doubtful `collation_connection` is the one that comes with its character set: under this
    /// key it will be remembered.
    pub(super) collation_key: Option<Box<[u8]>>,
}

/// What the server has not told yet.
#[derive(Debug)]
pub(super) struct Untold {
    /// Whether a transaction is open is not known: the last word was an error.
    pub(super) is_status_unknown: bool,
    /// What the server may have noted on this session's connection and not told.
    pub(super) pending_changes: PendingChanges,
    /// The variables that SET STATEMENT has set and taken back.
    pub(super) reversed: Vec<Rc<[u8]>>,
}

/// How statements are read.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) flags: Flags,
    /// With which the last statement was read.
    pub(super) last_flags: Flags,
    /// Whether it was written in UTF-8.
    pub(super) was_utf8: bool,
    /// The numbers that the next statement's parameters may be taken for, where they are known.
    pub(super) parameters: Option<Vec<u64>>,
}

/// Which of the variables that are treated apart are among the values.
#[derive(Debug)]
pub(super) struct SetApart {
    /// `insert_id`
    pub(super) insert_id: bool,
    /// `collation_database`
    pub(super) collation: bool,
}

/// What pins a session.
#[derive(Debug)]
pub(super) struct Pinned {
    /// What has to end before it can leave.
    pub(super) now: Pins,
    /// What pins it for as long as it lives, by rule or because it cannot be seen to end.
    pub(super) for_life: Pins,
}

/// What is known of a session between two exchanges.
#[derive(Debug)]
pub struct SessionState {
    pub(super) rules: Rules,
    pub(super) server: Server,
    /// Of the connection that it was on last.
    pub(super) baseline: Option<Rc<Baseline>>,
    pub(super) values: Rc<Values>,
    pub(super) set_apart: SetApart,
    /// Values of global variables that have changed since it began, which it keeps.
    pub(super) inherited: Vec<Variable>,
    pub(super) doubts: VariableDoubts,
    /// Variables that are set to what cannot be set elsewhere.
    pub(super) bound: Vec<Rc<[u8]>>,
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
    /// [`ValuesTable::in_schema`]. Until it has been on a connection its statements are read as
    /// `flags` says.
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
            inherited: Vec::new(),
            doubts: VariableDoubts::default(),
            bound: Vec::new(),
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
                reversed: Vec::new(),
            },
            reading: Reading {
                flags,
                last_flags: flags,
                was_utf8: false,
                parameters: None,
            },
        }
    }

    /// Its schema and the variables it has set.
    pub fn values(&self) -> &Rc<Values> {
        &self.values
    }

    /// How its next statement is read.
    pub fn flags(&self) -> Flags {
        self.reading.flags
    }

    /// Its rules.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// From now on other rules hold.
    pub fn ruled_by(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// What it holds by name.
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// Its user variables: names, and the literals that give their values where these are known.
    pub fn user_variables(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let all = self.user_variables.iter();
        all.map(|(name, value)| (&**name, value.map(|value| &*value.literal)))
    }

    /// `character_set_results`, where it is known; empty where it is NULL.
    pub fn results_charset(&self) -> Option<&[u8]> {
        self.current(b"character_set_results")
    }

    /// What the last statement left to be asked.
    pub fn diagnostics(&self) -> &StatementDiagnostics {
        &self.diagnostics
    }

    /// Why it cannot leave its backend connection now. What an [`super::StateQuery`] would end is among
    /// them.
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

    /// Whether it may leave its backend connection now, as far as state goes: nothing pins it, and
    /// its rules do not keep it.
    pub fn is_free(&self) -> bool {
        self.rules.hold != Hold::Session && self.pins().is_empty()
    }

    /// Whether it holds nothing, nothing is in doubt, and no server has anything left to tell of it:
    /// its next read may run on any connection that is like it, together with others'.
    pub fn is_plain(&self) -> bool {
        self.is_free()
            && self.untold.pending_changes == PendingChanges::Nothing
            && !self.untold.is_status_unknown
            && self.doubts.names.is_empty()
            && self.calls.is_empty()
            && self.baseline.is_some()
    }

    /// A connection that is like it, as far as a statement can see that changes nothing.
    pub fn mirrored(&self) -> Option<ConnectionState> {
        let baseline = self.baseline.as_ref()?;
        let values = Rc::clone(&self.values);
        Some(ConnectionState::new(Rc::clone(baseline), values))
    }

    /// Whether its connection keeps traces or profiles of its statements: a statement of the proxy's own would
    /// take their place.
    pub fn is_traced(&self) -> bool {
        let is_trace = |name: &Rc<[u8]>| matches!(&**name, b"optimizer_trace" | b"profiling");
        self.bound.iter().any(is_trace)
    }

    /// Pins it for as long as it lives: a statement that was too long to be read, a command whose
    /// effects are not known.
    pub fn pin(&mut self, pin: Pin) {
        self.pinned.for_life.add(pin);
    }

    /// So many of its prepared statements have an open cursor now.
    pub fn cursors_open(&mut self, count: usize) {
        self.pinned.now.set(Pin::Cursor, count > 0);
    }

    /// The parameters of the prepared statement that is observed next are known: integers, and what
    /// strings and decimals begin with, taken for integers. Then an insert id that is none of them
    /// need not be asked for.
    pub fn parameters_are(&mut self, numbers: Vec<u64>) {
        self.reading.parameters = Some(numbers);
    }

    /// COM_RESET_CONNECTION: everything ends but the schema.
    pub fn reset(&mut self, table: &ValuesTable) {
        let values = match self.values.schema() {
            Some(schema) => table.in_schema(schema),
            None => table.fresh(),
        };
        self.change_user(values);
    }

    /// COM_CHANGE_USER: everything ends, and begins with these values.
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

    /// It begins anew where global variables have changed: until it is on a connection its statements are read
    /// as `flags` says.
    pub fn begins_as(&mut self, flags: Flags) {
        self.baseline = None;
        self.reading.flags = self.values.at_home(flags);
    }

    /// Its schema's name, which the trackers tell in UTF-8, would mean another one in COM_INIT_DB.
    fn is_schema_unwritable(&self) -> bool {
        let is_ascii = self.values.schema().is_none_or(<[u8]>::is_ascii);
        !is_ascii && !self.is_utf8()
    }

    pub(super) fn is_utf8(&self) -> bool {
        let client = self.current(b"character_set_client");
        client.is_some_and(|client| client.starts_with(b"utf8"))
    }

    /// Names that are not ASCII can be written where it is, and on any connection that was reset.
    fn may_write_wide(&self) -> bool {
        let login = self.baseline.as_ref();
        self.is_utf8() && login.is_some_and(|baseline| baseline.is_utf8())
    }

    /// The name of the last statement's user variable; none where it cannot be known.
    pub(super) fn user_variable_name(&self, raw: &[u8]) -> Option<Vec<u8>> {
        let name = sql::user_variable_name(raw, self.reading.last_flags)?;
        (name.is_ascii() || self.reading.was_utf8).then_some(name)
    }

    /// A variable's value, set since login or left by it; none where it is not known.
    pub(super) fn current(&self, name: &[u8]) -> Option<&[u8]> {
        if self.doubts.names.iter().any(|doubtful| **doubtful == *name) {
            return None;
        }
        let login = || self.baseline.as_ref()?.value(name).map(|value| &**value);
        self.values.variable(name).or_else(login)
    }

    /// It is on a connection with this baseline now.
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

    /// It has these values now.
    pub(super) fn assume(&mut self, values: Rc<Values>) {
        self.set_apart.insert_id = values.variable(INSERT_ID).is_some();
        self.set_apart.collation = values.variable(OF_SCHEMA).is_some();
        self.values = values;
        self.reading.flags = match &self.baseline {
            Some(baseline) => self.values.flags(baseline),
            None => self.values.at_home(self.reading.flags),
        };
    }

    /// A variable has to be asked about.
    pub(super) fn doubt(&mut self, name: &[u8]) {
        if variables::is_name(name) && !self.doubts.names.iter().any(|known| **known == *name) {
            self.doubts.names.push(Rc::from(name));
        }
    }

    /// A variable is set to what cannot be set elsewhere, or no longer.
    pub(super) fn bind(&mut self, name: &[u8], is_bound: bool) {
        self.bound.retain(|known| **known != *name);
        if is_bound {
            self.bound.push(Rc::from(name));
        }
    }

    /// A variable's value is known.
    pub(super) fn trust(&mut self, name: &[u8]) {
        self.doubts.names.retain(|known| **known != *name);
    }
}
