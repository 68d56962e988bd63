//! What the last statement left for functions to ask: LAST_INSERT_ID(), ROW_COUNT(), FOUND_ROWS() and
//! the number of warnings.

/// What LAST_INSERT_ID() returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LastInsertId {
    /// This.
    Known(u64),
    /// Only the connection that ran the last statement knows: an OK packet with an insert id may
    /// tell an explicit value, which LAST_INSERT_ID() does not return.
    OnConnection,
    /// Nobody knows: that connection is gone. What runs sees 0, as after login; who asks is told.
    Lost,
}

impl LastInsertId {
    /// What a connection is set to for it; none where it is the connection that knows.
    pub(super) fn seen(self) -> Option<u64> {
        match self {
            Self::Known(id) => Some(id),
            Self::OnConnection => None,
            Self::Lost => Some(0),
        }
    }
}

impl Default for LastInsertId {
    /// As after login.
    fn default() -> Self {
        Self::Known(0)
    }
}

/// What SHOW WARNINGS would show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Nothing.
    Empty,
    /// What the last statement left on its connection; perhaps nothing.
    Fresh,
    /// What was shown before: the last command left it alone.
    Kept,
    /// What was shown before, and behind it what the last command left on its connection.
    Appended,
}

/// What later statements may ask of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementDiagnostics {
    /// ROW_COUNT(): of the OK packet; −1 after rows and after an error.
    pub row_count: i64,
    /// FOUND_ROWS(); none where only the connection knows.
    pub found_rows: Option<u64>,
    /// LAST_INSERT_ID()
    pub last_insert_id: LastInsertId,
    /// What SHOW WARNINGS would show.
    pub list: List,
    /// The number of warnings, and of errors, in that list, as far as it has been told: an error may
    /// have warnings in front of it.
    pub warnings: u16,
    /// What MySQL counts as warnings in the OK of a command that is no statement: those of the last
    /// statement, though it were one that only shows them; none for all that are in the list.
    pub ok_warnings: Option<u16>,
    /// There were warnings, and the only connection that knew them is gone.
    pub is_list_lost: bool,
}

impl Default for StatementDiagnostics {
    /// As after login, and after COM_RESET_CONNECTION.
    fn default() -> Self {
        Self {
            row_count: 0,
            // The servers answer with what another session left.
            found_rows: None,
            last_insert_id: LastInsertId::default(),
            list: List::Empty,
            warnings: 0,
            ok_warnings: Some(0),
            is_list_lost: false,
        }
    }
}
