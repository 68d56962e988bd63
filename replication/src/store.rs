//! The SQLite database of the streams: their positions, the changes of objects, and the objects' definitions after
//! each change. One transaction writes a change and the position after it, so no change is lost or written twice.

mod definitions;
mod read;
mod receivers;
mod revisions;
mod undelivered;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use route::Family;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::change::Change;
use crate::object::{ObjectKind, ObjectName};
use crate::online_change::{OnlineChangeStep, online_change_step};
use crate::position::{Gtid, Position};

pub use definitions::{CHANGES, VERSIONS};
#[cfg(test)]
use read::versions_at;
pub use read::{ObjectVersion, SavedHistory, schema_at};
pub use revisions::{Revision, RevisionMark, SavedChange};
pub use undelivered::UndeliveredChange;

/// The size limit in bytes of a history in memory.
const MEMORY_BYTES_MAX: u64 = 16 << 20;

/// How long a write waits for readers' locks.
const TIMEOUT_BUSY: Duration = Duration::from_secs(15);

/// "PfSc": SQLite's `application_id` of these databases.
const APPLICATION: i64 = 0x5066_5363;

/// The version of the tables.
const VERSION: i64 = 1;

/// How many percent of the rows are deleted at once when the database is full.
const ROOM_PERCENT: i64 = 10;

/// The SQLite database of the streams.
pub struct Store {
    database: Connection,
    source: String,
    file: Option<PathBuf>,
    bytes_max: u64,
}

/// The stored state of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredStream {
    /// The transactions that the stream has processed.
    pub position: Position,
    /// The UUID by which MySQL knows the proxy.
    pub uuid: String,
}

/// The names that are written with each entry.
#[derive(Debug, Clone, Copy)]
pub struct StreamName<'a> {
    /// The stream.
    pub stream: &'a str,
    /// The cluster that it follows.
    pub cluster: &'a str,
}

/// An object's definition, as the server has sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The object.
    pub object: ObjectName,
    /// The definition.
    pub definition: Definition,
    /// The end of the server's log right after this query, as the server writes it. The definition contains all
    /// changes up to there, and no later change.
    pub read_at: Option<Arc<str>>,
}

/// The definition of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Definition {
    /// The statement that creates the object.
    Is(String),
    /// The object does not exist.
    Gone,
    /// The server has refused to show the definition; its error message.
    Unreadable(String),
}

impl Store {
    /// Opens the file, or a database in memory. Creates the file and the tables if they do not exist.
    ///
    /// # Errors
    /// The file cannot be opened, or is another kind of database.
    pub fn open(file: Option<&Path>, bytes_max: u64) -> Result<Self, String> {
        let source = match file {
            Some(file) => {
                sqlite_file::create(file).map_err(|error| error.to_string())?;
                sqlite_file::uri(file)
            }
            None => sqlite_file::memory_uri("schemas"),
        };
        let database = Connection::open(&source).map_err(|error| error.to_string())?;
        let store = Self {
            database,
            source: match file {
                Some(_) => format!("{source}?mode=ro"),
                None => source,
            },
            file: file.map(Path::to_owned),
            bytes_max: match file {
                Some(_) => bytes_max,
                None => MEMORY_BYTES_MAX,
            },
        };
        match store.prepare() {
            Ok(true) => Ok(store),
            Ok(false) => {
                Err("it is a database of something else, or of another version".to_owned())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// The SQLite URI by which readers open the database.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Creates or updates the tables. Returns false if the database is of another kind or version.
    fn prepare(&self) -> rusqlite::Result<bool> {
        self.database.busy_timeout(TIMEOUT_BUSY)?;
        if self.number("PRAGMA schema_version")? == 0 {
            let tables = definitions::TABLES;
            self.database.execute_batch(&format!(
                "PRAGMA auto_vacuum = INCREMENTAL; BEGIN; {tables} PRAGMA application_id = {APPLICATION}; \
                 PRAGMA user_version = {VERSION}; COMMIT;"
            ))?;
        }
        let application = self.number("PRAGMA application_id")?;
        let version = self.number("PRAGMA user_version")?;
        if (application, version) != (APPLICATION, VERSION) {
            return Ok(false);
        }
        self.database.execute_batch(receivers::TABLE)?;
        if self.number(definitions::HAS_READ_AT)? == 0 {
            self.database.execute_batch(definitions::ADD_READ_AT)?;
        }
        if self.number("SELECT count(*) FROM sqlite_schema WHERE name = 'told'")? > 0 {
            self.database.execute_batch(receivers::TAKE_OVER)?;
        }
        if self.file.is_some() {
            // With WAL, readers do not block the writer.
            self.database
                .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
        }
        Ok(true)
    }

    /// Returns the stored state of a stream; none if the stream has never begun.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn stream(&self, name: &str) -> rusqlite::Result<Option<StoredStream>> {
        let text = "SELECT family, position, uuid FROM streams WHERE name = ?";
        let row = self.database.query_row(text, [name], |row| {
            let family: String = row.get(0)?;
            let position: String = row.get(1)?;
            let family = match family.as_str() {
                "mariadb" => Family::MariaDb,
                _ => Family::MySql,
            };
            Ok((Position::parse(family, &position), row.get(2)?))
        });
        Ok(row.optional()?.and_then(|(position, uuid)| {
            let position = position.ok()?;
            Some(StoredStream { position, uuid })
        }))
    }

    /// Writes a stream's position.
    ///
    /// # Errors
    /// SQLite fails: for example, the disk is full or the file was deleted.
    pub fn save(&mut self, name: &str, stream: &StoredStream) -> rusqlite::Result<()> {
        self.demand_file()?;
        let writing = self.database.transaction()?;
        put_stream(&writing, name, stream)?;
        writing.commit()
    }

    /// Writes the changes of a transaction, the definitions of their objects after it, and the stream's new position.
    ///
    /// # Errors
    /// SQLite fails: for example, the disk is full or the file was deleted. Then nothing is written.
    pub fn record(
        &mut self,
        name: StreamName<'_>,
        (gtid, changes): (&Gtid, &[Change]),
        observed: &[Observed],
        stream: &StoredStream,
    ) -> rusqlite::Result<()> {
        self.demand_file()?;
        let writing = self.database.transaction()?;
        let gtid = gtid.to_string();
        let mut last = None;
        let mut time = 0;
        for change in changes {
            last = Some(put_change(&writing, name, &gtid, change)?);
            time = change.time;
        }
        for it in observed {
            put_version(&writing, name, it, Since { time, change: last })?;
        }
        put_stream(&writing, name.stream, stream)?;
        writing.commit()?;
        self.make_room()
    }

    /// Writes definitions that belong to no change: when a stream begins.
    ///
    /// # Errors
    /// The same as for [`Store::record`].
    pub fn note(
        &mut self,
        name: StreamName<'_>,
        observed: &[Observed],
        time: i64,
    ) -> rusqlite::Result<()> {
        self.demand_file()?;
        let writing = self.database.transaction()?;
        for it in observed {
            put_version(&writing, name, it, Since { time, change: None })?;
        }
        writing.commit()?;
        self.make_room()
    }

    /// Returns the objects that exist according to a stream's history. `only` limits them to one schema and kind.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn present(
        &self,
        stream: &str,
        only: Option<(&str, ObjectKind)>,
    ) -> rusqlite::Result<Vec<ObjectName>> {
        let text = "SELECT db, object, kind FROM versions WHERE stream = ?1 AND until IS NULL \
                    AND (?2 IS NULL OR db = ?2 AND kind = ?3)";
        let mut statement = self.database.prepare_cached(text)?;
        let (schema, kind) = only.map(|(schema, kind)| (schema, kind.name())).unzip();
        let rows = statement.query_map(params![stream, schema, kind], |row| {
            let kind: String = row.get(2)?;
            Ok((row.get(0)?, row.get(1)?, ObjectKind::named(&kind)))
        })?;
        let mut objects = Vec::new();
        for row in rows {
            if let (schema, name, Some(kind)) = row? {
                objects.push(ObjectName { schema, name, kind });
            }
        }
        Ok(objects)
    }

    /// Fails if the file was deleted, because SQLite would go on writing to the deleted file.
    fn demand_file(&self) -> rusqlite::Result<()> {
        match &self.file {
            Some(file) if !file.exists() => Err(rusqlite::Error::InvalidPath(file.clone())),
            _ => Ok(()),
        }
    }

    /// Deletes the oldest changes and the oldest ended versions, until the database is within its limit.
    fn make_room(&self) -> rusqlite::Result<()> {
        let bytes_max = i64::try_from(self.bytes_max).unwrap_or(i64::MAX);
        while self.used_bytes()? > bytes_max {
            let oldest = |table: &str, only: &str| {
                format!(
                    "DELETE FROM {table} WHERE id <= (SELECT id FROM {table} {only} ORDER BY id LIMIT 1 \
                     OFFSET (SELECT count(*) * {ROOM_PERCENT} / 100 FROM {table} {only}))"
                )
            };
            let ended = "WHERE until IS NOT NULL";
            let versions = format!("{} AND until IS NOT NULL", oldest("versions", ended));
            let removed = self.database.execute(&versions, [])?
                + self.database.execute(&oldest("changes", ""), [])?;
            if removed == 0 {
                break;
            }
        }
        self.database
            .execute_batch("PRAGMA incremental_vacuum(1000)")
    }

    fn used_bytes(&self) -> rusqlite::Result<i64> {
        let pages = self.number("PRAGMA page_count")? - self.number("PRAGMA freelist_count")?;
        Ok(pages * self.number("PRAGMA page_size")?)
    }

    fn number(&self, text: &str) -> rusqlite::Result<i64> {
        self.database.query_row(text, [], |row| row.get(0))
    }
}

fn put_stream(
    writing: &Transaction<'_>,
    name: &str,
    stream: &StoredStream,
) -> rusqlite::Result<()> {
    let family = match stream.position.family() {
        Family::MySql => "mysql",
        Family::MariaDb => "mariadb",
    };
    let position = stream.position.to_string();
    writing
        .prepare_cached(
            "INSERT INTO streams VALUES (?1, ?2, ?3, ?4) ON CONFLICT (name) DO UPDATE SET \
             family = excluded.family, position = excluded.position, uuid = excluded.uuid",
        )?
        .execute(params![name, family, position, stream.uuid])?;
    Ok(())
}

/// Writes a change and returns its id. A tool's final change includes its earlier steps; a later DROP is added to it.
fn put_change(
    writing: &Transaction<'_>,
    name: StreamName<'_>,
    gtid: &str,
    change: &Change,
) -> rusqlite::Result<i64> {
    let online_change_step = online_change_step(&change.kind, &change.objects);
    match &online_change_step {
        Some((OnlineChangeStep::CutOver(tool), table)) => {
            let steps = take_steps(writing, name, table)?;
            let change = Change {
                kind: "ALTER TABLE".to_owned(),
                objects: vec![table.clone()],
                statement: joined(steps, &change.statement),
                ..change.clone()
            };
            let tool = (tool.name(), None);
            insert_change(writing, name, gtid, &change, Some(tool))
        }
        Some((OnlineChangeStep::Step(tool), table)) => {
            if change.kind.starts_with("DROP ")
                && let Some(id) = add_to_change(writing, name, table, change)?
            {
                return Ok(id);
            }
            let tool = (tool.name(), Some(table.name.as_str()));
            insert_change(writing, name, gtid, change, Some(tool))
        }
        None => insert_change(writing, name, gtid, change, None),
    }
}

/// The tool; and the table, if the change is a step of the tool's work on that table.
type OfTool<'a> = (&'static str, Option<&'a str>);

fn insert_change(
    writing: &Transaction<'_>,
    name: StreamName<'_>,
    gtid: &str,
    change: &Change,
    tool: Option<OfTool<'_>>,
) -> rusqlite::Result<i64> {
    let (tool, step_of) = tool.unzip();
    let first = change.objects.first();
    let others = change.objects.iter().skip(1).map(ToString::to_string);
    let others: Vec<_> = others.collect();
    let (account, host) = change.invoker.as_ref().map(|(a, b)| (a, b)).unzip();
    writing
        .prepare_cached(
            "INSERT INTO changes (stream, cluster, time, gtid, server_id, thread_id, kind, db, object, object_kind, \
             others, statement, account, host, seconds, error_code, tool, step_of) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        )?
        .insert(params![
            name.stream,
            name.cluster,
            change.time,
            gtid,
            change.server_id,
            change.thread_id,
            change.kind,
            first.map(|it| &it.schema),
            first.map(|it| &it.name),
            first.map(|it| it.kind.name()),
            (!others.is_empty()).then(|| others.join(", ")),
            change.statement,
            account,
            host,
            change.seconds,
            change.error_code,
            tool,
            step_of.flatten(),
        ])
}

/// Removes a table's steps, and returns their statements.
fn take_steps(
    writing: &Transaction<'_>,
    name: StreamName<'_>,
    table: &ObjectName,
) -> rusqlite::Result<Vec<String>> {
    const WHERE: &str = "WHERE stream = ?1 AND db = ?2 AND step_of = ?3";
    let keys = params![name.stream, table.schema, table.name];
    let text = format!("SELECT statement FROM changes {WHERE} ORDER BY id");
    let mut statement = writing.prepare_cached(&text)?;
    let steps = statement.query_map(keys, |row| row.get(0))?;
    let steps = steps.collect::<rusqlite::Result<Vec<String>>>()?;
    writing.execute(&format!("DELETE FROM changes {WHERE}"), keys)?;
    Ok(steps)
}

/// Adds a tool's last statement to the tool's change of the table, and returns the id of that change. None if there
/// is no such change, or if the table has changed since.
fn add_to_change(
    writing: &Transaction<'_>,
    name: StreamName<'_>,
    table: &ObjectName,
    change: &Change,
) -> rusqlite::Result<Option<i64>> {
    let found = writing
        .query_row(
            "SELECT id, statement, tool, step_of FROM changes WHERE stream = ?1 AND db = ?2 \
             AND (object = ?3 OR step_of = ?3) ORDER BY id DESC LIMIT 1",
            params![name.stream, table.schema, table.name],
            |row| {
                let of_tool: (Option<String>, Option<String>) = (row.get(2)?, row.get(3)?);
                Ok((row.get(0)?, row.get(1)?, of_tool))
            },
        )
        .optional()?;
    let Some((id, statement, (Some(_), None))) = found else {
        return Ok(None);
    };
    let statement = joined(vec![statement], &change.statement);
    writing.execute(
        "UPDATE changes SET statement = ?2 WHERE id = ?1",
        params![id, statement],
    )?;
    Ok(Some(id))
}

fn joined(mut statements: Vec<String>, last: &str) -> String {
    statements.push(last.to_owned());
    statements.join(";\n")
}

/// When a version begins, and which change made it.
#[derive(Clone, Copy)]
struct Since {
    time: i64,
    change: Option<i64>,
}

/// Ends the current version and inserts the new one, unless the object is unchanged.
fn put_version(
    writing: &Transaction<'_>,
    name: StreamName<'_>,
    observed: &Observed,
    since: Since,
) -> rusqlite::Result<()> {
    let object = &observed.object;
    if object.kind == ObjectKind::Schema && observed.definition == Definition::Gone {
        let text = "UPDATE versions SET until = ?3, ended_by = ?4 \
                    WHERE stream = ?1 AND db = ?2 AND until IS NULL";
        let values = params![name.stream, object.schema, since.time, since.change];
        writing.execute(text, values)?;
        return Ok(());
    }
    let (definition, fault) = match &observed.definition {
        Definition::Is(text) => (Some(text), None),
        Definition::Unreadable(text) => (None, Some(text)),
        Definition::Gone => (None, None),
    };
    // Tables, views and sequences share one namespace, so a new view ends the version of a table with its name.
    let text = "SELECT id, definition, fault FROM versions WHERE stream = ?1 AND db = ?2 AND object = ?3 \
                AND until IS NULL AND (kind = ?4 OR ?5 AND kind IN ('table', 'view', 'sequence'))";
    let is_relation = matches!(
        object.kind,
        ObjectKind::Table | ObjectKind::View | ObjectKind::Sequence
    );
    let keys = params![
        name.stream,
        object.schema,
        object.name,
        object.kind.name(),
        is_relation
    ];
    let before = writing
        .prepare_cached(text)?
        .query_row(keys, |row| {
            let told: (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
            Ok((row.get::<_, i64>(0)?, told))
        })
        .optional()?;
    if let Some((id, (text, why))) = before {
        let is_same = (text.as_ref(), why.as_ref()) == (definition, fault);
        if is_same {
            return Ok(());
        }
        let text = "UPDATE versions SET until = ?2, ended_by = ?3 WHERE id = ?1";
        writing.execute(text, params![id, since.time, since.change])?;
    }
    if observed.definition == Definition::Gone {
        return Ok(());
    }
    writing
        .prepare_cached(
            "INSERT INTO versions (stream, cluster, db, object, kind, since, made_by, definition, fault, read_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            name.stream,
            name.cluster,
            object.schema,
            object.name,
            object.kind.name(),
            since.time,
            since.change,
            definition,
            fault,
            observed.read_at.as_deref(),
        ])?;
    Ok(())
}

#[cfg(test)]
mod tests;
