//! The facts about a statement that the rules need.

/// The values, besides a statement's facts, that the evaluation of the rules needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Needs {
    /// Its digest. If it is not known yet, it is computed for the rules.
    pub digest: bool,
    /// Its query attributes.
    pub attributes: bool,
    /// The local time.
    pub time: bool,
}
