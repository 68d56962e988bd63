//! A time that rows of the history are about.

/// The time that rows are about, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// Since 1970.
    pub start: i64,
    /// How many.
    pub seconds: i64,
}
