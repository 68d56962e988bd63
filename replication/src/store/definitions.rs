//! The tables of the database, and the views that show them.

/// The stored tables. Times are in microseconds since 1970.
pub(super) const TABLES: &str = "
    CREATE TABLE streams (
        name TEXT PRIMARY KEY, family TEXT NOT NULL, position TEXT NOT NULL, uuid TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE changes (
        id INTEGER PRIMARY KEY AUTOINCREMENT, stream TEXT NOT NULL, cluster TEXT NOT NULL, time INTEGER NOT NULL,
        gtid TEXT NOT NULL, server_id INTEGER NOT NULL, thread_id INTEGER NOT NULL, kind TEXT NOT NULL, db TEXT,
        object TEXT, object_kind TEXT, others TEXT, statement TEXT NOT NULL, account TEXT, host TEXT,
        seconds INTEGER NOT NULL, error_code INTEGER NOT NULL, tool TEXT, step_of TEXT
    );
    CREATE INDEX changes_by_object ON changes (stream, db, object);
    CREATE INDEX changes_by_step ON changes (stream, db, step_of);
    CREATE INDEX changes_by_time ON changes (time);
    CREATE TABLE versions (
        id INTEGER PRIMARY KEY AUTOINCREMENT, stream TEXT NOT NULL, cluster TEXT NOT NULL, db TEXT NOT NULL,
        object TEXT NOT NULL, kind TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER, made_by INTEGER,
        ended_by INTEGER, definition TEXT, fault TEXT, read_at TEXT
    );
    CREATE INDEX versions_by_object ON versions (stream, db, object, until);
    CREATE VIEW schema_changes AS SELECT id, stream, cluster,
        strftime('%Y-%m-%d %H:%M:%S', time / 1000000, 'unixepoch') AS time, time AS time_us, gtid, server_id,
        thread_id, kind, nullif(db, '') AS db, object, object_kind, others, statement, account, host, seconds,
        error_code, tool, step_of FROM changes;
    CREATE VIEW schema_versions AS SELECT id, stream, cluster, nullif(db, '') AS db, object, kind,
        strftime('%Y-%m-%d %H:%M:%S', since / 1000000, 'unixepoch') AS since,
        strftime('%Y-%m-%d %H:%M:%S', until / 1000000, 'unixepoch') AS until, since AS since_us, until AS until_us,
        made_by, ended_by, definition, fault FROM versions;
";

/// Whether `versions` has the column `read_at`. Databases of earlier builds lack it.
pub(super) const HAS_READ_AT: &str =
    "SELECT count(*) FROM pragma_table_info('versions') WHERE name = 'read_at'";
pub(super) const ADD_READ_AT: &str = "ALTER TABLE versions ADD COLUMN read_at TEXT";

/// The view of changes, and its columns.
pub const CHANGES: (&str, &[&str]) = (
    "schema_changes",
    &[
        "id",
        "stream",
        "cluster",
        "time",
        "time_us",
        "gtid",
        "server_id",
        "thread_id",
        "kind",
        "db",
        "object",
        "object_kind",
        "others",
        "statement",
        "account",
        "host",
        "seconds",
        "error_code",
        "tool",
        "step_of",
    ],
);

/// The view of versions, and its columns.
pub const VERSIONS: (&str, &[&str]) = (
    "schema_versions",
    &[
        "id",
        "stream",
        "cluster",
        "db",
        "object",
        "kind",
        "since",
        "until",
        "since_us",
        "until_us",
        "made_by",
        "ended_by",
        "definition",
        "fault",
    ],
);
