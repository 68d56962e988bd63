//! Cursors of prepared statements: the rows of an execution, which COM_STMT_FETCH has sent piece by piece.

use std::collections::VecDeque;

use wire::StatusFlags;
use wire::statement::Fetch;

use super::super::error::SqlResult;
use super::super::output::{Output, Rows};
use super::super::result_column::ResultColumn;
use super::super::session::Session;
use super::super::table::Row;

/// What is left of an execution's rows.
#[derive(Debug)]
pub struct Cursor {
    columns: Vec<ResultColumn>,
    rows: VecDeque<Row>,
}

impl Session {
    /// Keeps an execution's rows, and sends its columns.
    pub(super) fn open_cursor(&mut self, id: u32, rows: Rows, out: &mut Output) {
        self.write_cursor(out, &rows.columns);
        if let Some(statement) = self.prepared.by_id.get_mut(&id) {
            statement.cursor = Some(Cursor {
                columns: rows.columns,
                rows: rows.rows.into(),
            });
        }
    }

    /// COM_STMT_FETCH. A cursor is closed by the fetch that finds too few rows.
    pub(super) fn fetch(&mut self, arguments: &[u8], out: &mut Output) -> SqlResult<()> {
        let id = self.known_statement(arguments, "mysqld_stmt_fetch")?;
        let family = self.family();
        let fetch = Fetch::decode(arguments).map_err(|_| family.malformed_packet())?;
        let statement = self.prepared.by_id.get_mut(&id);
        let Some(mut cursor) = statement.and_then(|it| it.cursor.take()) else {
            return Err(family.no_open_cursor(id));
        };
        let wanted = usize::try_from(fetch.rows).unwrap_or(usize::MAX);
        let has_enough = cursor.rows.len() >= wanted;
        let count = wanted.min(cursor.rows.len());
        let rows: Vec<Row> = cursor.rows.drain(..count).collect();
        let mark = match has_enough {
            true => StatusFlags::CURSOR_EXISTS,
            false => StatusFlags::LAST_ROW_SENT,
        };
        self.write_fetched(out, (&cursor.columns, &rows), mark);
        if has_enough && let Some(statement) = self.prepared.by_id.get_mut(&id) {
            statement.cursor = Some(cursor);
        }
        Ok(())
    }
}
