//! What a table was at a position of its stream, by the schema history.

use std::time::Duration;

use route::Family;
use rusqlite::{Connection, OptionalExtension, Row, params};

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

/// What the history says of a table at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DefinitionLookup {
    /// As SHOW CREATE TABLE or SHOW CREATE SEQUENCE prints it.
    Is(String),
    /// The history does not know it.
    Unknown,
    /// The history lacks changes that the definition may have in it already. It will have them soon.
    NotYet,
}

/// Changes that may give the name of a table to another one.
const OF_TABLES: [&str; 8] = [
    "CREATE TABLE",
    "DROP TABLE",
    "RENAME TABLE",
    "CREATE SEQUENCE",
    "DROP SEQUENCE",
    "CREATE VIEW",
    "DROP VIEW",
    "DROP DATABASE",
];

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
    /// Whether it has rows: tables and sequences have them, views do not.
    has_rows: bool,
    /// When it began, and the GTID of the change that made it, if both are known.
    began: (i64, Option<String>),
    /// The change that made it; none if it was read without one.
    made_by: Option<i64>,
    ended_by: Option<i64>,
    /// The same of its end; none while it holds.
    ended: Option<(i64, Option<String>)>,
    /// Where the server's log ended when the server was asked, if that is known.
    read_at: Option<Position>,
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

    /// Of which family the servers are.
    pub fn family(&self) -> Family {
        self.family
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

    /// The definition of a table at a moment, by a history that has the changes up to `position`.
    ///
    /// # Errors
    /// SQLite's.
    pub fn definition_at(
        &self,
        table: (&str, &str),
        moment: Moment<'_>,
        position: Option<&Position>,
    ) -> rusqlite::Result<DefinitionLookup> {
        let versions = self.versions(table)?;
        let first = versions.len().saturating_sub(1);
        let holding = versions.into_iter().enumerate().find_map(|(index, it)| {
            // The first reading of all objects comes a little behind the begin of the stream.
            let is_first_reading = index == first && it.made_by.is_none();
            (is_first_reading || self.is_past(&it.began, moment)).then_some(it)
        });
        let Some(version) = holding else {
            return Ok(DefinitionLookup::Unknown);
        };
        let is_over = version
            .ended
            .as_ref()
            .is_some_and(|end| self.is_past(end, moment));
        if is_over || !version.has_rows || self.may_be_late(table, &version, moment)? {
            return Ok(DefinitionLookup::Unknown);
        }
        if let (Some(read_at), Some(position)) = (&version.read_at, position)
            && position.missing(read_at).is_some()
        {
            return Ok(DefinitionLookup::NotYet);
        }
        let definition = version.definition.map(DefinitionLookup::Is);
        Ok(definition.unwrap_or(DefinitionLookup::Unknown))
    }

    /// Whether a version may already be what a later change has made of the table: the server was asked when that had
    /// taken place, too.
    fn may_be_late(
        &self,
        table: (&str, &str),
        version: &Version,
        moment: Moment<'_>,
    ) -> rusqlite::Result<bool> {
        let mut statement = self.database.prepare_cached(
            "SELECT id, time, gtid, kind, db, object, others, statement FROM changes \
             WHERE stream = ?1 AND id > ?2 ORDER BY id",
        )?;
        let made_by = version.made_by.unwrap_or(0);
        let mut rows = statement.query(params![self.stream, made_by])?;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            let change = LaterChange::read(row)?;
            if self.is_past(&change.happened, moment) {
                continue;
            }
            match &version.read_at {
                Some(read_at) if !self.has(read_at, &change.happened) => return Ok(false),
                // Without that only another definition shows that the server was asked before.
                None if version.ended_by == Some(id) => return Ok(false),
                _ => {}
            }
            if change.may_give_other_columns(table) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a change is in a position; as far as the history knows the change's GTID.
    fn has(&self, position: &Position, (_, gtid): &(i64, Option<String>)) -> bool {
        let gtid = gtid.as_deref();
        let change = gtid.and_then(|it| Position::parse(self.family, it).ok());
        change.is_none_or(|it| position.missing(&it).is_none())
    }

    /// The versions of whatever has had a table's name, the newest first.
    fn versions(&self, (schema, table): (&str, &str)) -> rusqlite::Result<Vec<Version>> {
        let mut statement = self.database.prepare_cached(
            "SELECT v.definition, v.kind, v.since, made.gtid, v.made_by, v.until, ended.gtid, \
             v.ended_by, v.read_at FROM versions v \
             LEFT JOIN changes made ON made.id = v.made_by LEFT JOIN changes ended ON ended.id = v.ended_by \
             WHERE v.stream = ?1 AND v.db = ?2 AND v.object = ?3 AND v.kind IN ('table', 'view', 'sequence') \
             ORDER BY v.id DESC",
        )?;
        let rows = statement.query_map(params![self.stream, schema, table], |row| {
            let kind: String = row.get(1)?;
            let until: Option<i64> = row.get(5)?;
            let ended_at: Option<String> = row.get(6)?;
            let read_at: Option<String> = row.get(8)?;
            let read_at = read_at.and_then(|it| Position::parse(self.family, &it).ok());
            Ok(Version {
                definition: row.get(0)?,
                has_rows: kind != "view",
                began: (row.get(2)?, row.get(3)?),
                made_by: row.get(4)?,
                ended_by: row.get(7)?,
                ended: until.map(|until| (until, ended_at)),
                read_at,
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

/// A change behind the one that made a version.
struct LaterChange {
    /// When, and its GTID.
    happened: (i64, Option<String>),
    kind: String,
    /// Schema and name of the object that its statement names first.
    first: (Option<String>, Option<String>),
    /// The others, as `shop.orders, shop.lines`.
    others: Option<String>,
    statement: String,
}

impl LaterChange {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            happened: (row.get(1)?, row.get(2)?),
            kind: row.get(3)?,
            first: (row.get(4)?, row.get(5)?),
            others: row.get(6)?,
            statement: row.get(7)?,
        })
    }

    /// Whether the table may have other columns behind it, of the same types as before.
    fn may_give_other_columns(&self, (schema, table): (&str, &str)) -> bool {
        let is = |own: &Option<String>, name: &str| {
            own.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(name))
        };
        let full = format!("{schema}.{table}");
        let is_named = match self.kind.as_str() {
            "DROP DATABASE" => is(&self.first.1, schema),
            _ => {
                let mut others = self.others.iter().flat_map(|it| it.split(", "));
                is(&self.first.0, schema) && is(&self.first.1, table)
                    || others.any(|it| it.eq_ignore_ascii_case(&full))
            }
        };
        let parts: &[&str] = match self.kind.as_str() {
            "ALTER TABLE" => &OF_COLUMNS,
            // Another type of its numbers.
            "ALTER SEQUENCE" => &[" AS "],
            kind => return is_named && OF_TABLES.contains(&kind),
        };
        let text = self
            .statement
            .to_ascii_uppercase()
            .replace(['\n', '\t'], " ");
        is_named && parts.iter().any(|it| text.contains(it))
    }
}
