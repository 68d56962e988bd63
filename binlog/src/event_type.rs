//! The types of events, by the servers' names (`Log_event_type` of `log_event.h`).

use std::fmt;

/// The type byte of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventType(pub u8);

macro_rules! event_types {
    ($($name:ident = $code:literal)+) => {
        #[allow(missing_docs)]
        impl EventType {
            $(pub const $name: Self = Self($code);)+

            /// The server's name of the type, without `_EVENT`.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some(stringify!($name)),)+
                    _ => None,
                }
            }
        }
    };
}

event_types! {
    START_V3 = 1
    QUERY = 2
    STOP = 3
    ROTATE = 4
    INTVAR = 5
    LOAD = 6
    SLAVE = 7
    CREATE_FILE = 8
    APPEND_BLOCK = 9
    EXEC_LOAD = 10
    DELETE_FILE = 11
    NEW_LOAD = 12
    RAND = 13
    USER_VAR = 14
    FORMAT_DESCRIPTION = 15
    XID = 16
    BEGIN_LOAD_QUERY = 17
    EXECUTE_LOAD_QUERY = 18
    TABLE_MAP = 19
    WRITE_ROWS_V0 = 20
    UPDATE_ROWS_V0 = 21
    DELETE_ROWS_V0 = 22
    WRITE_ROWS_V1 = 23
    UPDATE_ROWS_V1 = 24
    DELETE_ROWS_V1 = 25
    INCIDENT = 26
    HEARTBEAT = 27
    IGNORABLE = 28
    ROWS_QUERY = 29
    WRITE_ROWS = 30
    UPDATE_ROWS = 31
    DELETE_ROWS = 32
    GTID = 33
    ANONYMOUS_GTID = 34
    PREVIOUS_GTIDS = 35
    TRANSACTION_CONTEXT = 36
    VIEW_CHANGE = 37
    XA_PREPARE = 38
    PARTIAL_UPDATE_ROWS = 39
    TRANSACTION_PAYLOAD = 40
    HEARTBEAT_V2 = 41
    GTID_TAGGED = 42
    ANNOTATE_ROWS = 160
    BINLOG_CHECKPOINT = 161
    MARIADB_GTID = 162
    GTID_LIST = 163
    START_ENCRYPTION = 164
    QUERY_COMPRESSED = 165
    WRITE_ROWS_COMPRESSED_V1 = 166
    UPDATE_ROWS_COMPRESSED_V1 = 167
    DELETE_ROWS_COMPRESSED_V1 = 168
    WRITE_ROWS_COMPRESSED = 169
    UPDATE_ROWS_COMPRESSED = 170
    DELETE_ROWS_COMPRESSED = 171
    PARTIAL_ROW_DATA = 172
}

impl EventType {
    /// The length of the body's fixed part, if no FORMAT_DESCRIPTION event states it.
    pub(crate) const fn usual_post_header(self) -> usize {
        match self {
            Self::QUERY | Self::QUERY_COMPRESSED => 13,
            Self::ROTATE | Self::TABLE_MAP => 8,
            Self::APPEND_BLOCK | Self::DELETE_FILE | Self::BEGIN_LOAD_QUERY => 4,
            Self::EXECUTE_LOAD_QUERY => 26,
            Self::WRITE_ROWS_V1
            | Self::UPDATE_ROWS_V1
            | Self::DELETE_ROWS_V1
            | Self::WRITE_ROWS_COMPRESSED_V1
            | Self::UPDATE_ROWS_COMPRESSED_V1
            | Self::DELETE_ROWS_COMPRESSED_V1 => 8,
            Self::WRITE_ROWS
            | Self::UPDATE_ROWS
            | Self::DELETE_ROWS
            | Self::PARTIAL_UPDATE_ROWS
            | Self::WRITE_ROWS_COMPRESSED
            | Self::UPDATE_ROWS_COMPRESSED
            | Self::DELETE_ROWS_COMPRESSED => 10,
            Self::INCIDENT => 2,
            Self::MARIADB_GTID => 19,
            Self::GTID_LIST | Self::BINLOG_CHECKPOINT => 4,
            Self::VIEW_CHANGE => 52,
            Self::TRANSACTION_CONTEXT => 18,
            _ => 0,
        }
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "type {}", self.0),
        }
    }
}
