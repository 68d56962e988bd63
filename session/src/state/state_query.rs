//! State that only the backend connection knows. The proxy asks for it before the session releases the connection.

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

/// The maximum number of user variables in one query.
const ASKED_MAX: usize = 200;

/// The query needs a limit of its own, because the session may have set `sql_select_limit` to 0.
const ONE_ROW: &[u8] = b" LIMIT 1";

/// A statement of the proxy's on the session's connection, and the state that it asks for.
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
    /// The definition of a procedure that was called.
    Definition(Call),
}

/// The reply to a state query.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The flags of its OK or EOF.
    pub status: StatusFlags,
    /// The changes that the trackers reported.
    pub changes: &'a Changes,
    /// The columns of the row; empty if the reply has no row.
    pub columns: &'a [Column],
    /// The row, as text.
    pub row: &'a [Option<&'a [u8]>],
}

/// A column of the reply, as its definition describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The type's number (`enum_field_types`).
    pub type_code: u8,
    /// The column has the flag UNSIGNED.
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

    /// Makes the server report changes that it has noted and not reported. MySQL reports them with any OK. MariaDB
    /// reports them with an OK that has something else to report, such as a transaction's begin and end.
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

    /// Does the same within a MariaDB transaction. UUID() makes that transaction unsafe to repeat, and
    /// the server reports that once.
    fn flush_within() -> Self {
        Self {
            text: b"DO UUID()".to_vec(),
            asked: Vec::new(),
        }
    }

    /// A statement that the proxy sends for another purpose.
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
            // A definition has a statement of its own.
            QueriedState::Definition(_) => {}
        }
        self.text.extend_from_slice(ONE_ROW);
        self.asked.push(what);
    }
}

impl SessionState {
    /// Returns the query for the session's connection before the next statement, so that the session
    /// may release the connection or its state stays known. Mostly none. To be called after each
    /// exchange; one query may be followed by another.
    pub fn state_query(&self, connection: &ConnectionState) -> Option<StateQuery> {
        // SET STATEMENT has restored the state. A session that is traced cannot release its connection anyway.
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

    /// Returns what to ask before a statement that changes reported state, if the server has unreported changes:
    /// afterwards the proxy could not tell which statement made which change. Nearly always none.
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

    /// Returns what to ask before the proxy itself reports the session's transaction status, if an error
    /// has left that status unknown.
    pub fn status_query(&self) -> Option<StateQuery> {
        self.untold.is_status_unknown.then(StateQuery::status)
    }

    /// Returns what to ask before the connection gets other values for a while, whatever pins the
    /// session: later it gets the known values back. To be repeated until there is nothing left to ask.
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

    /// The server answered a state query with an error, or with more than the proxy keeps. A variable that cannot be
    /// read does not exist, so it was not set. If a query for several variables fails, each is asked alone.
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
            // The value is too long for the proxy to keep.
            [QueriedState::UserVariable(_)] => self.pinned.for_life.add(Pin::UserVariable),
            // The queried state is not known, and never will be.
            _ => self.pinned.for_life.add(Pin::State),
        }
    }

    /// Whether the proxy can make the server report without ending a transaction or releasing locks.
    /// The proxy does so at once, whatever else pins the session: the next statement's changes would
    /// hide what the failed statement did.
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

    /// Whether a state query may end every pin of the session.
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

    /// Takes in the reply to a state query that ended with OK. A reply that does not fit the query
    /// leaves the rest as it was, pins and all.
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

    /// Another statement of the proxy's has ended with OK on the session's connection, and its reply has reported the
    /// changes of earlier statements. An EOF that could not report has reported nothing.
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

    /// Takes in what this reply's trackers report of earlier statements.
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

    /// Takes the cells of one queried item. Returns none if they do not fit.
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
                    // A geometry, for instance, cannot be written as a literal.
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
                // If the reply has another form, without a definition, the procedure is not asked for again.
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

/// Returns a number with the mark of its type. Appends the suffix if the mark is missing.
fn number(text: &[u8], mark: u8, suffix: &[u8]) -> Option<Rc<[u8]>> {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let is_number = !text.is_empty() && text.iter().all(is_part);
    let suffix = if text.contains(&mark) { b"" } else { suffix };
    is_number.then(|| Rc::from([text, suffix].concat()))
}
