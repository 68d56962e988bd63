//! Events and rows for people and programs: each is a list of named values, printed as text or as JSON.

mod fields;
mod row;
mod shown;
mod statement;

pub use fields::describe;
pub use row::describe_row;
pub use shown::{Description, Shown};
pub use statement::{printable, query_flags, query_text};
