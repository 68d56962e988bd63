//! Which changes a hook has been told of.

use rusqlite::{OptionalExtension, params};

use super::Store;

/// The id of the last change that a hook has taken. There is no row while no hook is set.
pub(super) const TABLE: &str = "CREATE TABLE IF NOT EXISTS told (id INTEGER NOT NULL)";

/// A change that a hook is to be told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untold {
    /// The change.
    pub id: i64,
    /// All that is known of it, as one JSON object without line breaks.
    pub json: String,
}

impl Store {
    /// The next change for a hook, if there is one. A hook that has just been set begins behind the last change.
    ///
    /// # Errors
    /// SQLite's.
    pub fn next_untold(&self) -> rusqlite::Result<Option<Untold>> {
        self.database.execute(
            "INSERT INTO told SELECT (SELECT coalesce(max(id), 0) FROM changes) WHERE NOT EXISTS (SELECT 1 FROM told)",
            [],
        )?;
        // Steps of tools are told when they have become one change.
        let mut statement = self.database.prepare_cached(
            "SELECT id, json_object('id', id, 'time', strftime('%Y-%m-%dT%H:%M:%SZ', time / 1000000, 'unixepoch'), \
             'stream', stream, 'cluster', cluster, 'gtid', gtid, 'server_id', server_id, 'connection_id', thread_id, \
             'kind', kind, 'schema', nullif(db, ''), 'object', object, 'object_kind', object_kind, 'others', others, \
             'statement', statement, 'account', account, 'host', host, 'seconds', seconds, 'error_code', error_code, \
             'tool', tool) FROM changes \
             WHERE id > (SELECT id FROM told) AND step_of IS NULL ORDER BY id LIMIT 1",
        )?;
        let row = statement.query_row([], |row| {
            Ok(Untold {
                id: row.get(0)?,
                json: row.get(1)?,
            })
        });
        row.optional()
    }

    /// A hook has taken a change.
    ///
    /// # Errors
    /// SQLite's.
    pub fn mark_told(&self, id: i64) -> rusqlite::Result<()> {
        let text = "UPDATE told SET id = ?1";
        self.database.execute(text, params![id]).map(drop)
    }

    /// No hook is set. The next one is not told of changes until then.
    ///
    /// # Errors
    /// SQLite's.
    pub fn forget_told(&self) -> rusqlite::Result<()> {
        self.database.execute("DELETE FROM told", []).map(drop)
    }
}
