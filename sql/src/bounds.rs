//! The limits of the lists in a command's facts.

/// The most names that are kept of a command.
pub const MENTIONS_MAX: usize = 1024;
/// The most statements that are kept of a command.
pub const PARTS_MAX: usize = 256;
/// The most comments that are kept of a command.
pub const COMMENTS_MAX: usize = 16;
/// The most assignments that are kept of a command; a SET with more is [`Effects::OPAQUE`](crate::Effects::OPAQUE).
pub const ASSIGNMENTS_MAX: usize = 256;

/// The most questions that are kept of a command.
pub const QUESTIONS_MAX: usize = 256;
