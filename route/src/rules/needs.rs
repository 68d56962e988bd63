//! What must be known of a statement to evaluate rules.

/// What must be known of a statement, besides its facts, so that the rules can be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Needs {
    /// Its digest. If it is not known yet, it is computed for the rules.
    pub digest: bool,
    /// Its query attributes.
    pub attributes: bool,
    /// The local time.
    pub time: bool,
}
