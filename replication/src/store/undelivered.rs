//! Which changes each receiver has been told of.

use rusqlite::{OptionalExtension, params};

use super::Store;

/// A change that a receiver is to be told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndeliveredChange {
    /// The change.
    pub id: i64,
    /// All that is known of it, as one JSON object without line breaks.
    pub json: String,
}

impl Store {
    /// The next change for a receiver, if there is one. One that has just been set begins behind the last change.
    ///
    /// # Errors
    /// SQLite's.
    pub fn next_undelivered(&self, receiver: &str) -> rusqlite::Result<Option<UndeliveredChange>> {
        self.database.execute(
            "INSERT OR IGNORE INTO told_to SELECT ?1, coalesce(max(id), 0) FROM changes",
            [receiver],
        )?;
        // Steps of tools are told when they have become one change.
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

    /// A receiver has taken a change.
    ///
    /// # Errors
    /// SQLite's.
    pub fn mark_delivered(&self, receiver: &str, id: i64) -> rusqlite::Result<()> {
        let text = "UPDATE told_to SET id = ?2 WHERE receiver = ?1";
        let marked = self.database.execute(text, params![receiver, id]);
        marked.map(drop)
    }

    /// A receiver is not set. The next one is not told of changes until then.
    ///
    /// # Errors
    /// SQLite's.
    pub fn forget_receiver(&self, receiver: &str) -> rusqlite::Result<()> {
        let text = "DELETE FROM told_to WHERE receiver = ?1";
        self.database.execute(text, [receiver]).map(drop)
    }
}
