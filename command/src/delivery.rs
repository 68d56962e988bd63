//! Where a reply goes, and when.

/// Where the reply of one command goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Delivery {
    /// The client gets it as it comes.
    #[default]
    AtOnce,
    /// The client gets the end of the reply after the writes are noted, because another client may read them elsewhere
    /// as soon as this client knows.
    Kept,
    /// The reply is discarded: the client has had it before, from another backend.
    Nobody,
}
