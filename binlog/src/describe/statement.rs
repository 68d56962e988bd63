//! Statements as text: from the client's character set to UTF-8, without passwords.

use sql::{Charset, Flags};

use crate::encoding;
use crate::events::query::Query;

/// Bits of `sql_mode` in the status variables.
const MODE_ANSI_QUOTES: u64 = 0x04;
const MODE_IGNORE_SPACE: u64 = 0x08;
const MODE_NO_BACKSLASH_ESCAPES: u64 = 0x10_0000;

/// A statement's text for people, with passwords and hashes masked.
pub fn query_text(query: &Query<'_>) -> String {
    let mode = query.status.sql_mode.unwrap_or(0);
    let client = query.status.charset.map(|[client, ..]| client);
    let flags = Flags {
        no_backslash_escapes: mode & MODE_NO_BACKSLASH_ESCAPES != 0,
        ansi_quotes: mode & MODE_ANSI_QUOTES != 0,
        ignore_space: mode & MODE_IGNORE_SPACE != 0,
        charset: client.map_or_else(Charset::default, Charset::of_collation),
        ..Flags::default()
    };
    masked(&query.text, flags, client)
}

/// The text of an event that does not tell the session's settings.
pub(super) fn bare_text(text: &[u8]) -> String {
    masked(text, Flags::default(), None)
}

fn masked(text: &[u8], flags: Flags, collation: Option<u16>) -> String {
    let masked = sql::mask_secrets(text, flags);
    match encoding::text(&masked, collation) {
        Some(text) => text.into_owned(),
        None => String::from_utf8_lossy(&masked).into_owned(),
    }
}
