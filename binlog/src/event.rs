//! An event as a value; one variant for each kind that servers write.

use std::sync::Arc;

use crate::events::format::FormatDescription;
use crate::events::gtid_list::GtidList;
use crate::events::heartbeat::Heartbeat;
use crate::events::incident::Incident;
use crate::events::load::{BeginLoadQuery, ExecuteLoadQuery};
use crate::events::mariadb_gtid::MariadbGtidEvent;
use crate::events::mysql_gtid::MysqlGtidEvent;
use crate::events::partial_rows::RowsFragment;
use crate::events::payload::TransactionPayload;
use crate::events::query::Query;
use crate::events::rotate::Rotate;
use crate::events::session_values::{IntegerValue, UserVariable};
use crate::events::view_change::ViewChange;
use crate::events::xa_prepare::XaPrepare;
use crate::gtid_set::MysqlGtidSet;
use crate::rows::RowsEvent;
use crate::table_map::TableMap;

/// An event's content.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// The layout of the following events.
    FormatDescription(FormatDescription),
    /// The stream continues in another file.
    Rotate(Rotate<'a>),
    /// The server has shut down.
    Stop,
    /// A statement.
    Query(Query<'a>),
    /// A transaction is committed; its id within the server.
    Xid(u64),
    /// An XA transaction is prepared, or committed in one phase.
    XaPrepare(XaPrepare<'a>),
    /// MySQL: a transaction begins.
    MysqlGtid(MysqlGtidEvent),
    /// MySQL: the transactions of the files before this one.
    PreviousGtids(MysqlGtidSet),
    /// MariaDB: an event group begins.
    MariadbGtid(MariadbGtidEvent<'a>),
    /// MariaDB: the transactions of the files before this one.
    GtidList(GtidList),
    /// MariaDB: the oldest file in which crash recovery must look for prepared transactions.
    BinlogCheckpoint(&'a [u8]),
    /// MariaDB: the statement whose rows follow.
    AnnotateRows(&'a [u8]),
    /// MySQL: the statement whose rows follow.
    RowsQuery(&'a [u8]),
    /// A table whose rows follow.
    TableMap(Arc<TableMap>),
    /// Rows, and their table; none if the event only ends a statement.
    Rows(RowsEvent<'a>, Option<Arc<TableMap>>),
    /// MariaDB: a part of a rows event, which other parts follow. The last part becomes the whole event.
    RowsFragment(RowsFragment<'a>),
    /// MySQL: the compressed events of a transaction.
    TransactionPayload(TransactionPayload<'a>),
    /// The server is alive and has no event to send.
    Heartbeat(Heartbeat<'a>),
    /// A number for the statement that follows.
    Integer(IntegerValue),
    /// The seeds of RAND() for the statement that follows.
    Rand(u64, u64),
    /// A user variable for the statement that follows.
    UserVariable(UserVariable<'a>),
    /// A block of the file of a LOAD DATA, and whether it is the first block.
    LoadBlock(BeginLoadQuery<'a>, bool),
    /// The LOAD DATA statement is executed.
    ExecuteLoad(ExecuteLoadQuery<'a>),
    /// The file of a LOAD DATA is no longer needed.
    DeleteFile(u32),
    /// The server reports that the log lacks changes.
    Incident(Incident<'a>),
    /// Group Replication: the members have changed.
    ViewChange(ViewChange<'a>),
    /// Group Replication: certification data, which is not decoded.
    TransactionContext,
    /// An unknown event that may be skipped.
    Ignored,
}
