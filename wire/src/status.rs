//! Status flags of OK and EOF packets (`SERVER_STATUS_*`).

use std::fmt;

/// The session's status in the server's last OK or EOF packet.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct StatusFlags(pub u16);

macro_rules! status_flags {
    ($($(#[$doc:meta])* $name:ident = $value:literal,)*) => {
        impl StatusFlags {
            $($(#[$doc])* pub const $name: Self = Self($value);)*
            const NAMES: &[(Self, &str)] = &[$((Self::$name, stringify!($name)),)*];
        }
    };
}

status_flags! {
    /// A transaction is open.
    IN_TRANS = 0x0001,
    /// autocommit is on.
    AUTOCOMMIT = 0x0002,
    /// Another result of the same command follows.
    MORE_RESULTS_EXISTS = 0x0008,
    /// No good index was used.
    NO_GOOD_INDEX_USED = 0x0010,
    /// No index was used.
    NO_INDEX_USED = 0x0020,
    /// The statement opened a cursor: rows come by COM_STMT_FETCH.
    CURSOR_EXISTS = 0x0040,
    /// COM_STMT_FETCH sent the last row.
    LAST_ROW_SENT = 0x0080,
    /// A schema was dropped.
    DB_DROPPED = 0x0100,
    /// NO_BACKSLASH_ESCAPES is on.
    NO_BACKSLASH_ESCAPES = 0x0200,
    /// The columns of a prepared statement changed on re-preparation.
    METADATA_CHANGED = 0x0400,
    /// The statement was slow.
    QUERY_WAS_SLOW = 0x0800,
    /// The result holds OUT parameters.
    PS_OUT_PARAMS = 0x1000,
    /// The open transaction is read-only.
    IN_TRANS_READONLY = 0x2000,
    /// The OK packet carries session state changes.
    SESSION_STATE_CHANGED = 0x4000,
    /// MariaDB: ANSI_QUOTES is on.
    ANSI_QUOTES = 0x8000,
}

impl StatusFlags {
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
}

impl fmt::Debug for StatusFlags {
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
