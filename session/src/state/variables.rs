//! The exceptions among session variables.
//!
//! The rule: a change is reported by the tracker under the variable's own name, and `SET SESSION name =
//! value as reported` gives it to another connection, with numbers bare and anything else quoted (hex
//! literals do), and `DEFAULT` takes it back. It was tried with every session variable of MariaDB
//! 10.11.19, MariaDB 11.8.9 and MySQL 9.7.4: setting each to another value, reading the report, setting
//! the reported value on a second connection and comparing SHOW SESSION VARIABLES, then DEFAULT against
//! a fresh connection. What did not keep to the rule is listed here.

use sql::Server;

/// The id for the next row that needs one.
pub(super) const INSERT_ID: &[u8] = b"insert_id";

/// The collation that goes with the schema.
pub(super) const OF_SCHEMA: &[u8] = b"collation_database";

/// How the proxy treats a variable that is reported or set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// It is restored on the next connection.
    Restored,
    /// It reports what happened and is no setting.
    News,
    /// It cannot be set on another connection, or it stands for an object of this one: the session
    /// keeps its connection until the variable has one of these values again ([`is_at_rest`]).
    Bound(&'static [&'static str]),
    /// It is what LAST_INSERT_ID() returns.
    LastInsertId,
    /// It sets what the server reports. After a SET of the session's, the proxy restores the value on the
    /// connection and tells the client what it has asked for.
    Followed,
    /// The clock of the session: set by the text, reported with the time when it is not set.
    Timestamp,
}

/// Reported without having been set: MySQL counts statements, MariaDB tells what was logged.
const NEWS: &[&str] = &[
    "statement_id",
    "last_gtid",
    "gtid_owned",
    "in_transaction",
    "error_count",
    "warning_count",
];

/// MariaDB identifies its trackers by a place in memory (MDEV-31746, 11.x). These variables share
/// one word: whichever changes, the server reports the one that was set first on the connection.
pub(super) const MARIADB_BITS: &[&str] = &[
    "autocommit",
    "big_tables",
    "check_constraint_checks",
    "explicit_defaults_for_timestamp",
    "foreign_key_checks",
    "profiling",
    "skip_parallel_replication",
    "skip_replication",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_if_exists",
    "sql_log_bin",
    "sql_log_off",
    "sql_notes",
    "sql_quote_show_create",
    "sql_safe_updates",
    "sql_warnings",
    "unique_checks",
];

/// The same for variables that have no place in memory of their own.
const MARIADB_PLACELESS: &[&str] = &[
    "gtid_seq_no",
    "identity",
    "insert_id",
    "last_gtid",
    "last_insert_id",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "timestamp",
];

/// Variables that decide how a statement's text is read, and which types its columns have.
pub(super) const DECIDING: &[&str] = &[
    "character_set_client",
    "character_set_collations",
    "character_set_results",
    "collation_connection",
    "collation_database",
    "default_collation_for_utf8mb4",
    "div_precision_increment",
    "group_concat_max_len",
    "old_mode",
    "sql_mode",
    "windowing_use_high_precision",
];

/// Two names of one value; the proxy keeps the second one. Both are known wherever the first is.
const ALIASES: &[(&str, &str)] = &[
    ("log_slow_min_examined_row_limit", "min_examined_row_limit"),
    ("log_slow_query", "slow_query_log"),
    ("log_slow_query_time", "long_query_time"),
    ("max_insert_delayed_threads", "max_delayed_threads"),
    ("pseudo_replica_mode", "pseudo_slave_mode"),
    ("storage_engine", "default_storage_engine"),
    ("tmp_memory_table_size", "tmp_table_size"),
    ("tx_isolation", "transaction_isolation"),
    ("tx_read_only", "transaction_read_only"),
];

/// A variable that is a part of another one. When the part is set, the proxy asks for the other one.
const PARTS: &[(&str, &str)] = &[
    ("character_set_connection", "collation_connection"),
    ("character_set_database", "collation_database"),
    ("character_set_server", "collation_server"),
    ("log_queries_not_using_indexes", "log_slow_filter"),
    ("log_slow_admin_statements", "log_slow_disabled_statements"),
    ("log_slow_slave_statements", "log_slow_disabled_statements"),
    ("wsrep_causal_reads", "wsrep_sync_wait"),
];

/// Variables that cannot be restored, and the values with which nothing is lost.
const BOUND: &[(&str, &[&str])] = &[
    ("debug", &[]),
    ("debug_sync", &[]),
    ("gtid_next", &["AUTOMATIC"]),
    ("gtid_seq_no", &["0"]),
    // Traces are kept by the connection.
    ("optimizer_trace", &["enabled=off"]),
    // So are profiles.
    ("profiling", &["OFF"]),
    ("pseudo_thread_id", &[]),
    // Reported as 0 and moved on by RAND().
    ("rand_seed1", &[]),
    ("rand_seed2", &[]),
    // The client has set it for the connection, and it cannot be set back in the middle of a transaction.
    ("session_track_gtids", &[]),
    // A time, read and reported in the current zone. A SET of both reads it in the zone from before.
    ("system_versioning_asof", &["DEFAULT"]),
];

/// The variables that the proxy sets on its connections to choose which changes the server reports.
const FOLLOWED: &[&str] = &[
    "session_track_schema",
    "session_track_state_change",
    "session_track_system_variables",
    "session_track_transaction_info",
];

/// Whether a variable's value is one with which nothing is lost: one of these, whole or up to a comma.
pub(super) fn is_at_rest(resting: &[&str], value: &[u8]) -> bool {
    resting.iter().any(|rest| {
        let behind = value.strip_prefix(rest.as_bytes());
        behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(b","))
    })
}

/// Switches outside of [`MARIADB_BITS`] that are asked of a server with SELECT, which says 1 and 0.
const SWITCHES: &[&str] = &["autocommit", "foreign_key_checks", "unique_checks"];

/// Returns the variable that this one sets as well, without a report. The proxy asks for it then.
pub(super) fn follower_of(name: &[u8]) -> Option<&'static [u8]> {
    match name {
        b"max_join_size" => Some(b"sql_big_selects"),
        b"old" => Some(b"old_mode"),
        _ => None,
    }
}

/// Whether a variable may have this name: names stand without quotes in statements of the proxy's.
pub(super) fn is_name(name: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.$".contains(byte);
    !name.is_empty() && name.len() <= 128 && name.iter().all(is_plain)
}

/// Appends a name in backticks.
pub(super) fn quote_name(text: &mut Vec<u8>, name: &[u8]) {
    text.push(b'`');
    for byte in name {
        text.push(*byte);
        if *byte == b'`' {
            text.push(b'`');
        }
    }
    text.push(b'`');
}

/// Whether a report of this name, in any case, is no state.
pub(super) fn is_news(name: &[u8]) -> bool {
    NEWS.iter()
        .any(|news| name.eq_ignore_ascii_case(news.as_bytes()))
}

/// Whether the variable's value is ON or OFF.
pub(super) fn is_boolean(name: &[u8]) -> bool {
    is_among(name, SWITCHES)
}

/// Returns how the proxy treats a variable, by its name in lower case.
pub(super) fn policy(name: &[u8]) -> Policy {
    match name {
        b"timestamp" => return Policy::Timestamp,
        b"last_insert_id" | b"identity" => return Policy::LastInsertId,
        _ => {}
    }
    if is_among(name, NEWS) {
        return Policy::News;
    }
    if is_among(name, FOLLOWED) {
        return Policy::Followed;
    }
    let bound = BOUND.iter().find(|(of, _)| of.as_bytes() == name);
    bound.map_or(Policy::Restored, |(_, resting)| Policy::Bound(resting))
}

/// The name under which a variable is kept, from its name in lower case.
pub(super) fn canonical(name: &[u8], server: Server) -> &[u8] {
    let alias = ALIASES.iter().find(|(alias, _)| alias.as_bytes() == name);
    match alias {
        Some((_, kept)) => kept.as_bytes(),
        // MySQL has this name too, for a switch of its own.
        None if name == b"old_alter_table" && is_mariadb(server) => b"alter_algorithm",
        None => name,
    }
}

/// The name by which this server knows a variable that is kept under `name`.
pub(super) fn spelled(name: &[u8], server: Server) -> &[u8] {
    let is_old = match server {
        Server::MariaDb(version) => version < 110_101,
        Server::MySql(version) => version < 50_720,
        Server::Unknown => false,
    };
    match name {
        b"transaction_isolation" if is_old => b"tx_isolation",
        b"transaction_read_only" if is_old => b"tx_read_only",
        b"alter_algorithm" if matches!(server, Server::MySql(_)) => b"old_alter_table",
        other => other,
    }
}

/// Returns the variable of which this one is a part.
pub(super) fn whole_of(name: &[u8]) -> Option<&'static [u8]> {
    let part = PARTS.iter().find(|(part, _)| part.as_bytes() == name);
    part.map(|(_, whole)| whole.as_bytes())
}

/// The variables that a report of this name may be about; none if it is about this variable only.
pub(super) fn confused(name: &[u8], server: Server) -> &'static [&'static str] {
    match server {
        Server::MariaDb(version) if version < 110_000 => &[],
        Server::MariaDb(_) if is_among(name, MARIADB_BITS) => MARIADB_BITS,
        Server::MariaDb(_) if is_among(name, MARIADB_PLACELESS) => MARIADB_PLACELESS,
        _ => &[],
    }
}

/// Whether a report of this name may only say what was written to the binary log.
pub(super) fn is_placeless(name: &[u8], server: Server) -> bool {
    matches!(server, Server::MariaDb(version) if version >= 110_000)
        && is_among(name, MARIADB_PLACELESS)
}

/// Whether a value goes with the schema: USE changes it without a report.
pub(super) fn is_of_schema(name: &[u8]) -> bool {
    matches!(name, b"collation_database" | b"character_set_database")
}

pub(super) fn is_mariadb(server: Server) -> bool {
    matches!(server, Server::MariaDb(_))
}

fn is_among(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|of| of.as_bytes() == name)
}
