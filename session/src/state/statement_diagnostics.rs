//! The diagnostics that the last statement left for functions: LAST_INSERT_ID(), ROW_COUNT(),
//! FOUND_ROWS() and the number of warnings.

/// The result of LAST_INSERT_ID().
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LastInsertId {
    /// This id.
    Known(u64),
    /// Only the connection that ran the last statement knows: an OK packet with an insert id may
    /// tell an explicit value, which LAST_INSERT_ID() does not return.
    OnConnection,
    /// The id is lost with its connection. A statement sees 0, as after login; a client that asks is told so.
    Lost,
}

impl LastInsertId {
    /// The id that a connection is set to; none if only the session's connection knows it.
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
    /// The list that the last statement left on its connection; it may be empty.
    Fresh,
    /// The previous list: the last command did not change it.
    Kept,
    /// The previous list, followed by the list that the last command left on its connection.
    Appended,
}

/// The diagnostics that later statements may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementDiagnostics {
    /// ROW_COUNT(): of the OK packet; −1 after rows and after an error.
    pub row_count: i64,
    /// FOUND_ROWS(); none if only the connection knows it.
    pub found_rows: Option<u64>,
    /// LAST_INSERT_ID()
    pub last_insert_id: LastInsertId,
    /// What SHOW WARNINGS would show.
    pub list: List,
    /// The number of warnings and errors in that list, as far as the server has reported it: an
    /// error may have warnings in front of it.
    pub warnings: u16,
    /// The warning count of MySQL in the OK of a command that is no statement: that of the last
    /// statement, even of one that only shows warnings; none for the whole list.
    pub ok_warnings: Option<u16>,
    /// There were warnings, and the only connection that had them is gone.
    pub is_list_lost: bool,
}

impl Default for StatementDiagnostics {
    /// As after login, and after COM_RESET_CONNECTION.
    fn default() -> Self {
        Self {
            row_count: 0,
            // The servers answer with values that another session left.
            found_rows: None,
            last_insert_id: LastInsertId::default(),
            list: List::Empty,
            warnings: 0,
            ok_warnings: Some(0),
            is_list_lost: false,
        }
    }
}
