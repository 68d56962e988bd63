//! Statements that not all is known of.

use sql::Marks;

/// Marks of statements that not all is known of.
pub(super) const UNCLEAR: Marks = Marks::LOST.with(Marks::CROWDED);
