//! A prepared statement that is not there: servers name it in their error, by the number that they were asked for.

use wire::ErrorCode;

use crate::diagnostics::Diagnostics;

/// An id that no server gives a statement; the one above it means another thing to MariaDB.
pub const NOBODYS: u32 = 0xFFFF_FFF0;

/// A list that was read where MariaDB may have kept the error of a statement that is not there.
pub fn naming(mut list: Diagnostics, meant: u32) -> Diagnostics {
    let unknown = ErrorCode::UNKNOWN_STMT_HANDLER;
    list.rename_each(unknown, |message| renamed(message, NOBODYS, meant));
    list
}

/// A message about the client's statement in place of the backend's.
pub fn renamed(message: &[u8], asked: u32, meant: u32) -> Vec<u8> {
    let asked = asked.to_string();
    let meant = meant.to_string();
    let found = message
        .windows(asked.len())
        .position(|window| window == asked.as_bytes());
    let Some(at) = found else {
        return message.to_vec();
    };
    let (before, rest) = message.split_at(at);
    [before, meant.as_bytes(), &rest[asked.len()..]].concat()
}
