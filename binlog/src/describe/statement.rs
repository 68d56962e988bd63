//! Converts statements to UTF-8 text, and masks passwords.

use sql::{Charset, Flags};

use crate::encoding;
use crate::events::query::Query;

/// Bits of `sql_mode` in the status variables.
const MODE_ANSI_QUOTES: u64 = 0x04;
const MODE_IGNORE_SPACE: u64 = 0x08;
const MODE_NO_BACKSLASH_ESCAPES: u64 = 0x10_0000;

/// Returns a statement's text for display, with passwords and hashes masked.
pub fn query_text(query: &Query<'_>) -> String {
    masked(&query.text, query_flags(query), client_collation(query))
}

/// Returns how the server has parsed the statement: by `sql_mode` and the client's character set.
pub fn query_flags(query: &Query<'_>) -> Flags {
    let mode = query.status.sql_mode.unwrap_or(0);
    Flags {
        no_backslash_escapes: mode & MODE_NO_BACKSLASH_ESCAPES != 0,
        ansi_quotes: mode & MODE_ANSI_QUOTES != 0,
        ignore_space: mode & MODE_IGNORE_SPACE != 0,
        charset: client_collation(query).map_or_else(Charset::default, Charset::of_collation),
        ..Flags::default()
    }
}

fn client_collation(query: &Query<'_>) -> Option<u16> {
    query.status.charset.map(|[client, ..]| client)
}

/// Returns a text of several lines for a terminal. Control characters other than line feeds and tabs become `\u{1b}`.
pub fn printable(text: &str) -> String {
    let is_plain = |letter: char| !letter.is_control() || matches!(letter, '\n' | '\t');
    let mut printable = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_plain(letter) {
            printable.push(letter);
        } else {
            printable.extend(letter.escape_unicode());
        }
    }
    printable
}

/// Returns the text of an event that lacks the session's settings.
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
