//! The clock of streams and replicas.

/// The time, in microseconds since 1970.
pub type Clock = fn() -> i64;
