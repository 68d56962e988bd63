//! The observed facts about one exchange.

use sql::{Effects, Facts, Show, StatementKind};
use wire::StatusFlags;

use crate::Tally;
use crate::state::changes::Changes;

/// The kind of a command.
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
    /// COM_STMT_FETCH, which changes only ROW_COUNT() and the count of warnings.
    Fetch,
    /// COM_STMT_RESET, and EXECUTE of a statement that does not exist.
    Reset,
    /// COM_FIELD_LIST. MySQL adds a warning without reporting it.
    FieldList,
    /// COM_SET_OPTION and others that change only the diagnostics of the last command.
    Command,
    /// Something whose effects are not known.
    Unknown,
}

/// All that was seen of one exchange.
#[derive(Debug)]
pub struct Seen<'a> {
    /// The kind of the command.
    pub ran: Ran,
    /// The facts of its text.
    pub facts: &'a Facts,
    /// Its text.
    pub text: &'a [u8],
    /// The changes that the trackers reported.
    pub changes: &'a Changes,
    /// The counts and flags of its results.
    pub tally: &'a Tally,
    /// The number of the error that ended the exchange.
    pub error: Option<u16>,
}

/// Errors for unreadable text, unknown variables, unknown routines. The server checks all of them before anything runs.
const UNREAD: [u16; 3] = [1064, 1193, 1305];

/// Errors about privileges, schemas, tables, columns, values of variables, locked tables, read-only.
const REFUSED: [u16; 28] = [
    1044, 1046, 1049, 1050, 1051, 1054, 1099, 1100, 1136, 1142, 1143, 1146, 1149, 1179, 1192, 1227,
    1228, 1229, 1231, 1232, 1235, 1238, 1243, 1290, 1295, 1370, 1568, 1792,
];

impl Seen<'_> {
    pub(super) fn is_ok(&self) -> bool {
        self.error.is_none()
    }

    /// The status flags of the last OK or EOF; none after an error.
    pub(super) fn status(&self) -> Option<StatusFlags> {
        self.tally.status.filter(|_| self.is_ok())
    }

    /// Whether the server could not read the statement: none of it ran.
    pub(super) fn is_unread(&self) -> bool {
        self.is_refused_with(&UNREAD)
    }

    /// Whether the server refused the statement before it ran, so that no trigger ran either. The
    /// server may have evaluated constants.
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused_with(&UNREAD) || self.is_refused_with(&REFUSED)
    }

    /// Whether the error is one of these. Within a procedure the same numbers may come late.
    pub(super) fn is_refused_with(&self, numbers: &[u16]) -> bool {
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

    /// Whether schema or variables may have changed, by the reports and the text.
    pub(super) fn may_set_values(&self) -> bool {
        !self.changes.variables.is_empty()
            || self.changes.schema.is_some()
            || self.ran == Ran::InitDb
            || self.has(Effects::VARIABLES | Effects::SCHEMA)
    }

    pub(super) fn is_statement(&self) -> bool {
        self.ran == Ran::Statement
    }

    pub(super) fn has(&self, effects: Effects) -> bool {
        self.is_statement() && self.facts.effects.has(effects)
    }

    /// Whether the statement reads or sets diagnostics: it leaves them as they are.
    pub(super) fn asks_diagnostics(&self) -> bool {
        let kind = self.facts.kind;
        self.is_ok()
            && matches!(
                kind,
                StatementKind::GetDiagnostics
                    | StatementKind::Show(
                        Show::Warnings
                            | Show::SomeWarnings
                            | Show::WarningCount
                            | Show::Errors
                            | Show::SomeErrors
                            | Show::ErrorCount
                    )
            )
    }
}
