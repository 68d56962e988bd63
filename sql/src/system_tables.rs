//! The servers' own tables about a session or a server. A statement that reads them reads the state of
//! its connection, or data that differ between the servers of a cluster.

use crate::flags::Schema;
use crate::uses::Uses;

/// Tables with session variables.
const VARIABLES: [&str; 3] = [
    "session_variables",
    "variables_by_thread",
    "system_variables",
];
/// Tables with user variables.
const USER_VARIABLES: [&str; 2] = ["user_variables", "user_variables_by_thread"];
/// Tables about the past statements of a session.
const STATISTICS: [&str; 6] = [
    "optimizer_trace",
    "session_status",
    "status_by_thread",
    "prepared_statements_instances",
    "profiling",
    "user_defined_functions_by_thread",
];
/// Tables of `information_schema` with ids of threads; in the other system schemas most tables have them.
const THREADS: [&str; 9] = [
    "processlist",
    "innodb_trx",
    "innodb_locks",
    "innodb_lock_waits",
    "innodb_temp_table_info",
    "metadata_lock_info",
    "temporary_tables",
    "thread_pool_stats",
    "tp_thread_state",
];

/// Further tables of `information_schema` about the server, in either family, by the beginning of the name.
const SERVER: [&str; 21] = [
    "all_plugins",
    "client_statistics",
    "disks",
    "engines",
    "events",
    "feedback",
    "files",
    "global_",
    "index_statistics",
    "innodb_",
    "key_caches",
    "plugins",
    "query_",
    "rocksdb_",
    "slave_",
    "spider_",
    "table_statistics",
    "thread_pool_",
    "tokudb_",
    "user_statistics",
    "wsrep_",
];

/// The length of the shortest name that counts without a schema. Most tables have shorter names.
const NAME_BYTES_MIN: usize = "profiling".len();

/// Returns the uses of a statement that reads a table; `home` is the class of the default schema. Names that
/// users' tables may well have count only in their system schema.
pub(crate) fn of_table(schema: &[u8], name: &[u8], home: Schema) -> Uses {
    let class = match schema {
        [] if home == Schema::Plain && name.len() < NAME_BYTES_MIN => return Uses::NONE,
        [] => home,
        named => Schema::of_name(named),
    };
    match class {
        Schema::MySql => Uses::SERVER,
        Schema::Plain if schema.is_empty() => of_any_table(name),
        Schema::Plain => Uses::NONE,
        system => of_system_table(system, name),
    }
}

fn of_system_table(schema: Schema, name: &[u8]) -> Uses {
    let mut uses = of_any_table(name);
    let is_session = is_one_of(name, &["session", "threads", "x$session", "x$processlist"]);
    if is_session || is_one_of(name, &THREADS) {
        uses.add(Uses::VARIABLES);
    }
    if schema != Schema::Information || is_one_of(name, &THREADS) {
        uses.add(Uses::THREADS);
    }
    if schema == Schema::Information && SERVER.iter().any(|of| begins_with(name, of)) {
        uses.add(Uses::SERVER);
    }
    uses
}

fn begins_with(name: &[u8], beginning: &str) -> bool {
    let begun = name.get(..beginning.len());
    begun.is_some_and(|begun| begun.eq_ignore_ascii_case(beginning.as_bytes()))
}

fn of_any_table(name: &[u8]) -> Uses {
    let mut uses = Uses::NONE;
    if is_one_of(name, &VARIABLES) {
        uses.add(Uses::VARIABLES);
    }
    if is_one_of(name, &USER_VARIABLES) {
        uses.add(Uses::VARIABLES | Uses::USER_VARIABLES);
    }
    if is_one_of(name, &STATISTICS) {
        uses.add(Uses::STATISTICS);
    }
    if is_one_of(name, &["processlist", "innodb_trx"]) {
        uses.add(Uses::VARIABLES | Uses::THREADS);
    }
    uses
}

fn is_one_of(name: &[u8], names: &[&str]) -> bool {
    names
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}
