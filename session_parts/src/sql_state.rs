//! The state of a session that its client's statements have made, apart from any connection.

use std::rc::Rc;

use pool::{ClientStatementId, ClientStatements};
use session::state::{ConnectionState, Former, Heir, SessionState, ValuesTable};
use thin_vec::ThinVec;

use backend::pending_answers::PendingAnswers;
use backend::prepared_statement::StatementKey;

/// The state that the client's statements have left.
pub struct SqlState {
    /// Variables, the schema, transactions, pins.
    session: SessionState,
    /// The statements that the client has prepared.
    statements: ClientStatements<StatementKey>,
    /// Statements with an open cursor on the connection that is held.
    cursors: ThinVec<(ClientStatementId, StatementKey)>,
    /// The answers that the client may still ask for about its last statement.
    pending_answers: Rc<PendingAnswers>,
    /// The number of changes of global variables when the session began, or took them over last.
    inherits_at: u64,
    /// The last statement may have changed global variables.
    sets_globals: bool,
    /// The session has set global variables.
    has_set_globals: bool,
    /// Files of the client that texts of PREPARE have named.
    prepared_files: Box<[Vec<u8>]>,
}

impl SqlState {
    /// A session's state before its first statement.
    pub fn new(
        session: SessionState,
        statements: ClientStatements<StatementKey>,
        inherits_at: u64,
    ) -> Self {
        Self {
            session,
            statements,
            cursors: ThinVec::new(),
            pending_answers: Rc::default(),
            inherits_at,
            sets_globals: false,
            has_set_globals: false,
            prepared_files: Box::default(),
        }
    }

    /// The state of a shadow session beside this one.
    pub fn double(
        &self,
        session: SessionState,
        statements: ClientStatements<StatementKey>,
    ) -> Self {
        Self {
            has_set_globals: self.has_set_globals,
            ..Self::new(session, statements, self.inherits_at)
        }
    }

    /// Takes over the state of another account. Returns the former state.
    pub fn enter_account(&mut self, session: SessionState, inherits_at: u64) -> SavedSqlState {
        SavedSqlState {
            session: std::mem::replace(&mut self.session, session),
            inherits_at: self.inherit_at(inherits_at),
            has_set_globals: std::mem::take(&mut self.has_set_globals),
        }
    }

    /// Restores the former state, because the change of the account has failed.
    pub fn return_to(&mut self, before: SavedSqlState) {
        self.session = before.session;
        self.inherits_at = before.inherits_at;
        self.has_set_globals = before.has_set_globals;
    }

    /// Variables, the schema, transactions, pins.
    #[inline]
    pub fn session(&self) -> &SessionState {
        &self.session
    }

    /// The same, to be changed.
    #[inline]
    pub fn session_mut(&mut self) -> &mut SessionState {
        &mut self.session
    }

    /// The statements that the client has prepared.
    #[inline]
    pub fn statements(&self) -> &ClientStatements<StatementKey> {
        &self.statements
    }

    /// The same, to be changed.
    #[inline]
    pub fn statements_mut(&mut self) -> &mut ClientStatements<StatementKey> {
        &mut self.statements
    }

    /// Closes the client's prepared statements, and its cursors.
    pub fn forget_statements(&mut self) {
        self.cursors.clear();
        self.statements.clear();
    }

    /// Whether a cursor is open on the connection that is held.
    #[inline]
    pub fn has_cursors(&self) -> bool {
        !self.cursors.is_empty()
    }

    /// The number of cursors that are open on the held connection.
    pub fn cursor_count(&self) -> usize {
        self.cursors.len()
    }

    /// The statement of an open cursor.
    pub fn cursor(&self, id: ClientStatementId) -> Option<&StatementKey> {
        let found = self.cursors.iter().find(|(of, _)| *of == id);
        found.map(|(_, key)| key)
    }

    /// Notes that a statement has opened a cursor.
    pub fn open_cursor(&mut self, id: ClientStatementId, key: StatementKey) {
        self.cursors.push((id, key));
        self.session.cursors_open(self.cursors.len());
    }

    /// Closes the cursor of a statement, if it has one.
    pub fn close_cursor(&mut self, id: ClientStatementId) -> Option<StatementKey> {
        let at = self.cursors.iter().position(|(of, _)| *of == id)?;
        let (_, key) = self.cursors.swap_remove(at);
        self.session.cursors_open(self.cursors.len());
        Some(key)
    }

    /// The answers that the client may still ask for about its last statement.
    #[inline]
    pub fn pending_answers(&self) -> &Rc<PendingAnswers> {
        &self.pending_answers
    }

    /// Discards the answers about the last statement.
    pub fn forget_answers(&mut self) {
        self.pending_answers = Rc::default();
    }

    /// The number of changes of global variables when the session inherited them last.
    #[inline]
    pub fn inherits_at(&self) -> u64 {
        self.inherits_at
    }

    /// Notes that the session inherits the global variables now. Returns when it did so last.
    pub fn inherit_at(&mut self, now: u64) -> u64 {
        std::mem::replace(&mut self.inherits_at, now)
    }

    /// Keeps the former values for the session and its prepared statements, after global variables have changed.
    pub fn keep_inherited(
        &mut self,
        table: &ValuesTable,
        connection: Option<&mut ConnectionState>,
        former: &[Former<'_>],
        is_interactive: bool,
    ) {
        let heir = Heir {
            is_interactive,
            is_privileged: self.has_set_globals,
        };
        (self.session).keep_inherited(table, connection, former, heir);
        for key in self.statements.all_mut() {
            key.values = self.session.with_inherited(table, &key.values);
        }
    }

    /// Whether the last statement may have changed global variables.
    #[inline]
    pub fn sets_globals(&self) -> bool {
        self.sets_globals
    }

    /// Notes that a statement may have changed global variables.
    pub fn note_globals(&mut self, is_ok: bool) {
        self.sets_globals = true;
        self.has_set_globals |= is_ok;
    }

    /// Notes that the proxy reads the global variables now.
    pub fn globals_read(&mut self) {
        self.sets_globals = false;
    }

    /// Files of the client that texts of PREPARE have named.
    pub fn prepared_files(&self) -> &[Vec<u8>] {
        &self.prepared_files
    }

    /// Notes files of the client that a text of PREPARE has named. At most `names_max` names are kept.
    pub fn note_prepared_files(&mut self, names: &[Vec<u8>], names_max: usize) {
        let mut known = std::mem::take(&mut self.prepared_files).into_vec();
        let room = names_max.saturating_sub(known.len());
        known.extend(names.iter().take(room).cloned());
        self.prepared_files = known.into_boxed_slice();
    }
}

/// The state of a session before it became another account's.
pub struct SavedSqlState {
    session: SessionState,
    inherits_at: u64,
    has_set_globals: bool,
}
