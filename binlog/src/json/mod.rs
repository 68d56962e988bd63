//! JSON columns of MySQL: documents in their binary form, and the changes that updates make in them. MariaDB's JSON is text.

mod apply;
mod binary;
mod diff;
mod opaque;

pub use apply::apply_changes;
pub(crate) use binary::text;
pub use diff::JsonDiff;
pub(crate) use diff::read_changes;
