//! What a schema was at a time, read from the database beside its writer.

use rusqlite::{Connection, params};

/// An object as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectVersion {
    /// The schema that it was in; empty for an account.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// What it was: `table`.
    pub kind: String,
    /// The statement that would make it; none if the server did not say.
    pub definition: Option<String>,
}

/// The longest answer of [`schema_at`], in bytes.
const SCHEMA_BYTES_MAX: usize = 4 << 20;

/// The objects of a cluster, or of one of its schemas, at a time in microseconds since 1970; by schema, kind and name.
///
/// # Errors
/// SQLite's.
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
    let rows = statement.query_map(params![cluster, schema, time], |row| {
        Ok(ObjectVersion {
            schema: row.get(0)?,
            name: row.get(1)?,
            kind: row.get(2)?,
            definition: row.get(3)?,
        })
    })?;
    rows.collect()
}

/// The statements that would make a schema as it was at a time (`2026-11-01 12:00`, UTC), one after another; none if
/// the time is none.
///
/// # Errors
/// SQLite's, or the text would be too long.
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
    // The whole second counts: the servers' clock has no finer times for most statements.
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
