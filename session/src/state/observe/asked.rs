//! The results of LAST_INSERT_ID(), ROW_COUNT(), FOUND_ROWS() and SHOW WARNINGS after an exchange.
//!
//! Tried with MariaDB 10.11, MariaDB 11.8 and MySQL 9.7, statement by statement.

use sql::{Effects, StatementKind};

use super::found_rows::{Counted, counted, has_derived_table, is_of_tables};
use super::generated::is_generated;
use super::reported::is_assigned;
use super::seen::{Ran, Seen};
use super::word_places::places_of;
use crate::state::connection::ConnectionState;
use crate::state::pins::Pin;
use crate::state::session::SessionState;
use crate::state::statement_diagnostics::{LastInsertId, List};
use crate::state::variables;

impl SessionState {
    pub(super) fn note_diagnostics(&mut self, connection: &mut ConnectionState, seen: &Seen<'_>) {
        if seen.ran == Ran::Nothing && seen.is_ok() {
            return;
        }
        if seen.ran == Ran::Fetch && seen.is_ok() {
            self.diagnostics.ok_warnings = Some(0);
            self.diagnostics.row_count = -1;
            return;
        }
        if let Some(count) = row_count(seen) {
            self.diagnostics.row_count = count;
        }
        let counted = counted(seen, self.server, self.reading.last_flags);
        let counted = match counted {
            // The limit cuts the rows that are sent, and not always the count.
            Counted::Rows(_) if self.values.variable(b"sql_select_limit").is_some() => {
                Counted::There
            }
            counted => counted,
        };
        self.note_found_rows(seen, counted);
        if self.note_last_insert_id(seen) == Touched::Yes {
            connection.last_insert_id = self.diagnostics.last_insert_id;
        }
        self.note_list(seen);
        let is_kept =
            self.rules.lasting.has(Pin::Warnings) || seen.facts.kind == StatementKind::Signal;
        self.pinned
            .now
            .set(Pin::Warnings, is_kept && self.diagnostics.warnings > 0);
    }

    fn note_list(&mut self, seen: &Seen<'_>) {
        let is_mariadb = variables::is_mariadb(self.server);
        let count = match seen.is_ok() {
            true if seen.ran == Ran::FieldList && !is_mariadb => 1,
            true => seen.tally.warnings,
            false => 1,
        };
        let list = match seen.ran {
            Ran::Statement | Ran::Prepare | Ran::Unknown => self.list_of_statement(seen, count),
            Ran::FieldList if !is_mariadb => List::Appended,
            // These commands are no statements to the servers, and begin no list of their own.
            _ if count == 0 || seen.ran == Ran::InitDb && seen.is_ok() => List::Kept,
            _ if is_mariadb => List::Fresh,
            _ => List::Appended,
        };
        self.diagnostics.list = list;
        self.diagnostics.ok_warnings = self.reported(seen);
        self.diagnostics.is_list_lost &= matches!(list, List::Kept | List::Appended);
        match list {
            List::Empty => self.diagnostics.warnings = 0,
            List::Fresh => self.diagnostics.warnings = count.max(1),
            List::Appended => {
                self.diagnostics.warnings = self.diagnostics.warnings.saturating_add(count);
            }
            List::Kept => {}
        }
    }

    /// Returns the warning count in the reply to the next command that is no statement (tried with MySQL 9.7).
    fn reported(&self, seen: &Seen<'_>) -> Option<u16> {
        let before = self.diagnostics.ok_warnings;
        match (seen.ran, seen.is_ok()) {
            (Ran::Statement | Ran::Prepare | Ran::Unknown, true) => Some(seen.tally.warnings),
            // An error may have warnings in front of it.
            (Ran::Statement | Ran::Prepare | Ran::Unknown, false) => None,
            (Ran::Reset | Ran::Fetch, is_ok) => Some(u16::from(!is_ok)),
            (Ran::FieldList, _) => Some(0),
            (Ran::InitDb | Ran::Command | Ran::Nothing, true) => before,
            (Ran::InitDb | Ran::Command | Ran::Nothing, false) => {
                before.map(|told| told.saturating_add(1))
            }
        }
    }

    /// MariaDB keeps the list over statements that use neither tables nor routines and have no
    /// warnings.
    fn list_of_statement(&self, seen: &Seen<'_>, count: u16) -> List {
        if seen.asks_diagnostics() {
            // GET DIAGNOSTICS of a condition that does not exist adds an error to the list.
            return match count {
                0 => List::Kept,
                _ => List::Appended,
            };
        }
        if count > 0 {
            return List::Fresh;
        }
        if !variables::is_mariadb(self.server) {
            return List::Empty;
        }
        let has_list = self.diagnostics.warnings > 0;
        let is_cleared = seen.facts.tables().next().is_some()
            || match seen.facts.kind {
                // A derived table is a table, too.
                StatementKind::Select if has_list => {
                    has_derived_table(seen.text, self.reading.last_flags)
                }
                StatementKind::Show(show) => is_of_tables(show, seen.text, self.reading.last_flags),
                StatementKind::Describe => true,
                _ => false,
            };
        // Only the server knows the list after several statements, or after a routine.
        let is_dark = seen.facts.kind == StatementKind::Multi || seen.has(Effects::ANYTHING);
        match (is_dark, is_cleared) {
            (true, true) => List::Fresh,
            (true, false) if seen.tally.has_warned => List::Fresh,
            (true, false) if seen.has(Effects::ANYTHING) => List::Fresh,
            (false, true) => List::Empty,
            (_, false) => List::Kept,
        }
    }

    fn note_found_rows(&mut self, seen: &Seen<'_>, counted: Counted) {
        match counted {
            Counted::Before => return,
            Counted::Rows(rows) => self.diagnostics.found_rows = Some(rows),
            Counted::There => self.diagnostics.found_rows = None,
        }
        let is_counted = seen.is_ok() && seen.has(Effects::FOUND_ROWS);
        self.pinned.now.set(Pin::FoundRows, is_counted);
    }

    /// An OK without an insert id leaves LAST_INSERT_ID(). An OK with an id may report an explicit value.
    fn note_last_insert_id(&mut self, seen: &Seen<'_>) -> Touched {
        let kind = seen.facts.kind;
        if !seen.is_statement() || seen.is_unread() {
            return Touched::No;
        }
        let is_set = seen.has(Effects::LAST_INSERT_ID);
        if is_assigned(seen, b"last_insert_id") || is_assigned(seen, b"identity") {
            if !seen.is_ok() || calls_it(seen.text) {
                self.diagnostics.last_insert_id = LastInsertId::OnConnection;
            }
            return Touched::Yes;
        }
        let inserts = matches!(
            kind,
            StatementKind::Insert | StatementKind::Replace | StatementKind::Load
        );
        let id = seen.tally.ok.last_insert_id;
        let may_be_set = match inserts {
            true => calls_it(seen.text) || seen.tally.had_rows || id != 0,
            false => is_set || id != 0,
        };
        let has_failed = !seen.is_ok() && !seen.is_refused() && inserts;
        if !(may_be_set || has_failed || seen.has(Effects::ANYTHING)) {
            return Touched::No;
        }
        let is_generated = seen.is_ok()
            && id != 0
            && is_generated(
                seen,
                self.reading.last_flags,
                self.reading.parameters.as_deref(),
            );
        self.diagnostics.last_insert_id = match is_generated {
            true => LastInsertId::Known(id),
            false => LastInsertId::OnConnection,
        };
        Touched::Yes
    }
}

/// Whether LAST_INSERT_ID(…) may stand in the text.
fn calls_it(text: &[u8]) -> bool {
    let name = b"LAST_INSERT_ID";
    // A comment may stand in between.
    let begins = |behind: &[u8]| {
        let behind = behind.trim_ascii_start();
        matches!(behind.first(), Some(b'(' | b'/' | b'#' | b'-' | b'`'))
    };
    places_of(text, name, 4).any(|at| begins(&text[at + name.len()..]))
}

/// Whether the connection's LAST_INSERT_ID() is the session's now.
#[derive(PartialEq, Eq)]
enum Touched {
    Yes,
    No,
}

/// Returns ROW_COUNT(); none if the exchange leaves it as it was.
fn row_count(seen: &Seen<'_>) -> Option<i64> {
    match seen.ran {
        Ran::Prepare | Ran::Nothing | Ran::Fetch if seen.is_ok() => None,
        _ if seen.asks_diagnostics() && !seen.tally.had_rows => {
            // The statement leaves ROW_COUNT(), except after the error of a missing condition.
            (seen.tally.warnings > 0).then_some(-1)
        }
        _ if !seen.is_ok() || seen.tally.had_rows => Some(-1),
        _ => Some(seen.tally.ok.affected_rows as i64),
    }
}
