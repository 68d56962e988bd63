//! The SQLite database that keeps what streams learn: where each stands, changes of objects, and what the objects were
//! after each. A change and the position behind it are written together, so none is lost or written twice.

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

/// Bytes of a history that no file keeps.
const MEMORY_BYTES_MAX: u64 = 16 << 20;

/// How long it is tried to write beside those who read.
const TIMEOUT_BUSY: Duration = Duration::from_secs(15);

/// "PfSc": that a database is one of these.
const APPLICATION: i64 = 0x5066_5363;

/// Which columns there are.
const VERSION: i64 = 1;

/// How much makes room at once when the database is full.
const ROOM_PERCENT: i64 = 10;

/// See the module.
pub struct Store {
    database: Connection,
    source: String,
    file: Option<PathBuf>,
    bytes_max: u64,
}

/// What is kept of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredStream {
    /// The transactions that it has had.
    pub position: Position,
    /// As whom MySQL knows it.
    pub uuid: String,
}

/// Whose entries are written.
#[derive(Debug, Clone, Copy)]
pub struct StreamName<'a> {
    /// The stream.
    pub stream: &'a str,
    /// The cluster that it follows.
    pub cluster: &'a str,
}

/// What the server has said about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The object.
    pub object: ObjectName,
    /// What it is.
    pub definition: Definition,
    /// Where the server's log ended when it had said so, as the server writes it. The definition has all changes up to
    /// there in it, and none behind.
    pub read_at: Option<Arc<str>>,
}

/// What an object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Definition {
    /// The statement that would make it.
    Is(String),
    /// There is none.
    Gone,
    /// The server does not say; its words.
    Unreadable(String),
}

impl Store {
    /// Opens the file, or memory; makes what is not there.
    ///
    /// # Errors
    /// The file cannot be had, or is something else.
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

    /// As SQLite is told where it is, for reading.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Makes it ready; whether it is one of these.
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
            // Whoever reads does not keep the writer waiting.
            self.database
                .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
        }
        Ok(true)
    }

    /// What is kept of a stream; none if it has never begun.
    ///
    /// # Errors
    /// SQLite's.
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

    /// Writes where a stream stands.
    ///
    /// # Errors
    /// SQLite's: the disk is full, or gone.
    pub fn save(&mut self, name: &str, stream: &StoredStream) -> rusqlite::Result<()> {
        self.demand_file()?;
        let writing = self.database.transaction()?;
        put_stream(&writing, name, stream)?;
        writing.commit()
    }

    /// Writes the changes of a transaction, what their objects are behind it, and where the stream stands then.
    ///
    /// # Errors
    /// SQLite's: the disk is full, or gone. Then nothing of it is written.
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

    /// Writes what objects are when no change has been seen: at the begin of a stream.
    ///
    /// # Errors
    /// As [`Store::record`].
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

    /// The objects that a stream's history has as being there; of one schema and kind, if they are given.
    ///
    /// # Errors
    /// SQLite's.
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

    /// SQLite would go on writing to a file that has no name any more.
    fn demand_file(&self) -> rusqlite::Result<()> {
        match &self.file {
            Some(file) if !file.exists() => Err(rusqlite::Error::InvalidPath(file.clone())),
            _ => Ok(()),
        }
    }

    /// The oldest changes, and versions that hold no longer, go until it is small enough.
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

/// Writes a change; its id. A change by a tool takes in the steps that led to it, and a step behind it is added.
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

/// The tool, and the table of which the change is a step.
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

/// Removes the steps for a table, and returns their statements.
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

/// Adds a tool's last statement to the change that it belongs to; the id of that, if there is one and no other change
/// of the table has come since.
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

/// From when on a version holds, and which change made it.
#[derive(Clone, Copy)]
struct Since {
    time: i64,
    change: Option<i64>,
}

/// Ends the version that held, unless the object is as it was, and begins another.
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
    // Tables, views and sequences share their names.
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
