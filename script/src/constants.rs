//! The numbers in the table `proxy`: the 69 of MySQL Proxy 0.8.5, and those that scripts of other
//! releases compare with.

use mlua::Table;

/// The 69 of release 0.8.5, in the order of its headers.
pub const CONSTANTS: [(&str, i64); 69] = [
    ("PROXY_SEND_QUERY", 1),
    ("PROXY_SEND_RESULT", 2),
    ("PROXY_IGNORE_RESULT", 4),
    // major << 16 | minor << 8 | patch
    ("PROXY_VERSION", 0x0_0805),
    ("MYSQLD_PACKET_OK", 0),
    ("MYSQLD_PACKET_ERR", 255),
    ("MYSQLD_PACKET_RAW", 250),
    ("BACKEND_STATE_UNKNOWN", 0),
    ("BACKEND_STATE_UP", 1),
    ("BACKEND_STATE_DOWN", 2),
    ("BACKEND_TYPE_UNKNOWN", 0),
    ("BACKEND_TYPE_RW", 1),
    ("BACKEND_TYPE_RO", 2),
    ("COM_SLEEP", 0),
    ("COM_QUIT", 1),
    ("COM_INIT_DB", 2),
    ("COM_QUERY", 3),
    ("COM_FIELD_LIST", 4),
    ("COM_CREATE_DB", 5),
    ("COM_DROP_DB", 6),
    ("COM_REFRESH", 7),
    ("COM_SHUTDOWN", 8),
    ("COM_STATISTICS", 9),
    ("COM_PROCESS_INFO", 10),
    ("COM_CONNECT", 11),
    ("COM_PROCESS_KILL", 12),
    ("COM_DEBUG", 13),
    ("COM_PING", 14),
    ("COM_TIME", 15),
    ("COM_DELAYED_INSERT", 16),
    ("COM_CHANGE_USER", 17),
    ("COM_BINLOG_DUMP", 18),
    ("COM_TABLE_DUMP", 19),
    ("COM_CONNECT_OUT", 20),
    ("COM_REGISTER_SLAVE", 21),
    ("COM_STMT_PREPARE", 22),
    ("COM_STMT_EXECUTE", 23),
    ("COM_STMT_SEND_LONG_DATA", 24),
    ("COM_STMT_CLOSE", 25),
    ("COM_STMT_RESET", 26),
    ("COM_SET_OPTION", 27),
    ("COM_STMT_FETCH", 28),
    ("COM_DAEMON", 29),
    ("MYSQL_TYPE_DECIMAL", 0),
    ("MYSQL_TYPE_TINY", 1),
    ("MYSQL_TYPE_SHORT", 2),
    ("MYSQL_TYPE_LONG", 3),
    ("MYSQL_TYPE_FLOAT", 4),
    ("MYSQL_TYPE_DOUBLE", 5),
    ("MYSQL_TYPE_NULL", 6),
    ("MYSQL_TYPE_TIMESTAMP", 7),
    ("MYSQL_TYPE_LONGLONG", 8),
    ("MYSQL_TYPE_INT24", 9),
    ("MYSQL_TYPE_DATE", 10),
    ("MYSQL_TYPE_TIME", 11),
    ("MYSQL_TYPE_DATETIME", 12),
    ("MYSQL_TYPE_YEAR", 13),
    ("MYSQL_TYPE_NEWDATE", 14),
    ("MYSQL_TYPE_BIT", 16),
    ("MYSQL_TYPE_NEWDECIMAL", 246),
    ("MYSQL_TYPE_ENUM", 247),
    ("MYSQL_TYPE_SET", 248),
    ("MYSQL_TYPE_TINY_BLOB", 249),
    ("MYSQL_TYPE_MEDIUM_BLOB", 250),
    ("MYSQL_TYPE_LONG_BLOB", 251),
    ("MYSQL_TYPE_BLOB", 252),
    ("MYSQL_TYPE_VAR_STRING", 253),
    ("MYSQL_TYPE_STRING", 254),
    ("MYSQL_TYPE_GEOMETRY", 255),
];

/// Constants that 0.8.5 does not have, but that scripts of other releases, and some scripts shipped with it, use.
pub const SUPERSET: [(&str, i64); 2] = [
    // The first byte of an EOF packet.
    ("MYSQLD_PACKET_EOF", 254),
    // The first byte of a NULL in a row.
    ("MYSQLD_PACKET_NULL", 251),
];

/// Puts them all into a table.
///
/// # Errors
/// Memory has run out.
pub fn put(table: &Table) -> mlua::Result<()> {
    for (name, value) in CONSTANTS.into_iter().chain(SUPERSET) {
        table.raw_set(name, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_script_constants_are_unique() {
        let all = CONSTANTS.iter().chain(&SUPERSET).map(|(name, _)| name);
        let names: std::collections::BTreeSet<_> = all.collect();
        assert_eq!(names.len(), CONSTANTS.len() + SUPERSET.len());
    }
}
