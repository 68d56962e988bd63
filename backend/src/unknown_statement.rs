//! Errors about a prepared statement that does not exist: servers name it by the id that they were asked for.

use wire::ErrorCode;

use crate::diagnostics::Diagnostics;

/// An id that no server gives to a statement. MariaDB gives the id above it another meaning.
pub const UNUSED_STATEMENT_ID: u32 = 0xFFFF_FFF0;

/// Puts the client's statement id into a list in which MariaDB may have kept the error of an unknown statement.
pub fn naming(mut list: Diagnostics, meant: u32) -> Diagnostics {
    let unknown = ErrorCode::UNKNOWN_STMT_HANDLER;
    list.rename_each(unknown, |message| {
        renamed(message, UNUSED_STATEMENT_ID, meant)
    });
    list
}

/// Replaces the backend's statement id in a message by the client's.
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
