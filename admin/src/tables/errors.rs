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
        integer "count", "How often.",
            |it| match it {
                ErrorTotalsRow::Row(row, ..) => row.count.into(),
                ErrorTotalsRow::Others(count) => (*count).into(),
            };
        text "first_seen", "When it came first, in UTC.",
            |it| match it {
                ErrorTotalsRow::Row(_, first, _) => first.clone().into(),
                ErrorTotalsRow::Others(_) => Cell::Null,
            };
        text "last_seen", "When it came last, in UTC.",
            |it| match it {
                ErrorTotalsRow::Row(_, _, last) => last.clone().into(),
                ErrorTotalsRow::Others(_) => Cell::Null,
            };
        text "message",
            "The last text of the error. Values that it quotes are left out, unless they can only be names or \
             statement_stats.include_values allows them.", |it| it.of(|row| (&row.message).into());
    },
    items,
};

/// One row.
pub enum ErrorTotalsRow {
    /// Errors that are alike, and when the first and the last came.
    Row(Arc<ErrorRow>, String, String),
    /// How many made room.
    Others(u64),
}

impl ErrorTotalsRow {
    fn of(&self, value: impl FnOnce(&ErrorRow) -> Cell) -> Cell {
        match self {
            Self::Row(row, ..) => value(row),
            Self::Others(_) => Cell::Null,
        }
    }
}

fn items(input: &TableInput) -> Vec<ErrorTotalsRow> {
    let statement_stats = &input.statement_stats;
    let rows = statement_stats.errors.iter().map(|row| {
        let (first, last) = (
            statement_stats.time(row.first_seen),
            statement_stats.time(row.last_seen),
        );
        ErrorTotalsRow::Row(Arc::clone(row), first, last)
    });
    let others = statement_stats.other_errors;
    rows.chain((others > 0).then_some(ErrorTotalsRow::Others(others)))
        .collect()
}
