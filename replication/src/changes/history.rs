//! What a table was at a position of its stream, by the schema history.

use std::time::Duration;

use route::Family;
use rusqlite::{Connection, OptionalExtension, params};

use crate::position::{Gtid, Position};

/// How long it is tried to read beside the writer.
const TIMEOUT_BUSY: Duration = Duration::from_secs(15);

/// The history of one stream.
pub struct History {
    database: Connection,
    stream: String,
    family: Family,
}

/// A point of a stream.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// The transactions up to and with the one that is read.
    pub had: &'a Position,
    /// That one; none between two.
    pub gtid: Option<&'a Gtid>,
    /// When the event was written, in microseconds since 1970.
    pub time: i64,
    /// Whether that transaction itself has changed objects.
    pub has_changes: bool,
}

/// Parts of statements that may give a table other columns of the same types, which row events would not show.
const OF_COLUMNS: [&str; 8] = [
    " CHANGE ",
    " RENAME ",
    " MODIFY ",
    " ADD ",
    " DROP ",
    "CONVERT TO",
    "CHARACTER SET",
    "CHARSET",
];

/// One version of a table.
struct Version {
    definition: Option<String>,
    is_table: bool,
    /// When it began, and the GTID of the change that made it, if both are known.
    begun: (i64, Option<String>),
    /// The change that made it; none if it was read without one.
    made_by: Option<i64>,
    ended_by: Option<i64>,
    /// The same of its end; none while it holds.
    ended: Option<(i64, Option<String>)>,
}

impl History {
    /// Opens the database of that source for reading.
    ///
    /// # Errors
    /// SQLite's.
    pub fn open(source: &str, stream: &str, family: Family) -> rusqlite::Result<Self> {
        let database = Connection::open(source)?;
        database.busy_timeout(TIMEOUT_BUSY)?;
        Ok(Self {
            database,
            stream: stream.to_owned(),
            family,
        })
    }

    /// The transactions whose changes of objects are in the history; none if it is not known.
    ///
    /// # Errors
    /// SQLite's.
    pub fn position(&self) -> rusqlite::Result<Option<Position>> {
        let text = "SELECT position FROM streams WHERE name = ?1";
        let row = self.database.query_row(text, [&self.stream], |row| {
            let text: String = row.get(0)?;
            Ok(text)
        });
        let text = row.optional()?;
        Ok(text.and_then(|it| Position::parse(self.family, &it).ok()))
    }

    /// The definition of a table at a moment; none if the history has none.
    ///
    /// # Errors
    /// SQLite's.
    pub fn definition_at(
        &self,
        (schema, table): (&str, &str),
        moment: Moment<'_>,
    ) -> rusqlite::Result<Option<String>> {
        let versions = self.versions(schema, table)?;
        let first = versions.len().saturating_sub(1);
        let holding = versions.into_iter().enumerate().find_map(|(index, it)| {
            // The first reading of all objects comes a little behind the begin of the stream.
            let is_first_reading = index == first && it.made_by.is_none();
            (is_first_reading || self.is_past(&it.begun, moment)).then_some(it)
        });
        let Some(version) = holding else {
            return Ok(None);
        };
        let is_over = version
            .ended
            .as_ref()
            .is_some_and(|end| self.is_past(end, moment));
        if is_over || self.may_be_late((schema, table), &version, moment)? {
            return Ok(None);
        }
        Ok(version.definition.filter(|_| version.is_table))
    }

    /// Whether a version may already be what a later change has made of the table: the server was asked when that had
    /// taken place, too, so the later change has found nothing new.
    fn may_be_late(
        &self,
        (schema, table): (&str, &str),
        version: &Version,
        moment: Moment<'_>,
    ) -> rusqlite::Result<bool> {
        let mut statement = self.database.prepare_cached(
            "SELECT id, time, gtid, statement FROM changes WHERE stream = ?1 AND db = ?2 \
             AND (object = ?3 OR instr(others, ?2 || '.' || ?3) > 0) AND id > ?4 AND kind = 'ALTER TABLE' ORDER BY id",
        )?;
        let made_by = version.made_by.unwrap_or(0);
        let values = params![self.stream, schema, table, made_by];
        let mut rows = statement.query(values)?;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            if self.is_past(&(row.get(1)?, row.get(2)?), moment) {
                continue;
            }
            if version.ended_by == Some(id) {
                return Ok(false);
            }
            let text: String = row.get(3)?;
            let text = text.to_ascii_uppercase().replace(['\n', '\t'], " ");
            if OF_COLUMNS.iter().any(|it| text.contains(it)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The versions of whatever has had a table's name, the newest first.
    fn versions(&self, schema: &str, table: &str) -> rusqlite::Result<Vec<Version>> {
        let mut statement = self.database.prepare_cached(
            "SELECT v.definition, v.kind, v.since, made.gtid, v.made_by, v.until, ended.gtid, \
             v.ended_by FROM versions v \
             LEFT JOIN changes made ON made.id = v.made_by LEFT JOIN changes ended ON ended.id = v.ended_by \
             WHERE v.stream = ?1 AND v.db = ?2 AND v.object = ?3 AND v.kind IN ('table', 'view', 'sequence') \
             ORDER BY v.id DESC",
        )?;
        let rows = statement.query_map(params![self.stream, schema, table], |row| {
            let kind: String = row.get(1)?;
            let until: Option<i64> = row.get(5)?;
            let ended_at: Option<String> = row.get(6)?;
            Ok(Version {
                definition: row.get(0)?,
                is_table: kind == "table",
                begun: (row.get(2)?, row.get(3)?),
                made_by: row.get(4)?,
                ended_by: row.get(7)?,
                ended: until.map(|until| (until, ended_at)),
            })
        })?;
        rows.collect()
    }

    /// Whether a change is not behind a moment: by its GTID, or by its time if the history has no GTID of it.
    fn is_past(&self, (time, gtid): &(i64, Option<String>), moment: Moment<'_>) -> bool {
        let gtid = gtid.as_deref();
        let change = gtid.and_then(|it| Position::parse(self.family, it).ok());
        match change {
            Some(change) => moment.had.missing(&change).is_none(),
            None => *time <= moment.time,
        }
    }
}
