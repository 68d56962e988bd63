//! The properties of one character set in the servers.

/// Bytes from the first to the last.
pub(crate) type Bytes = &'static [(u8, u8)];

/// The properties of a character set in the servers.
pub(crate) struct Row {
    /// Its name.
    pub name: &'static str,
    /// Bytes between words.
    pub blanks: Bytes,
    /// Bytes of unquoted names and of keywords.
    pub words: Bytes,
    /// Further bytes of names and keywords in MySQL only.
    pub words_of_mysql: Bytes,
    /// Bytes of the unquoted name of a user variable.
    pub variables: Bytes,
    /// Bytes that make `--` a comment if they follow it.
    pub dashes: Bytes,
    /// First bytes of characters whose second byte may be a backslash.
    pub leads: Bytes,
    /// Second bytes of these characters.
    pub trails: Bytes,
}

/// The server family whose reading of a character set is meant.
#[derive(Clone, Copy)]
pub(crate) enum CharsetFamily {
    /// The family is unknown: bytes that differ between the families are a guess.
    Both,
    MySql,
    MariaDb,
}
