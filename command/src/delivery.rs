//! Who gets a reply, and when.

/// Who gets the reply of one command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Delivery {
    /// The client gets it as it comes.
    #[default]
    AtOnce,
    /// Its end waits until it is noted what was written: somebody may ask elsewhere as soon as the
    /// client knows.
    Kept,
    /// The client has had it before, from another backend.
    Nobody,
}
