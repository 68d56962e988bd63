//! What the servers say of one character set.

/// Bytes from the first to the last.
pub(crate) type Bytes = &'static [(u8, u8)];

/// What the servers say of a character set.
pub(crate) struct Row {
    /// Its name.
    pub name: &'static str,
    /// Bytes between words.
    pub blanks: Bytes,
    /// Bytes of unquoted names and of keywords.
    pub words: Bytes,
    /// Those that only MySQL takes for such bytes.
    pub words_of_mysql: Bytes,
    /// Bytes of the unquoted name of a user variable.
    pub variables: Bytes,
    /// Bytes behind `--` that make it a comment.
    pub dashes: Bytes,
    /// First bytes of characters whose second byte may be a backslash.
    pub leads: Bytes,
    /// Second bytes of these.
    pub trails: Bytes,
}

/// Whose reading of a character set is meant.
#[derive(Clone, Copy)]
pub(crate) enum CharsetFamily {
    /// What differs is a guess.
    Both,
    MySql,
    MariaDb,
}
