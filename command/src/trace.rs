//! A statement that is under way and may be recorded.

use route::Wanted;

/// A statement that is under way and may be recorded.
pub struct Trace {
    /// Chance has chosen it.
    pub is_sampled: bool,
    /// The role that the statement wanted, in the transaction at that time.
    pub wanted: Option<Wanted>,
    /// The session's pins when the statement arrived.
    pub pins: String,
}
