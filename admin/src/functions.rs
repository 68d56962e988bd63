//! Functions and system variables of servers that clients ask for.

use config::AdminRole;
use net::Endpoint;
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use crate::fault::Fault;
use crate::table::Schema;

/// The version that the admin port reports: one that every client knows, and the proxy's name.
pub const VERSION: &str = concat!("8.0.40-pilotfish-", env!("CARGO_PKG_VERSION"));

/// The user and the connection that a statement comes from.
#[derive(Debug, Clone)]
pub struct Asker {
    /// `user@host`
    pub user: String,
    /// What the user may do.
    pub role: AdminRole,
    /// The client's address: `address:port`, or `localhost` for a socket.
    pub client: String,
    /// The connection's id.
    pub id: u32,
    /// The default schema.
    pub schema: Schema,
}

impl Asker {
    /// A user that has logged in from this address.
    pub fn new(user: &str, role: AdminRole, remote: &Endpoint, id: u32, schema: Schema) -> Self {
        let host = match remote {
            Endpoint::Tcp(address) => address.ip().to_string(),
            Endpoint::Unix(_) => "localhost".to_owned(),
        };
        Self {
            user: format!("{user}@{host}"),
            role,
            client: remote.to_string(),
            id,
            schema,
        }
    }

    /// The user's name, without the host.
    pub fn name(&self) -> &str {
        self.user
            .rsplit_once('@')
            .map_or(&self.user, |(name, _)| name)
    }
}

/// The variables that client libraries ask for when they connect, with the values here.
pub const VARIABLES: &[(&str, &str)] = &[
    ("auto_increment_increment", "1"),
    ("autocommit", "1"),
    ("character_set_client", "utf8mb4"),
    ("character_set_connection", "utf8mb4"),
    ("character_set_database", "utf8mb4"),
    ("character_set_results", "utf8mb4"),
    ("character_set_server", "utf8mb4"),
    ("character_set_system", "utf8mb4"),
    ("collation_connection", "utf8mb4_general_ci"),
    ("collation_database", "utf8mb4_general_ci"),
    ("collation_server", "utf8mb4_general_ci"),
    ("default_storage_engine", ""),
    ("have_ssl", "YES"),
    ("hostname", "pilotfish"),
    ("init_connect", ""),
    ("interactive_timeout", "28800"),
    ("license", "Apache-2.0"),
    ("lower_case_table_names", "1"),
    ("max_allowed_packet", "1048576"),
    ("net_buffer_length", "16384"),
    ("net_read_timeout", "30"),
    ("net_write_timeout", "60"),
    ("performance_schema", "0"),
    ("protocol_version", "10"),
    ("query_cache_size", "0"),
    ("query_cache_type", "OFF"),
    ("read_only", "1"),
    ("session_track_schema", "0"),
    ("sql_auto_is_null", "0"),
    ("sql_mode", ""),
    ("sql_safe_updates", "0"),
    ("sql_select_limit", "18446744073709551615"),
    ("system_time_zone", "UTC"),
    ("time_zone", "SYSTEM"),
    ("transaction_isolation", "REPEATABLE-READ"),
    ("transaction_read_only", "1"),
    ("tx_isolation", "REPEATABLE-READ"),
    ("tx_read_only", "1"),
    ("version", VERSION),
    ("version_comment", "Pilotfish, the admin port"),
    ("version_compile_machine", std::env::consts::ARCH),
    ("version_compile_os", std::env::consts::OS),
    ("wait_timeout", "28800"),
];

/// Defines the functions in a database of SQLite.
///
/// # Errors
/// SQLite's.
pub fn define(database: &Connection, asker: &Asker) -> Result<(), Fault> {
    let flags = FunctionFlags::SQLITE_UTF8;
    for name in ["user", "current_user", "session_user", "system_user"] {
        let user = asker.user.clone();
        database.create_scalar_function(name, 0, flags, move |_| Ok(user.clone()))?;
    }
    let role = asker.role.name();
    database.create_scalar_function("current_role", 0, flags, move |_| Ok(role))?;
    let schema = asker.schema.name();
    for name in ["database", "schema"] {
        database.create_scalar_function(name, 0, flags, move |_| Ok(schema))?;
    }
    let id = asker.id;
    database.create_scalar_function("connection_id", 0, flags, move |_| Ok(i64::from(id)))?;
    database.create_scalar_function("version", 0, flags, |_| Ok(VERSION))?;
    define_schema_at(database, None)?;
    define_for_java(database)
}

/// `schema_at('shop', '2026-11-01 12:00')`: a schema as it was, from the history of schemas at `source`.
///
/// # Errors
/// SQLite's.
pub fn define_schema_at(database: &Connection, source: Option<String>) -> Result<(), Fault> {
    let flags = FunctionFlags::SQLITE_UTF8;
    database.create_scalar_function("schema_at", 2, flags, move |context| {
        let [schema, time] = [0, 1].map(|at| context.get::<Option<String>>(at));
        match (&source, schema?, time?) {
            (Some(source), Some(schema), Some(time)) => {
                replication::schema_at(source, &schema, &time)
            }
            _ => Ok(None),
        }
    })?;
    Ok(())
}

/// Defines functions that both connectors for Java use when an application asks for the columns of a table: LOCATE,
/// LEAST, UCASE, and a collation by name.
fn define_for_java(database: &Connection) -> Result<(), Fault> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    database.create_scalar_function("locate", 2, flags, |context| {
        let [part, whole] = [0, 1].map(|at| context.get::<Option<String>>(at));
        let (Some(part), Some(whole)) = (part?, whole?) else {
            return Ok(None);
        };
        let bytes_before = whole.find(&part);
        let place = bytes_before.map_or(0, |bytes| whole[..bytes].chars().count() + 1);
        Ok(Some(i64::try_from(place).unwrap_or(i64::MAX)))
    })?;
    database.create_scalar_function("least", 2, flags, |context| {
        let [one, other] = [0, 1].map(|at| context.get::<Option<i64>>(at));
        Ok(one?.zip(other?).map(|(one, other)| one.min(other)))
    })?;
    database.create_scalar_function("ucase", 1, flags, |context| {
        let text = context.get::<Option<String>>(0)?;
        Ok(text.map(|text| text.to_ascii_uppercase()))
    })?;
    database.create_collation("utf8mb4_bin", |left, right| left.cmp(right))?;
    Ok(())
}
