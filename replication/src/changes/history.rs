//! Finds a table's definition at a position of its stream, in the schema history.

use std::time::Duration;

use route::Family;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::position::{Gtid, Position};

/// How long a read waits for the writer's locks.
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
    /// The transactions up to and including the one that is being read.
    pub had: &'a Position,
    /// The transaction that is being read; none between two transactions.
    pub gtid: Option<&'a Gtid>,
    /// When the event was written, in microseconds since 1970.
    pub time: i64,
    /// Whether that transaction has changed objects itself.
    pub has_changes: bool,
}

/// The history's answer about a table at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DefinitionLookup {
    /// The definition, as SHOW CREATE TABLE or SHOW CREATE SEQUENCE prints it.
    Is(String),
    /// The history does not know the definition.
    Unknown,
    /// The definition may already include changes that the history lacks. The history will have them soon.
    NotYet,
}

/// Changes after which the name may belong to another table.
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

/// Parts of statements that may give a table other columns of the same types. Row events would not show such a change.
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
    /// When the version began, and the GTID of the change that made it, if the history has a GTID.
    began: (i64, Option<String>),
    /// The id of the change that made the version; none if a stream's begin recorded it.
    made_by: Option<i64>,
    ended_by: Option<i64>,
    /// When the version ended, and the GTID of the change; none while the version is current.
    ended: Option<(i64, Option<String>)>,
    /// The end of the server's log when the definition was read, if that is known.
    read_at: Option<Position>,
}

impl History {
    /// Opens the history database for reading.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn open(source: &str, stream: &str, family: Family) -> rusqlite::Result<Self> {
        let database = Connection::open(source)?;
        database.busy_timeout(TIMEOUT_BUSY)?;
        Ok(Self {
            database,
            stream: stream.to_owned(),
            family,
        })
    }

    /// The family of the stream's servers.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Returns the transactions whose changes the history contains; none if that is not known.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn position(&self) -> rusqlite::Result<Option<Position>> {
        let text = "SELECT position FROM streams WHERE name = ?1";
        let row = self.database.query_row(text, [&self.stream], |row| {
            let text: String = row.get(0)?;
            Ok(text)
        });
        let text = row.optional()?;
        Ok(text.and_then(|it| Position::parse(self.family, &it).ok()))
    }

    /// Returns the definition of a table at a moment. The history contains the changes up to `position`.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn definition_at(
        &self,
        table: (&str, &str),
        moment: Moment<'_>,
        position: Option<&Position>,
    ) -> rusqlite::Result<DefinitionLookup> {
        let versions = self.versions(table)?;
        let first = versions.len().saturating_sub(1);
        let holding = versions.into_iter().enumerate().find_map(|(index, it)| {
            // When a stream begins, its definitions are read shortly after its position, so their time may be later.
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

    /// Whether the version's definition may include a change after the moment, because the server was asked after
    /// that change.
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
                // Without `read_at`, only a change that ended the version proves that the server was asked before
                // that change.
                None if version.ended_by == Some(id) => return Ok(false),
                _ => {}
            }
            if change.may_give_other_columns(table) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a position contains a change. True if the history has no GTID of the change.
    fn has(&self, position: &Position, (_, gtid): &(i64, Option<String>)) -> bool {
        let gtid = gtid.as_deref();
        let change = gtid.and_then(|it| Position::parse(self.family, it).ok());
        change.is_none_or(|it| position.missing(&it).is_none())
    }

    /// Returns all versions of objects with the table's name, the newest first.
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

    /// Whether a change happened at or before a moment, by its GTID, or by its time if the history has no GTID.
    fn is_past(&self, (time, gtid): &(i64, Option<String>), moment: Moment<'_>) -> bool {
        let gtid = gtid.as_deref();
        let change = gtid.and_then(|it| Position::parse(self.family, it).ok());
        match change {
            Some(change) => moment.had.missing(&change).is_none(),
            None => *time <= moment.time,
        }
    }
}

/// A change after the one that made a version.
struct LaterChange {
    /// The time and the GTID of the change.
    happened: (i64, Option<String>),
    kind: String,
    /// Schema and name of the object that its statement names first.
    first: (Option<String>, Option<String>),
    /// The other objects, such as `shop.orders, shop.lines`.
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

    /// Whether the change may give the table other columns of the same types.
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
            // AS changes the type of a sequence's numbers.
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
