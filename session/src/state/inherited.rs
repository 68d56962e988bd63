//! Session variables that a session inherits from the server's global variables. A session keeps the
//! values of the time when it began. A connection that logs in later has other values.

use std::rc::Rc;

use super::baseline::as_selected;
use super::connection::ConnectionState;
use super::session::SessionState;
use super::values::{Values, ValuesTable};
use super::variables::{self, Policy};

/// A global variable that has changed since a session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Former<'a> {
    /// Its name, in lower case.
    pub name: &'a [u8],
    /// The value that the session has inherited.
    pub before: &'a [u8],
    /// The value that a session inherits now.
    pub now: &'a [u8],
    /// Whether the session's connection has inherited the former value as well.
    pub is_on_connection: bool,
}

/// The privileges of a session, and the kind of its login.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Heir {
    /// Its client is interactive: `wait_timeout` comes from `interactive_timeout`.
    pub is_interactive: bool,
    /// It has set a global variable: it has the privileges to set what few accounts may set.
    pub is_privileged: bool,
}

/// No statement gives a session another value of these. MariaDB has some for each replication source.
const FIXED: &[&str] = &[
    "max_allowed_packet",
    "max_relay_log_size",
    "sql_slave_skip_counter",
    "max_user_connections",
    "net_buffer_length",
];

/// `ER_QUERY_CACHE_IS_GLOBALY_DISABLED`: the session has switched the query cache on, and then the server has
/// switched it off for all.
const QUERY_CACHE_IS_DISABLED: u16 = 1925;
const QUERY_CACHE_TYPE: &[u8] = b"query_cache_type";

/// The handshake sets these variables, or the schema does.
const OF_LOGIN: &[&str] = &[
    "character_set_client",
    "character_set_connection",
    "character_set_database",
    "character_set_results",
    "collation_connection",
    "collation_database",
];

/// Variables that an account with no more than SELECT may not set in its session. Each was tried with such
/// an account on MariaDB 10.11.19, MariaDB 11.8.9 and MySQL 9.7.4.
const RESTRICTED: &[&str] = &[
    "binlog_annotate_row_events",
    "binlog_direct_non_transactional_updates",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_value_options",
    "binlog_rows_query_log_events",
    "binlog_transaction_compression",
    "binlog_transaction_compression_level_zstd",
    "bulk_insert_buffer_size",
    "character_set_filesystem",
    "connection_memory_chunk_size",
    "connection_memory_limit",
    "enforce_storage_engine",
    "global_connection_memory_tracking",
    "gtid_domain_id",
    "histogram_generation_max_mem_size",
    "innodb_strict_mode",
    "innodb_tmpdir",
    "internal_tmp_mem_storage_engine",
    "log_disabled_statements",
    "low_priority_updates",
    "max_delayed_threads",
    "max_error_count",
    "min_examined_row_limit",
    "preload_buffer_size",
    "select_into_buffer_size",
    "select_into_disk_sync_delay",
    "server_id",
    "sql_generate_invisible_primary_key",
    "sql_log_bin",
    "sql_log_off",
    "sql_require_primary_key",
    "wsrep_on",
    "xa_detach_on_prepare",
];

impl SessionState {
    /// Global variables have changed. The session keeps what it has inherited: it sets the former values
    /// on connections that have inherited others.
    pub fn keep_inherited(
        &mut self,
        table: &ValuesTable,
        connection: Option<&mut ConnectionState>,
        former: &[Former<'_>],
        heir: Heir,
    ) {
        let mut values = Values::clone(&self.values);
        let mut there = Vec::new();
        for former in former {
            for name in names(former.name, heir) {
                let former = Former { name, ..*former };
                if self.keep(&mut values, &former, heir) && former.is_on_connection {
                    there.push(former);
                }
            }
        }
        self.assume(table.intern(values));
        if let Some(connection) = connection {
            connection.has_inherited(table, &there);
        }
    }

    /// Keeps one former value. Returns whether the session has it as one of its own now.
    fn keep(&mut self, values: &mut Values, former: &Former<'_>, heir: Heir) -> bool {
        let server = self.server;
        let name = variables::canonical(former.name, server);
        if !may_be_kept(name, heir) || self.doubts.names.iter().any(|known| **known == *name) {
            return false;
        }
        let before = as_selected(name, former.before);
        let known = self
            .inherited
            .iter()
            .position(|(known, _)| **known == *name);
        match (values.variable(name), known) {
            (Some(own), Some(at)) if *own == *as_selected(name, former.now) => {
                values.unset(name);
                self.inherited.swap_remove(at);
                false
            }
            (Some(_), _) => false,
            (None, _) if former.before == former.now => false,
            (None, _) => {
                values.set(name, Rc::clone(&before));
                self.inherited.push((Rc::from(name), before));
                true
            }
        }
    }

    /// Returns the values that a statement was prepared with, and the former values that the session keeps.
    pub fn with_inherited(&self, table: &ValuesTable, then: &Rc<Values>) -> Rc<Values> {
        let mut values = Values::clone(then);
        for (name, value) in &self.inherited {
            if values.variable(name).is_none() {
                values.set(name, Rc::clone(value));
            }
        }
        table.intern(values)
    }

    /// A connection did not take the session's state: the session gives up former values of global
    /// variables, which its account may not set.
    fn give_up_inherited(&mut self, table: &ValuesTable) {
        let inherited = std::mem::take(&mut self.inherited);
        let mut values = Values::clone(&self.values);
        for (name, value) in &inherited {
            if values.variable(name) == Some(&**value) {
                values.unset(name);
            }
        }
        self.assume(table.intern(values));
    }
}

impl SessionState {
    /// A connection did not take the session's state: the server answered with this error. The session gives up
    /// what it may have inherited, and the variable that the error is about.
    pub fn give_up_refused(&mut self, table: &ValuesTable, error: Option<u16>) {
        self.give_up_inherited(table);
        if error != Some(QUERY_CACHE_IS_DISABLED) {
            return;
        }
        let mut values = Values::clone(&self.values);
        values.unset(QUERY_CACHE_TYPE);
        self.assume(table.intern(values));
    }
}

impl ConnectionState {
    fn has_inherited(&mut self, table: &ValuesTable, former: &[Former<'_>]) {
        let Some(own) = &self.values else {
            return;
        };
        let mut values = Values::clone(own);
        for former in former {
            let name = variables::canonical(former.name, self.server());
            if values.variable(name).is_none() {
                values.set(name, as_selected(name, former.before));
            }
        }
        self.values = Some(table.intern(values));
    }
}

/// The session variables that inherit from a global one.
fn names(name: &[u8], heir: Heir) -> Vec<&[u8]> {
    match name {
        b"wait_timeout" if heir.is_interactive => Vec::new(),
        b"interactive_timeout" if heir.is_interactive => vec![name, b"wait_timeout"],
        _ => vec![name],
    }
}

fn may_be_kept(name: &[u8], heir: Heir) -> bool {
    let is_among = |names: &[&str]| names.iter().any(|of| of.as_bytes() == name);
    variables::is_name(name)
        && variables::policy(name) == Policy::Restored
        && variables::whole_of(name).is_none()
        && !is_among(FIXED)
        && !is_among(OF_LOGIN)
        && (heir.is_privileged || !is_among(RESTRICTED))
}
