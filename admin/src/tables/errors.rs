//! Errors that statements have ended with.

use std::sync::Arc;

use stats::ErrorRow;

use crate::table::{Asks, Cell, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<ErrorTotalsRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "errors",
    about: "Errors that statements have ended with, by number, account and backend, the most frequent first; a \
            last row has kinds that made room for others.",
    asks: Asks::Errors,
    columns: columns! {
        integer "number", "The error's number; NULL in the row of those that made room.",
            |it| it.of(|row| row.number.into());
        text "sqlstate", "Its SQLSTATE.", |it| it.of(|row| (&row.sqlstate).into());
        text "account", "The account whose statements ended so.", |it| it.of(|row| (&row.account).into());
        text "backend", "The backend that has said it; NULL: the proxy itself.",
            |it| it.of(|row| row.backend.as_ref().map(|ran| &*ran.name).into());
        integer "count", "How often.", |it| it.count.into();
        text "first_seen", "When it came first, in UTC.", |it| it.first_seen.clone().into();
        text "last_seen", "When it came last, in UTC.", |it| it.last_seen.clone().into();
        text "message",
            "The last text of the error. Values that it quotes are left out, unless they can only be names or \
             statement_stats.include_values allows them.", |it| it.of(|row| (&row.message).into());
    },
    items,
};

/// One row.
#[derive(Default)]
pub struct ErrorTotalsRow {
    /// Errors of one kind; `None`: all errors whose rows were evicted.
    row: Option<Arc<ErrorRow>>,
    count: u64,
    first_seen: Option<String>,
    last_seen: Option<String>,
}

impl ErrorTotalsRow {
    fn of(&self, value: impl FnOnce(&ErrorRow) -> Cell) -> Cell {
        self.row.as_deref().map_or(Cell::Null, value)
    }
}

fn items(input: &TableInput) -> Vec<ErrorTotalsRow> {
    let statement_stats = &input.statement_stats;
    let rows = statement_stats.errors.iter().map(|row| ErrorTotalsRow {
        row: Some(Arc::clone(row)),
        count: row.count,
        first_seen: Some(statement_stats.time(row.first_seen)),
        last_seen: Some(statement_stats.time(row.last_seen)),
    });
    let others = ErrorTotalsRow {
        count: statement_stats.other_errors,
        ..ErrorTotalsRow::default()
    };
    rows.chain((others.count > 0).then_some(others)).collect()
}
