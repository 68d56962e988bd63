//! How much of a transaction was filtered.

/// How many events a filter has dropped and changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filtered {
    /// Events that replicas do not get.
    pub dropped: u64,
    /// Events that replicas get in another form.
    pub changed: u64,
}
