//! What the client's statements have made of a session, apart from any connection.

use std::rc::Rc;

use pool::{ClientStatementId, ClientStatements};
use session::state::SessionState;

use backend::pending_answers::PendingAnswers;
use backend::prepared_statement::StatementKey;

/// The state that the client's statements have left.
pub struct SqlState {
    /// Variables, the schema, transactions, pins.
    pub session: SessionState,
    /// What the client has prepared.
    pub statements: ClientStatements<StatementKey>,
    /// Statements with an open cursor on the connection that is held.
    pub cursors: Vec<(ClientStatementId, StatementKey)>,
    /// What the client may still ask about its last statement.
    pub(crate) pending_answers: Rc<PendingAnswers>,
    /// How many changes of global variables there had been when the session began, or took them up last.
    pub(crate) inherits_at: u64,
    /// The last statement may have changed global variables.
    pub(crate) sets_globals: bool,
    /// The session has set global variables.
    pub(crate) has_set_globals: bool,
    /// Files of the client that texts of PREPARE have named.
    pub(crate) prepared_files: Box<[Vec<u8>]>,
}

impl SqlState {
    /// A session's state before its first statement.
    pub(crate) fn new(
        session: SessionState,
        statements: ClientStatements<StatementKey>,
        inherits_at: u64,
    ) -> Self {
        Self {
            session,
            statements,
            cursors: Vec::new(),
            pending_answers: Rc::default(),
            inherits_at,
            sets_globals: false,
            has_set_globals: false,
            prepared_files: Box::default(),
        }
    }
}
