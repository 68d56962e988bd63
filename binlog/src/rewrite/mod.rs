//! Events with other names, other statements and other values: what a filter of replication needs.
//!
//! ```text
//!   TABLE_MAP ──► rename_table          QUERY ──► rewrite_query         GTID ──► with_transaction_bytes
//!   RowsEvent ──► rewrite ──► RewrittenRows: each column of each row as a ColumnRewrite says
//!   RowsEvent ──► edit ──► EditedRows: each row as somebody decides who sees its values
//! ```
//!
//! The functions give bodies. [`crate::put_event`] puts the header in front and the checksum behind.

mod column;
mod edit;
mod gtid;
mod image;
mod names;
mod rows;

pub use column::{ColumnClass, ColumnFate, ColumnRewrite, NewValue, OldValue};
pub use edit::{EditedRows, ImageEdit, RowFate};
pub use gtid::with_transaction_bytes;
pub use names::{put_statement, rename_table, rewrite_query};
pub use rows::{RewrittenRows, mark_statement_end};
