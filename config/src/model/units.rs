//! Units of time, for the ranges of durations.

/// A millisecond.
pub(super) const MS: u64 = 1;
pub(super) const SECOND: u64 = 1000 * MS;
pub(super) const MINUTE: u64 = 60 * SECOND;
pub(super) const HOUR: u64 = 60 * MINUTE;
pub(super) const DAY: u64 = 24 * HOUR;
