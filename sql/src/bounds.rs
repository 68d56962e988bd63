//! How many of each thing are kept of a command.

/// The names that are kept of a statement.
pub const MENTIONS_MAX: usize = 1024;
/// The statements that are kept of a command.
pub const PARTS_MAX: usize = 256;
/// The comments that are kept of a command.
pub const COMMENTS_MAX: usize = 16;
/// The assignments that are kept of a command; a SET with more is [`Effects::OPAQUE`](crate::Effects::OPAQUE).
pub const ASSIGNMENTS_MAX: usize = 256;

/// The questions that are kept of a command.
pub const QUESTIONS_MAX: usize = 256;
