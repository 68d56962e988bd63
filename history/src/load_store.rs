//! The tables of the load in the database.

use rusqlite::{Connection, params};

use crate::load::LoadRow;
use crate::load_view::LOAD_HISTORY;
use crate::span::Span;

/// The file of an earlier version has no such table, so it is created. In the proxy's own row, `backend` is empty.
const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS load (
        start INTEGER NOT NULL, backend TEXT NOT NULL, seconds INTEGER NOT NULL, statements INTEGER NOT NULL,
        p50_us INTEGER NOT NULL, p95_us INTEGER NOT NULL, p99_us INTEGER NOT NULL, waited_p99_us INTEGER NOT NULL,
        sessions INTEGER, running INTEGER, pinned INTEGER, cpu_us INTEGER, resident_bytes INTEGER,
        PRIMARY KEY (start, backend)
    ) WITHOUT ROWID;
";

// If the clock was set back, or an interval begins in the second in which another ended, the row exists already.
const ADD: &str = "INSERT INTO load VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
    ON CONFLICT DO UPDATE SET
        seconds = seconds + excluded.seconds, statements = statements + excluded.statements,
        p50_us = max(p50_us, excluded.p50_us), p95_us = max(p95_us, excluded.p95_us),
        p99_us = max(p99_us, excluded.p99_us), waited_p99_us = max(waited_p99_us, excluded.waited_p99_us),
        sessions = excluded.sessions, running = excluded.running, pinned = excluded.pinned,
        cpu_us = cpu_us + excluded.cpu_us, resident_bytes = excluded.resident_bytes";

/// Creates the table and its view, if they do not exist.
///
/// # Errors
/// SQLite fails.
pub fn prepare(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(&format!("{TABLE} {};", LOAD_HISTORY.definition()))
}

/// Writes the rows of an interval.
///
/// # Errors
/// SQLite fails.
pub fn add(database: &Connection, span: Span, rows: &[LoadRow]) -> rusqlite::Result<()> {
    let mut adding = database.prepare_cached(ADD)?;
    let us =
        |duration: std::time::Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    for row in rows {
        let [p50, p95, p99] = row.taken.map(us);
        adding.execute(params![
            span.start,
            row.backend.as_deref().unwrap_or_default(),
            span.seconds,
            number(row.statements),
            p50,
            p95,
            p99,
            us(row.waited_p99),
            row.sessions.map(|it| count(it.all)),
            row.sessions.map(|it| count(it.running)),
            row.sessions.map(|it| count(it.pinned)),
            row.cpu.map(us),
            row.resident_bytes.map(number),
        ])?;
    }
    Ok(())
}

/// Deletes rows that began before `oldest`. Returns their number.
///
/// # Errors
/// SQLite fails.
pub fn forget_old(database: &Connection, oldest: i64) -> rusqlite::Result<usize> {
    database.execute("DELETE FROM load WHERE start < ?", [oldest])
}

/// Deletes the oldest rows, `percent` of all. Returns their number.
///
/// # Errors
/// SQLite fails.
pub fn forget_oldest(database: &Connection, percent: i64) -> rusqlite::Result<usize> {
    database.execute(
        "DELETE FROM load WHERE start <= (SELECT start FROM load ORDER BY start \
         LIMIT 1 OFFSET (SELECT count(*) * ?1 / 100 FROM load))",
        [percent],
    )
}
