//! Capability flags of the handshake: MySQL's 32 and, above them, MariaDB's extended ones.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign};

/// A set of capability flags. Bits 0–31 are the protocol's `CLIENT_*`; bits 32–63 are MariaDB's
/// extended capabilities, which travel in the filler of greeting and handshake response when
/// [`Capabilities::LONG_PASSWORD`] (there named `CLIENT_MYSQL`) is absent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Capabilities(pub u64);

macro_rules! capabilities {
    ($($(#[$doc:meta])* $name:ident = $bit:literal,)*) => {
        impl Capabilities {
            $($(#[$doc])* pub const $name: Self = Self(1 << $bit);)*
            const NAMES: &[(Self, &str)] = &[$((Self::$name, stringify!($name)),)*];
        }
    };
}

capabilities! {
    /// MySQL: new long password. MariaDB: `CLIENT_MYSQL`, set by peers without extended flags.
    LONG_PASSWORD = 0,
    /// Affected rows are found rows.
    FOUND_ROWS = 1,
    /// Obsolete.
    LONG_FLAG = 2,
    /// A schema name is part of the handshake response.
    CONNECT_WITH_DB = 3,
    /// Obsolete.
    NO_SCHEMA = 4,
    /// zlib-compressed frames after login.
    COMPRESS = 5,
    /// Obsolete.
    ODBC = 6,
    /// LOAD DATA LOCAL INFILE is possible.
    LOCAL_FILES = 7,
    /// Spaces before `(` are ignored.
    IGNORE_SPACE = 8,
    /// The 4.1 protocol.
    PROTOCOL_41 = 9,
    /// Interactive time-out.
    INTERACTIVE = 10,
    /// TLS follows the SSLRequest packet.
    SSL = 11,
    /// Obsolete.
    IGNORE_SIGPIPE = 12,
    /// Status flags with transaction state.
    TRANSACTIONS = 13,
    /// Obsolete.
    RESERVED = 14,
    /// Authentication data with a length byte.
    SECURE_CONNECTION = 15,
    /// Several statements in one COM_QUERY.
    MULTI_STATEMENTS = 16,
    /// Several result sets of COM_QUERY.
    MULTI_RESULTS = 17,
    /// Several result sets of COM_STMT_EXECUTE.
    PS_MULTI_RESULTS = 18,
    /// Authentication plugins.
    PLUGIN_AUTH = 19,
    /// Connection attributes in the handshake response.
    CONNECT_ATTRS = 20,
    /// Authentication data with a length-encoded length.
    PLUGIN_AUTH_LENENC_CLIENT_DATA = 21,
    /// Expired passwords put the session into a sandbox.
    CAN_HANDLE_EXPIRED_PASSWORDS = 22,
    /// OK packets carry session state changes.
    SESSION_TRACK = 23,
    /// OK instead of EOF packets.
    DEPRECATE_EOF = 24,
    /// Result sets without column definitions are possible.
    OPTIONAL_RESULTSET_METADATA = 25,
    /// zstd-compressed frames after login.
    ZSTD_COMPRESSION_ALGORITHM = 26,
    /// COM_QUERY and COM_STMT_EXECUTE carry query attributes.
    QUERY_ATTRIBUTES = 27,
    /// More than one authentication factor.
    MULTI_FACTOR_AUTHENTICATION = 28,
    /// Obsolete: capability extension.
    CAPABILITY_EXTENSION = 29,
    /// Client option, not on the wire in anger.
    SSL_VERIFY_SERVER_CERT = 30,
    /// Client option, not on the wire in anger.
    REMEMBER_OPTIONS = 31,
    /// MariaDB: progress reports as ERR packets of code 0xffff.
    MARIADB_PROGRESS = 32,
    /// MariaDB: obsolete COM_MULTI.
    MARIADB_COM_MULTI = 33,
    /// MariaDB: COM_STMT_BULK_EXECUTE.
    MARIADB_STMT_BULK_OPERATIONS = 34,
    /// MariaDB: extended type information in column definitions.
    MARIADB_EXTENDED_METADATA = 35,
    /// MariaDB: column definitions of prepared statements are sent only when they changed.
    MARIADB_CACHE_METADATA = 36,
    /// MariaDB: unit results of bulk operations.
    MARIADB_BULK_UNIT_RESULTS = 37,
}

impl Capabilities {
    /// Whether every flag of `flags` is set.
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// With `flags` set or cleared.
    #[must_use]
    pub const fn with(self, flags: Self, set: bool) -> Self {
        if set {
            Self(self.0 | flags.0)
        } else {
            Self(self.0 & !flags.0)
        }
    }

    /// The protocol's own 32 bits.
    pub const fn lower(self) -> u32 {
        self.0 as u32
    }

    /// MariaDB's extended 32 bits.
    pub const fn extended(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Puts the two halves together.
    pub const fn from_parts(lower: u32, extended: u32) -> Self {
        Self(lower as u64 | (extended as u64) << 32)
    }
}

impl BitOr for Capabilities {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Capabilities {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Capabilities {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(
                Self::NAMES
                    .iter()
                    .filter(|(flag, _)| self.contains(*flag))
                    .map(|(_, name)| name),
            )
            .finish()
    }
}

#[cfg(test)]
mod tests;
