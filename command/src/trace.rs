//! A statement that is under way and may be recorded.

use route::Wanted;

/// A statement that is under way and may be recorded.
pub struct Trace {
    /// Chance has chosen it.
    pub is_sampled: bool,
    /// Which role it wanted, in the transaction of then.
    pub wanted: Option<Wanted>,
    /// What kept its session on its connection when it came.
    pub pins: String,
}
