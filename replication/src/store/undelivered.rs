//! Records which changes each receiver has taken.

use rusqlite::{OptionalExtension, params};

use super::Store;

/// A change that a receiver has not taken yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndeliveredChange {
    /// The id of the change.
    pub id: i64,
    /// All facts about the change, as one JSON object without line breaks.
    pub json: String,
}

impl Store {
    /// Returns the next change for a receiver, if there is one. A newly configured receiver begins after the last
    /// change.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn next_undelivered(&self, receiver: &str) -> rusqlite::Result<Option<UndeliveredChange>> {
        self.database.execute(
            "INSERT OR IGNORE INTO told_to SELECT ?1, coalesce(max(id), 0) FROM changes",
            [receiver],
        )?;
        // Steps of tools are delivered after they have been merged into one change.
        let mut statement = self.database.prepare_cached(
            "SELECT id, json_object('id', id, 'time', strftime('%Y-%m-%dT%H:%M:%SZ', time / 1000000, 'unixepoch'), \
             'stream', stream, 'cluster', cluster, 'gtid', gtid, 'server_id', server_id, 'connection_id', thread_id, \
             'kind', kind, 'schema', nullif(db, ''), 'object', object, 'object_kind', object_kind, 'others', others, \
             'statement', statement, 'account', account, 'host', host, 'seconds', seconds, 'error_code', error_code, \
             'tool', tool) FROM changes \
             WHERE id > (SELECT id FROM told_to WHERE receiver = ?1) AND step_of IS NULL ORDER BY id LIMIT 1",
        )?;
        let row = statement.query_row([receiver], |row| {
            Ok(UndeliveredChange {
                id: row.get(0)?,
                json: row.get(1)?,
            })
        });
        row.optional()
    }

    /// Records that a receiver has taken a change.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn mark_delivered(&self, receiver: &str, id: i64) -> rusqlite::Result<()> {
        let text = "UPDATE told_to SET id = ?2 WHERE receiver = ?1";
        let marked = self.database.execute(text, params![receiver, id]);
        marked.map(drop)
    }

    /// Forgets a receiver that is not configured. If it is configured again, it does not get the changes in between.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn forget_receiver(&self, receiver: &str) -> rusqlite::Result<()> {
        let text = "DELETE FROM told_to WHERE receiver = ?1";
        self.database.execute(text, [receiver]).map(drop)
    }
}
