//! What rules look at.

/// What must be known of a statement so that rules can be asked about it, besides its facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Needs {
    /// Its digest. Where there is none, it is made for the rules alone.
    pub digest: bool,
    /// Its query attributes.
    pub attributes: bool,
    /// The local time.
    pub time: bool,
}
