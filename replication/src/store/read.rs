//! Reads the schemas of a given time from the database, while the writer may write.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

use super::{APPLICATION, VERSION};

/// One version of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectVersion {
    /// The schema that contains it; empty for an account.
    pub schema: String,
    /// The object's name.
    pub name: String,
    /// The kind, such as `table`.
    pub kind: String,
    /// The statement that creates the object; none if the server did not show it.
    pub definition: Option<String>,
}

impl ObjectVersion {
    /// Reads a row with the columns db, object, kind and definition.
    pub(super) fn of_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            schema: row.get(0)?,
            name: row.get(1)?,
            kind: row.get(2)?,
            definition: row.get(3)?,
        })
    }
}

/// The longest answer of [`schema_at`], in bytes.
const SCHEMA_BYTES_MAX: usize = 4 << 20;

/// A history file that a proxy writes or has written.
pub struct SavedHistory {
    pub(super) database: Connection,
}

impl SavedHistory {
    /// Opens a history file for reading.
    ///
    /// # Errors
    /// The file cannot be read, or is of another kind.
    pub fn open(file: &Path) -> Result<Self, String> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let source = sqlite_file::uri(file);
        let opened = Connection::open_with_flags(source, flags);
        let database = opened.map_err(|error| error.to_string())?;
        let number = |text: &str| database.query_row(text, [], |row| row.get(0));
        let application: i64 = number("PRAGMA application_id").map_err(|it| it.to_string())?;
        let version: i64 = number("PRAGMA user_version").map_err(|it| it.to_string())?;
        match (application, version) == (APPLICATION, VERSION) {
            true => Ok(Self { database }),
            false => Err("it is no schema history, or of another version".to_owned()),
        }
    }

    /// Returns the objects of a cluster, or of one of its schemas, at a time in microseconds since 1970.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn objects_at(
        &self,
        cluster: &str,
        schema: Option<&str>,
        time: i64,
    ) -> Result<Vec<ObjectVersion>, String> {
        let versions = versions_at(&self.database, Some(cluster), schema, time);
        versions.map_err(|error| error.to_string())
    }

    /// Whether the history contains a cluster.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn has_cluster(&self, cluster: &str) -> Result<bool, String> {
        let text = "SELECT EXISTS (SELECT 1 FROM versions WHERE cluster = ?)";
        let known = self.database.query_row(text, [cluster], |row| row.get(0));
        known.map_err(|error| error.to_string())
    }
}

/// Returns the objects of a cluster, or of one of its schemas, at a time in microseconds since 1970; ordered by
/// schema, kind and name.
///
/// # Errors
/// SQLite fails.
pub fn versions_at(
    database: &Connection,
    cluster: Option<&str>,
    schema: Option<&str>,
    time: i64,
) -> rusqlite::Result<Vec<ObjectVersion>> {
    let mut statement = database.prepare(
        "SELECT db, object, kind, definition FROM versions WHERE (?1 IS NULL OR cluster = ?1) \
         AND (?2 IS NULL OR db = ?2) AND since <= ?3 AND (until IS NULL OR until > ?3) \
         ORDER BY cluster, db, kind <> 'schema', kind, object, id",
    )?;
    let rows = statement.query_map(params![cluster, schema, time], ObjectVersion::of_row)?;
    rows.collect()
}

/// Returns the statements that create a schema as it was at a time (`2026-11-01 12:00`, UTC), one after another.
/// None if `time` is not a time.
///
/// # Errors
/// SQLite fails, or the text would be too long.
pub fn schema_at(source: &str, schema: &str, time: &str) -> rusqlite::Result<Option<String>> {
    let database = Connection::open(source)?;
    let seconds: Option<i64> = database.query_row(
        "SELECT CAST(strftime('%s', ?1) AS INTEGER)",
        [time],
        |row| row.get(0),
    )?;
    let Some(seconds) = seconds else {
        return Ok(None);
    };
    // Include the whole second, because for most statements the servers' clock has no finer resolution.
    let time = seconds.saturating_mul(1_000_000).saturating_add(999_999);
    let mut text = String::new();
    for version in versions_at(&database, None, Some(schema), time)? {
        let definition = version
            .definition
            .unwrap_or_else(|| format!("-- {} {}: not known", version.kind, version.name));
        text.push_str(&definition);
        text.push_str(";\n");
        if text.len() > SCHEMA_BYTES_MAX {
            return Err(rusqlite::Error::UserFunctionError(
                format!(
                    "schema {schema} is longer than {SCHEMA_BYTES_MAX} bytes; read schema_versions"
                )
                .into(),
            ));
        }
    }
    Ok(Some(text))
}
