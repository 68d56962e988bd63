//! The time span of rows in the history.

/// The time span of rows, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// The start, in seconds since 1970.
    pub start: i64,
    /// The length, in seconds.
    pub seconds: i64,
}
