//! What the result of a statement depends on.

use crate::bits::bits;

bits! {
    /// What a statement's result depends on besides data.
    Uses {
        /// `LAST_INSERT_ID()`, `@@identity`, `@@insert_id`
        LAST_INSERT_ID = 0,
        /// `FOUND_ROWS()`
        FOUND_ROWS = 1,
        /// `ROW_COUNT()`
        ROW_COUNT = 2,
        /// `CONNECTION_ID()`, `@@pseudo_thread_id`
        CONNECTION_ID = 3,
        /// SHOW WARNINGS, GET DIAGNOSTICS, `@@warning_count`, `@@error_count`
        DIAGNOSTICS = 4,
        /// `@x`; the mentions list the names.
        USER_VARIABLES = 5,
        /// `@@x`, SHOW VARIABLES; the mentions list the names.
        VARIABLES = 6,
        /// `IS_FREE_LOCK`, `IS_USED_LOCK`
        NAMED_LOCKS = 7,
        /// `LASTVAL`, `PREVIOUS VALUE FOR`
        SEQUENCE = 8,
        /// User, schema, roles: `USER()`, `DATABASE()` …
        IDENTITY = 9,
        /// The clock, chance, the server's version.
        VOLATILE = 10,
        /// EXECUTE of a statement prepared from text.
        PREPARED = 11,
        /// `SLEEP`, `BENCHMARK`
        TIME = 12,
        /// A wait for replication, or its position.
        REPLICATION = 13,
        /// A handler opened before.
        HANDLER = 14,
        /// SHOW PROFILE, SHOW STATUS: what the session did before.
        STATISTICS = 15,
        /// A file on the server: `LOAD_FILE`, LOAD DATA without LOCAL.
        SERVER_FILE = 16,
        /// A file on the client: LOAD DATA LOCAL.
        CLIENT_FILE = 17,
        /// Data of the server about its own threads: PROCESSLIST, performance_schema, sys.
        THREADS = 18,
        /// Other data that differ between servers: the schema mysql, tables of `information_schema` about the
        /// server, events, which are disabled on replicas.
        SERVER = 19,
    }
}
