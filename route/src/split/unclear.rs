//! Statements that the proxy does not fully understand.

use sql::Marks;

/// Marks of statements that the proxy does not fully understand.
pub(super) const UNCLEAR: Marks = Marks::LOST.with(Marks::CROWDED);
