//! Rewrites events with other names, other statements and other values, for the replication filter.
//!
//! ```text
//!   TABLE_MAP ──► rename_table          QUERY ──► rewrite_query         GTID ──► with_transaction_bytes
//!   RowsEvent ──► rewrite ──► RewrittenRows: each column of each row as a ColumnRewrite says
//!   RowsEvent ──► edit ──► EditedRows: a callback sees each row, and decides about it
//! ```
//!
//! The functions return bodies. [`crate::put_event`] adds the header and the checksum.

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
