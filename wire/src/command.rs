//! Commands: the first byte of a client's payload between exchanges (`enum_server_command`).

use std::fmt;

/// One COM_ request's number. Unknown numbers are kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Command(pub u8);

macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident = $value:literal,)*) => {
        impl Command {
            $($(#[$doc])* pub const $name: Self = Self($value);)*

            /// The protocol's name, or `None` for a number that neither family defines.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some(concat!("COM_", stringify!($name))),)*
                    _ => None,
                }
            }
        }
    };
}

commands! {
    /// Internal to the server.
    SLEEP = 0x00,
    /// Ends the session; no reply.
    QUIT = 0x01,
    /// Changes the default schema.
    INIT_DB = 0x02,
    /// A statement as text.
    QUERY = 0x03,
    /// The columns of a table.
    FIELD_LIST = 0x04,
    /// Obsolete: CREATE DATABASE.
    CREATE_DB = 0x05,
    /// Obsolete: DROP DATABASE.
    DROP_DB = 0x06,
    /// FLUSH, by flags.
    REFRESH = 0x07,
    /// Stops the server.
    SHUTDOWN = 0x08,
    /// A line of figures, neither OK nor ERR.
    STATISTICS = 0x09,
    /// SHOW PROCESSLIST.
    PROCESS_INFO = 0x0a,
    /// Internal to the server.
    CONNECT = 0x0b,
    /// KILL.
    PROCESS_KILL = 0x0c,
    /// Writes debug information to the server's log.
    DEBUG = 0x0d,
    /// Checks whether the server is alive.
    PING = 0x0e,
    /// Internal to the server.
    TIME = 0x0f,
    /// Internal to the server.
    DELAYED_INSERT = 0x10,
    /// A new login on the same connection.
    CHANGE_USER = 0x11,
    /// Streams the binary log.
    BINLOG_DUMP = 0x12,
    /// Obsolete.
    TABLE_DUMP = 0x13,
    /// Internal to the server.
    CONNECT_OUT = 0x14,
    /// A replica introduces itself.
    REGISTER_SLAVE = 0x15,
    /// Prepares a statement.
    STMT_PREPARE = 0x16,
    /// Executes a prepared statement.
    STMT_EXECUTE = 0x17,
    /// A part of a long parameter; no reply.
    STMT_SEND_LONG_DATA = 0x18,
    /// Closes a prepared statement; no reply.
    STMT_CLOSE = 0x19,
    /// Resets a prepared statement.
    STMT_RESET = 0x1a,
    /// Multi-statements on or off.
    SET_OPTION = 0x1b,
    /// Rows of a cursor.
    STMT_FETCH = 0x1c,
    /// Internal to the server.
    DAEMON = 0x1d,
    /// Streams the binary log from a GTID set (MySQL).
    BINLOG_DUMP_GTID = 0x1e,
    /// Clears the session's state.
    RESET_CONNECTION = 0x1f,
    /// Hands over to the clone plugin's own protocol (MySQL).
    CLONE = 0x20,
    /// Group replication (MySQL).
    SUBSCRIBE_GROUP_REPLICATION_STREAM = 0x21,
    /// Executes a prepared statement for many parameter rows (MariaDB).
    STMT_BULK_EXECUTE = 0xfa,
}

impl Command {
    /// Whether the command begins or belongs to replication or cloning: the bytes after it are no exchange of a
    /// session.
    pub const fn is_replication(self) -> bool {
        matches!(
            self,
            Self::BINLOG_DUMP
                | Self::TABLE_DUMP
                | Self::REGISTER_SLAVE
                | Self::BINLOG_DUMP_GTID
                | Self::CLONE
                | Self::SUBSCRIBE_GROUP_REPLICATION_STREAM
        )
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "COM_ 0x{:02x}", self.0),
        }
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
