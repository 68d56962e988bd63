//! Binary logs of MySQL and MariaDB as bytes and values: events, GTID sets, files.
//!
//! ```text
//!   file ──► EventReader ──► RawEvent ──► Decoder ──► Event        one of the kinds below
//!                            header,      format,      │
//!                            checksum     tables       ├─ Query, Rotate, GTIDs, …
//!                                                      ├─ TransactionPayload ──► events within
//!                                                      └─ RowsEvent + TableMap ──► RowChange ──► Value
//!   Event ──► describe ──► Description    the same fields as text and as JSON
//!   Event ──► rewrite ──► bytes           with other names, other statements, other values of columns
//!   Event ──► GroupTracker                where transactions begin and end; of passing packets: DumpFollower
//! ```
//!
//! This crate uses no socket and no clock. An event is kept as the bytes that the server wrote, and everything else
//! is a view of them, so events can be forwarded unchanged. All bytes come from a peer: lengths are checked, sizes
//! are limited, and an error names the missing item.
//!
//! An unknown event type is skipped only if the event is marked as ignorable. Otherwise it is an error, because a
//! reader that skips the event would lose changes.

#![cfg_attr(test, allow(clippy::unwrap_used))]
#![deny(clippy::indexing_slicing)]

mod bitmap;
mod checksum;
mod civil;
mod column;
mod compressed;
mod decoder;
mod describe;
mod dump;
mod encoding;
mod error;
mod event;
mod event_type;
mod events;
mod file;
mod groups;
mod gtid_set;
mod header;
mod json;
mod limits;
mod raw;
mod rewrite;
mod rows;
mod table_map;
mod value;

pub use bitmap::Bitmap;
pub use checksum::Checksum;
pub use column::{Column, ColumnType, KeyColumn};
pub use decoder::Decoder;
pub use describe::{
    Description, Shown, describe, describe_row, printable, query_flags, query_text,
};
pub use dump::DumpFollower;
pub use error::EventError;
pub use event::Event;
pub use event_type::EventType;
pub use events::format::FormatDescription;
pub use events::gtid_list::GtidList;
pub use events::heartbeat::Heartbeat;
pub use events::incident::Incident;
pub use events::load::{BeginLoadQuery, ExecuteLoadQuery};
pub use events::mariadb_gtid::MariadbGtidEvent;
pub use events::mysql_gtid::MysqlGtidEvent;
pub use events::partial_rows::RowsFragment;
pub use events::payload::{PayloadEvents, TransactionPayload};
pub use events::query::Query;
pub use events::rotate::Rotate;
pub use events::session_values::{IntegerPurpose, IntegerValue, UserValue, UserVariable};
pub use events::status_variables::StatusVariables;
pub use events::view_change::ViewChange;
pub use events::xa_prepare::{XaPrepare, Xid};
pub use file::{EventReader, Fault, FileError};
pub use groups::{GroupStep, GroupTracker};
pub use gtid_set::{
    Gtid, GtidError, Interval, MariadbGtid, MariadbGtidSet, MysqlGtid, MysqlGtidSet, SourceId, Tag,
    Uuid,
};
pub use header::{EventFlags, EventHeader, HEADER_BYTES};
pub use json::{JsonDiff, apply_changes};
pub use limits::Limits;
pub use raw::{RawEvent, put_event};
pub use rewrite::{
    ColumnClass, ColumnFate, ColumnRewrite, EditedRows, ImageEdit, NewValue, OldValue,
    RewrittenRows, RowFate, mark_statement_end, put_statement, rename_table, rewrite_query,
    with_transaction_bytes,
};
pub use rows::{Row, RowChange, RowChanges, RowsEvent, RowsKind};
pub use table_map::TableMap;
pub use value::{NativeType, Temporal, Value};
