//! The files of a client that a backend may ask for (LOAD DATA LOCAL).

/// The names of files in the client's statements.
#[derive(Default)]
pub(crate) struct ClientFiles {
    /// Names in the texts of prepared statements.
    pub(crate) prepared: Vec<Vec<u8>>,
    /// Names that the backend may ask for in its reply to the current command.
    pub(crate) named: Vec<Vec<u8>>,
}
