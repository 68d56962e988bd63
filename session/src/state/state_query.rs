//! What only the backend connection knows, asked of it before the session leaves it.

use std::rc::Rc;

use sql::Facts;
use wire::StatusFlags;
use wire::column::{ColumnDefinition, ColumnType};

use super::baseline::as_selected;
use super::calls::Call;
use super::changes::Changes;
use super::connection::ConnectionState;
use super::literal;
use super::observe::reported::EXPLAINING;
use super::pins::{Pin, Pins};
use super::restoration::is_restorable;
use super::session::{PendingChanges, SessionState};
use super::statement_diagnostics::LastInsertId;
use super::user_variables::{self, UserValue};
use super::values::{Values, ValuesTable};
use super::variables::{self, INSERT_ID};

/// Columns of one question.
const ASKED_MAX: usize = 200;

/// The session may have set `sql_select_limit` to 0.
const ONE_ROW: &[u8] = b" LIMIT 1";

/// A statement that the proxy sends on its own on the session's connection, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateQuery {
    text: Vec<u8>,
    asked: Vec<QueriedState>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum QueriedState {
    Variable(Rc<[u8]>),
    /// Three columns: bytes, collation, value.
    UserVariable(Rc<[u8]>),
    LastInsertId,
    /// Whether this session has the lock.
    Lock(Rc<[u8]>),
    /// What a procedure does.
    Definition(Call),
}

/// The reply to an inquiry.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The flags of its OK or EOF.
    pub status: StatusFlags,
    /// What the trackers said.
    pub changes: &'a Changes,
    /// The columns of its row; none where it has no row.
    pub columns: &'a [Column],
    /// The row, as text.
    pub row: &'a [Option<&'a [u8]>],
}

/// A column of the answer, as its definition tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The type's number (`enum_field_types`).
    pub type_code: u8,
    /// It has the flag UNSIGNED.
    pub is_unsigned: bool,
}

impl From<&ColumnDefinition<'_>> for Column {
    fn from(definition: &ColumnDefinition<'_>) -> Self {
        Self {
            type_code: definition.kind.0,
            is_unsigned: definition.flags & ColumnDefinition::UNSIGNED != 0,
        }
    }
}

impl StateQuery {
    /// The statement, for COM_QUERY.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    fn status() -> Self {
        Self {
            text: b"DO 0".to_vec(),
            asked: Vec::new(),
        }
    }

    /// Makes the server tell what it has noted and not told: MySQL with any OK, MariaDB with one
    /// that has something else to tell, which a transaction's begin and end is.
    fn flush(connection: &ConnectionState) -> Self {
        let text: &[u8] = match variables::is_mariadb(connection.server()) {
            true => b"BEGIN NOT ATOMIC START TRANSACTION; COMMIT AND NO CHAIN NO RELEASE; END",
            false => b"DO 0",
        };
        Self {
            text: text.to_vec(),
            asked: Vec::new(),
        }
    }

    /// The same within a transaction of MariaDB's, which UUID() makes unsafe to repeat: it has that to
    /// tell once.
    fn flush_within() -> Self {
        Self {
            text: b"DO UUID()".to_vec(),
            asked: Vec::new(),
        }
    }

    /// A statement with a purpose of its own.
    fn aside() -> Self {
        Self {
            text: Vec::new(),
            asked: Vec::new(),
        }
    }

    fn question() -> Self {
        Self {
            text: b"SELECT ".to_vec(),
            asked: Vec::new(),
        }
    }

    fn definition(call: &Call) -> Self {
        let mut text = b"SHOW CREATE PROCEDURE ".to_vec();
        variables::quote_name(&mut text, &call.schema);
        text.push(b'.');
        variables::quote_name(&mut text, &call.name);
        Self {
            text,
            asked: vec![QueriedState::Definition(call.clone())],
        }
    }

    fn about(what: QueriedState) -> Self {
        let mut state_query = Self::question();
        state_query.ask(what);
        state_query
    }

    fn ask(&mut self, what: QueriedState) {
        if !self.asked.is_empty() {
            self.text.truncate(self.text.len() - ONE_ROW.len());
            self.text.push(b',');
        }
        match &what {
            QueriedState::Variable(name) => {
                self.text.extend_from_slice(b"@@session.");
                self.text.extend_from_slice(name);
            }
            QueriedState::UserVariable(name) => {
                let mut quoted = Vec::with_capacity(name.len() + 3);
                user_variables::quote(&mut quoted, name);
                for part in [
                    &b"HEX("[..],
                    &quoted,
                    b"),COLLATION(",
                    &quoted,
                    b"),",
                    &quoted,
                ] {
                    self.text.extend_from_slice(part);
                }
            }
            QueriedState::LastInsertId => self.text.extend_from_slice(b"LAST_INSERT_ID()"),
            QueriedState::Lock(name) => {
                self.text.extend_from_slice(b"IS_USED_LOCK(_utf8mb4 ");
                literal::hex(&mut self.text, name);
                self.text.extend_from_slice(b")<=>CONNECTION_ID()");
            }
            // A statement of its own.
            QueriedState::Definition(_) => {}
        }
        self.text.extend_from_slice(ONE_ROW);
        self.asked.push(what);
    }
}

impl SessionState {
    /// What to ask of its connection before its next statement, so that it may leave the connection
    /// or its state stays known; mostly none. To be called after each exchange; one question may be
    /// followed by another.
    pub fn state_query(&self, connection: &ConnectionState) -> Option<StateQuery> {
        // What SET STATEMENT has taken back is as before. The session cannot leave while it is traced.
        let may_wait = self.untold.pending_changes == PendingChanges::Reversal && self.is_traced();
        if self.untold.pending_changes != PendingChanges::Nothing && self.may_flush() && !may_wait {
            return Some(match self.untold.is_status_unknown {
                true => StateQuery::status(),
                false => StateQuery::flush(connection),
            });
        }
        if !self.query_may_unpin() {
            return None;
        }
        if self.untold.is_status_unknown {
            return Some(StateQuery::status());
        }
        if let Some(call) = self.calls.next() {
            return Some(StateQuery::definition(call));
        }
        let mut state_query = StateQuery::question();
        for name in &self.doubts.names {
            let spelled = variables::spelled(name, self.server);
            state_query.ask(QueriedState::Variable(Rc::from(spelled)));
        }
        let are_short = !self.user_variables.are_too_long();
        let is_askable = |name: &&Rc<[u8]>| are_short && (name.is_ascii() || self.is_utf8());
        let unknown = self.user_variables.unknown().filter(is_askable);
        for name in unknown.take(ASKED_MAX) {
            state_query.ask(QueriedState::UserVariable(Rc::clone(name)));
        }
        if self.held.is_lock_released && !self.held.has_other_locks {
            for name in &self.held.locks {
                state_query.ask(QueriedState::Lock(Rc::clone(name)));
            }
        }
        if self.diagnostics.last_insert_id == LastInsertId::OnConnection {
            state_query.ask(QueriedState::LastInsertId);
        }
        match self.doubts.asks_singly {
            true => state_query.asked.into_iter().next().map(StateQuery::about),
            false => (!state_query.asked.is_empty()).then_some(state_query),
        }
    }

    /// What to ask before a statement that changes what the server tells, where it has something to
    /// tell already: afterwards nobody could say what was whose. Nearly always none.
    pub fn state_query_before(&self, facts: &Facts) -> Option<StateQuery> {
        if self.untold.pending_changes != PendingChanges::Anything
            || !variables::is_mariadb(self.server)
        {
            return None;
        }
        let is_open = self.pinned.now.has(Pin::Transaction) && !self.untold.is_status_unknown;
        let is_mixed = facts.effects.has(EXPLAINING) && !self.pinned.for_life.has(Pin::State);
        (is_open && is_mixed).then(StateQuery::flush_within)
    }

    /// What to ask before the proxy tells by itself how the session's transaction stands, where an error
    /// has left that open.
    pub fn status_query(&self) -> Option<StateQuery> {
        self.untold.is_status_unknown.then(StateQuery::status)
    }

    /// What to ask before the connection is set to something else for a while, whatever pins the session:
    /// back it goes to what is known. To be repeated until there is nothing left.
    pub fn variables_query(&self) -> Option<StateQuery> {
        let mut state_query = StateQuery::question();
        for name in &self.doubts.names {
            let spelled = variables::spelled(name, self.server);
            state_query.ask(QueriedState::Variable(Rc::from(spelled)));
        }
        match self.doubts.asks_singly {
            true => state_query.asked.into_iter().next().map(StateQuery::about),
            false => (!state_query.asked.is_empty()).then_some(state_query),
        }
    }

    /// The server answered an inquiry with an error, or with more than the proxy keeps. A variable that cannot be read does not exist, and
    /// so was not set; of several nobody knows which it is, and each is asked alone.
    pub fn refused(&mut self, state_query: &StateQuery) {
        match state_query.asked.as_slice() {
            [QueriedState::Variable(name)] => {
                let name = variables::canonical(name, self.server).to_vec();
                self.trust(&name);
            }
            [QueriedState::Definition(call)] => {
                self.calls.ask(&call.clone());
                self.pinned.for_life.add(Pin::Routine);
            }
            [_, _, ..] if !self.doubts.asks_singly => self.doubts.asks_singly = true,
            // Its value is too long to be told.
            [QueriedState::UserVariable(_)] => self.pinned.for_life.add(Pin::UserVariable),
            // Nothing that was asked is known, nor will be.
            _ => self.pinned.for_life.add(Pin::State),
        }
    }

    /// Whether the server can be made to tell without ending a transaction or releasing locks. It is
    /// done at once, whatever else pins the session: the next statement's changes would hide what
    /// the failed one did.
    fn may_flush(&self) -> bool {
        let held = [
            Pin::TableLock,
            Pin::GlobalLock,
            Pin::NextTransaction,
            Pin::Xa,
        ];
        let is_open = self.pinned.now.has(Pin::Transaction) && !self.untold.is_status_unknown;
        let is_safe = !is_open && !held.iter().any(|pin| self.pinned.now.has(*pin));
        let is_blind = self.pinned.for_life.has(Pin::State);
        !is_blind && (is_safe || !variables::is_mariadb(self.server))
    }

    /// Whether all that pins it may end by asking.
    fn query_may_unpin(&self) -> bool {
        let mut asked = Pins::NONE;
        asked.set(Pin::Transaction, self.untold.is_status_unknown);
        asked.add(Pin::Variable);
        asked.add(Pin::UserVariable);
        asked.add(Pin::State);
        let is_released = self.held.is_lock_released && !self.held.has_other_locks;
        asked.set(Pin::NamedLock, is_released);
        asked.set(Pin::Routine, !self.calls.is_empty());
        let is_lasting = !self.pinned.for_life.is_empty() || !self.bound.is_empty();
        !is_lasting && self.pins().iter().all(|pin| asked.has(pin))
    }

    /// The answer to an inquiry that ended with OK. One that does not fit the question leaves the
    /// rest as it was, pins and all.
    pub fn answer(
        &mut self,
        connection: &mut ConnectionState,
        table: &ValuesTable,
        state_query: &StateQuery,
        answer: &Answer<'_>,
    ) {
        let is_open = answer.status.contains(StatusFlags::IN_TRANS);
        self.pinned.now.set(Pin::Transaction, is_open);
        let mut values = Values::clone(&self.values);
        self.observe_answer(&mut values, state_query, answer);
        self.untold.is_status_unknown = false;
        let mut cells = answer
            .columns
            .iter()
            .copied()
            .zip(answer.row.iter().copied());
        for asked in &state_query.asked {
            if self
                .learn(connection, &mut values, asked, &mut cells)
                .is_none()
            {
                break;
            }
        }
        let before = Rc::clone(&self.values);
        self.assume(table.intern(values));
        connection.follow(table, &before, &self.values);
    }

    /// Another statement of the proxy's own has ended with OK on the session's connection, and has
    /// told what those before it did. An EOF that could not tell has told nothing.
    pub fn overhear(
        &mut self,
        connection: &mut ConnectionState,
        table: &ValuesTable,
        status: StatusFlags,
        changes: &Changes,
    ) {
        let answer = Answer {
            status,
            changes,
            columns: &[],
            row: &[],
        };
        self.answer(connection, table, &StateQuery::aside(), &answer);
    }

    /// What the trackers say here was done by the statements before.
    fn observe_answer(
        &mut self,
        values: &mut Values,
        state_query: &StateQuery,
        answer: &Answer<'_>,
    ) {
        let changes = answer.changes;
        let is_told = answer.status.contains(StatusFlags::SESSION_STATE_CHANGED);
        let is_flush = !self.untold.is_status_unknown && *state_query != StateQuery::flush_within();
        let was_flushed = match *state_query == StateQuery::aside() {
            true => is_told,
            false => is_told || is_flush || !variables::is_mariadb(self.server),
        };
        let was_owed = self.untold.pending_changes;
        if state_query.asked.is_empty() && was_flushed {
            self.untold.pending_changes = PendingChanges::Nothing;
        }
        let before = values.clone();
        self.note_late(values, changes);
        let is_reversal = was_owed == PendingChanges::Reversal && *values == before;
        if self.untold.pending_changes == PendingChanges::Nothing {
            self.untold.reversed.clear();
        }
        if changes.is_state_changed && !is_reversal && !self.rules.waived.has(Pin::State) {
            self.pinned.for_life.add(Pin::State);
        }
    }

    /// Takes the cells of one thing that was asked; none if they do not fit.
    fn learn<'a>(
        &mut self,
        connection: &mut ConnectionState,
        values: &mut Values,
        asked: &QueriedState,
        cells: &mut impl Iterator<Item = Cell<'a>>,
    ) -> Option<()> {
        match asked {
            QueriedState::Variable(name) => {
                let (_, value) = cells.next()?;
                self.learn_variable(values, name, value.unwrap_or_default());
            }
            QueriedState::UserVariable(name) => {
                let (bytes, collation, value) = (cells.next()?, cells.next()?, cells.next()?);
                let value = value_of(bytes.1, collation.1, value);
                if value.is_none() {
                    // A geometry, for instance: what it is cannot be written down.
                    self.pinned.for_life.add(Pin::UserVariable);
                }
                let known = &mut connection.user_variables;
                known.insert(Rc::clone(name), value.clone());
                self.user_variables.set(name, value);
            }
            QueriedState::LastInsertId => {
                let (_, value) = cells.next()?;
                let text = std::str::from_utf8(value?).ok()?;
                self.diagnostics.last_insert_id = LastInsertId::Known(text.parse().ok()?);
                connection.last_insert_id = self.diagnostics.last_insert_id;
            }
            QueriedState::Definition(call) => {
                // One of another form, without a definition, is asked for once only.
                let mut texts = cells.skip(1).map(|(_, text)| text.unwrap_or_default());
                let mode = texts.next().unwrap_or_default();
                let definition = texts.next().unwrap_or_default();
                self.learn_definition(connection, call, mode, definition);
            }
            QueriedState::Lock(name) => {
                let (_, value) = cells.next()?;
                if value == Some(b"0") {
                    self.held.locks.retain(|known| known != name);
                }
                self.held.is_lock_released = false;
                let is_held = !self.held.locks.is_empty() || self.held.has_other_locks;
                self.pinned.now.set(Pin::NamedLock, is_held);
            }
        }
        Some(())
    }

    fn learn_variable(&mut self, values: &mut Values, spelled: &[u8], value: &[u8]) {
        let name = variables::canonical(spelled, self.server);
        let value = as_selected(name, value);
        self.trust(name);
        if name == b"collation_connection" {
            self.learn_collation(&value);
        }
        if name == INSERT_ID && *value == *b"0" {
            values.unset(name);
        } else if is_restorable(name) {
            values.set(name, value);
        } else {
            self.note_asked(name, &value);
        }
    }

    fn learn_collation(&mut self, collation: &Rc<[u8]>) {
        if let (Some(baseline), Some(key)) = (&self.baseline, self.doubts.collation_key.take()) {
            baseline.learn_collation(key, Rc::clone(collation));
        }
    }
}

type Cell<'a> = (Column, Option<&'a [u8]>);

/// The value of a user variable with its type, sign and collation; tried with some sixty values on
/// both families (`CREATE TABLE … AS SELECT @x` shows the type).
fn value_of(
    bytes: Option<&[u8]>,
    collation: Option<&[u8]>,
    (column, value): Cell<'_>,
) -> Option<UserValue> {
    let literal = match ColumnType(column.type_code) {
        ColumnType::LONG | ColumnType::LONGLONG => {
            integer(value.unwrap_or(b"0"), column.is_unsigned)
        }
        // Without a point it would be an integer.
        ColumnType::DECIMAL | ColumnType::NEWDECIMAL => number(value.unwrap_or(b"0"), b'.', b"."),
        ColumnType::DOUBLE => number(value.unwrap_or(b"0"), b'e', b"e0"),
        ColumnType::MEDIUM_BLOB
        | ColumnType::LONG_BLOB
        | ColumnType::BLOB
        | ColumnType::VAR_STRING
        | ColumnType::STRING => {
            let bytes = literal::from_hex(bytes.unwrap_or_default())?;
            literal::string(&bytes, collation?)
        }
        _ => None,
    }?;
    Some(match value {
        Some(_) => UserValue::of(literal),
        None => UserValue::null_like(literal),
    })
}

fn integer(digits: &[u8], is_unsigned: bool) -> Option<Rc<[u8]>> {
    let is_integer = literal::is_number(digits) && !digits.contains(&b'.');
    is_integer.then(|| match is_unsigned {
        true => Rc::from([b"CAST(", digits, b" AS UNSIGNED)"].concat()),
        false => Rc::from(digits),
    })
}

/// A number that has a mark of its type, or gets it.
fn number(text: &[u8], mark: u8, suffix: &[u8]) -> Option<Rc<[u8]>> {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let is_number = !text.is_empty() && text.iter().all(is_part);
    let suffix = if text.contains(&mark) { b"" } else { suffix };
    is_number.then(|| Rc::from([text, suffix].concat()))
}
