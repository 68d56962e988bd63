//! Reads the history as revisions, oldest first. A revision is a change, or a reading of definitions without a change.

use rusqlite::{Connection, OptionalExtension, params};

use super::read::{ObjectVersion, SavedHistory};

/// The place of a revision in the history. Revisions are ordered by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RevisionMark {
    /// The id of the change; for a reading the id of the last change before it, or 0 for none.
    pub change: i64,
    /// The time of a reading without a change, in microseconds since 1970; 0 for a change.
    pub read_at: i64,
}

/// A change in the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedChange {
    /// The kind of statement, such as `ALTER TABLE`.
    pub kind: String,
    /// The first object that the statement names, with its schema.
    pub object: Option<String>,
    /// The statement, without passwords.
    pub statement: String,
    /// The GTID of its transaction.
    pub gtid: String,
    /// The server that executed it first.
    pub server_id: u32,
    /// The connection that executed it.
    pub thread_id: u32,
    /// The account, if the server has written it.
    pub account: Option<String>,
    /// The host of the account, if the server has written it.
    pub host: Option<String>,
    /// gh-ost or pt-online-schema-change, if one of them made the change.
    pub tool: Option<String>,
}

/// The versions that begin and end at one point of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Its place in the history.
    pub mark: RevisionMark,
    /// The time, in microseconds since 1970.
    pub time: i64,
    /// The change; none if the proxy has read the definitions when the stream began, or after it had missed changes.
    pub change: Option<SavedChange>,
    /// The versions that end here.
    pub ended: Vec<ObjectVersion>,
    /// The versions that begin here.
    pub created: Vec<ObjectVersion>,
}

impl SavedHistory {
    /// Returns the marks of the revisions after `after`, in order; of a cluster, or of one of its schemas.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn revision_marks(
        &self,
        cluster: &str,
        schema: Option<&str>,
        after: Option<RevisionMark>,
    ) -> Result<Vec<RevisionMark>, String> {
        let marks = marks(&self.database, cluster, schema);
        let marks = marks.map_err(|error| error.to_string())?;
        let is_behind = |mark: &RevisionMark| after.is_none_or(|after| *mark > after);
        Ok(marks.into_iter().filter(is_behind).collect())
    }

    /// Returns one revision.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn revision(
        &self,
        cluster: &str,
        schema: Option<&str>,
        mark: RevisionMark,
    ) -> Result<Revision, String> {
        let revision = match mark.read_at {
            0 => of_change(&self.database, cluster, schema, mark),
            _ => of_reading(&self.database, cluster, schema, mark),
        };
        revision.map_err(|error| error.to_string())
    }
}

/// The versions without the tables and triggers that tools create for their work. Until a tool's change takes
/// place, its steps are rows of `changes`; then they are merged into one row.
const SHOWN: &str = "(SELECT * FROM versions v
    WHERE (made_by IS NULL OR ended_by IS NOT made_by)
      AND NOT EXISTS (SELECT 1 FROM changes WHERE id = v.made_by AND step_of IS NOT NULL)
      AND NOT (v.made_by IS NOT NULL AND v.ended_by IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM changes WHERE id = v.made_by)
        AND NOT EXISTS (SELECT 1 FROM changes WHERE id = v.ended_by AND (tool IS NULL OR object = v.object))))";

/// Returns the marks. A reading comes after the last change whose versions are older than the reading's versions.
/// The clocks of server and proxy differ, so times decide only if a reading has no versions of its own, because it
/// only found that objects were gone.
///
/// Steps of unfinished tools do not count as changes.
fn marks(
    database: &Connection,
    cluster: &str,
    schema: Option<&str>,
) -> rusqlite::Result<Vec<RevisionMark>> {
    let mut statement = database.prepare(&format!(
        "WITH mine AS (SELECT * FROM {SHOWN} WHERE cluster = ?1 AND (?2 IS NULL OR db = ?2)),
         readings (time) AS (
            SELECT since FROM mine WHERE made_by IS NULL
            UNION SELECT until FROM mine WHERE until IS NOT NULL AND ended_by IS NULL)
         SELECT id, 0 FROM changes WHERE cluster = ?1 AND (?2 IS NULL OR db = ?2) AND step_of IS NULL
         UNION SELECT made_by, 0 FROM mine WHERE made_by IS NOT NULL
         UNION SELECT ended_by, 0 FROM mine WHERE ended_by IS NOT NULL
         UNION SELECT coalesce(
            (SELECT max(made_by) FROM versions WHERE cluster = ?1 AND id <
                (SELECT min(id) FROM versions WHERE cluster = ?1 AND made_by IS NULL AND since = readings.time)),
            (SELECT max(id) FROM changes WHERE cluster = ?1 AND changes.time <= readings.time AND NOT EXISTS
                (SELECT 1 FROM versions WHERE cluster = ?1 AND made_by IS NULL AND since = readings.time)),
            0), time FROM readings
         ORDER BY 1, 2",
    ))?;
    let rows = statement.query_map(params![cluster, schema], |row| {
        Ok(RevisionMark {
            change: row.get(0)?,
            read_at: row.get(1)?,
        })
    })?;
    rows.collect()
}

fn of_change(
    database: &Connection,
    cluster: &str,
    schema: Option<&str>,
    mark: RevisionMark,
) -> rusqlite::Result<Revision> {
    let change = database
        .query_row(
            "SELECT time, kind, object_kind, db, object, statement, gtid, server_id, thread_id, account, host, tool \
             FROM changes WHERE id = ?",
            [mark.change],
            |row| Ok((row.get::<_, i64>(0)?, saved_change(row)?)),
        )
        .optional()?;
    let created = versions(
        database,
        "made_by = ?3",
        params![cluster, schema, mark.change],
    )?;
    let ended = versions(
        database,
        "ended_by = ?3",
        params![cluster, schema, mark.change],
    )?;
    // The row of a change may be deleted, because the size of the history is limited.
    let text = "SELECT coalesce((SELECT min(since) FROM versions WHERE made_by = ?1), \
                (SELECT min(until) FROM versions WHERE ended_by = ?1), 0)";
    let time = match &change {
        Some((time, _)) => *time,
        None => database.query_row(text, [mark.change], |row| row.get(0))?,
    };
    Ok(Revision {
        mark,
        time,
        change: change.map(|(_, change)| change),
        ended,
        created,
    })
}

fn of_reading(
    database: &Connection,
    cluster: &str,
    schema: Option<&str>,
    mark: RevisionMark,
) -> rusqlite::Result<Revision> {
    let keys = params![cluster, schema, mark.read_at];
    Ok(Revision {
        mark,
        time: mark.read_at,
        change: None,
        ended: versions(database, "until = ?3 AND ended_by IS NULL", keys)?,
        created: versions(database, "since = ?3 AND made_by IS NULL", keys)?,
    })
}

fn versions(
    database: &Connection,
    which: &str,
    keys: &[&dyn rusqlite::ToSql],
) -> rusqlite::Result<Vec<ObjectVersion>> {
    let text = format!(
        "SELECT db, object, kind, definition FROM {SHOWN} WHERE cluster = ?1 AND (?2 IS NULL OR db = ?2) AND {which} \
         ORDER BY id"
    );
    let mut statement = database.prepare_cached(&text)?;
    let rows = statement.query_map(keys, ObjectVersion::of_row)?;
    rows.collect()
}

fn saved_change(row: &rusqlite::Row<'_>) -> rusqlite::Result<SavedChange> {
    let (object_kind, schema): (Option<String>, Option<String>) = (row.get(2)?, row.get(3)?);
    let name: Option<String> = row.get(4)?;
    let object = name.map(|name| match (object_kind.as_deref(), schema) {
        (Some("schema" | "account"), _) | (_, None) => name,
        (_, Some(schema)) => format!("{schema}.{name}"),
    });
    Ok(SavedChange {
        kind: row.get(1)?,
        object,
        statement: row.get(5)?,
        gtid: row.get(6)?,
        server_id: row.get(7)?,
        thread_id: row.get(8)?,
        account: row.get(9)?,
        host: row.get(10)?,
        tool: row.get(11)?,
    })
}
