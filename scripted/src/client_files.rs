//! The files of a client that a backend may ask for (LOAD DATA LOCAL).

/// The names of files that the client's statements have named.
#[derive(Default)]
pub(crate) struct ClientFiles {
    /// Those that texts of prepared statements have named.
    pub(crate) prepared: Vec<Vec<u8>>,
    /// Those that the backend may ask for in its reply to the command under way.
    pub(crate) named: Vec<Vec<u8>>,
}
