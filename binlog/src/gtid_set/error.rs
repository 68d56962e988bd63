//! The faults of a GTID set.

/// Why a text or an event is no GTID set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GtidError {
    /// The named item is missing or malformed.
    #[error("not a GTID set: {0}")]
    Invalid(&'static str),
    /// The set has more intervals, sources or domains than are kept.
    #[error("the GTID set has more than {0} entries")]
    TooLarge(usize),
}
