//! An event as a value: one of the kinds that servers write.

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
    /// How the events that follow are laid out.
    FormatDescription(FormatDescription),
    /// The stream goes on elsewhere.
    Rotate(Rotate<'a>),
    /// The server has shut down.
    Stop,
    /// A statement.
    Query(Query<'a>),
    /// A transaction is committed, by this id within the server.
    Xid(u64),
    /// The first part of a distributed transaction ends.
    XaPrepare(XaPrepare<'a>),
    /// MySQL: a transaction begins.
    MysqlGtid(MysqlGtidEvent),
    /// MySQL: the transactions of the files before this one.
    PreviousGtids(MysqlGtidSet),
    /// MariaDB: an event group begins.
    MariadbGtid(MariadbGtidEvent<'a>),
    /// MariaDB: the transactions of the files before this one.
    GtidList(GtidList),
    /// MariaDB: from which file on a server that crashed has to look for prepared transactions.
    BinlogCheckpoint(&'a [u8]),
    /// MariaDB: the statement whose rows follow.
    AnnotateRows(&'a [u8]),
    /// MySQL: the statement whose rows follow.
    RowsQuery(&'a [u8]),
    /// A table whose rows follow.
    TableMap(Arc<TableMap>),
    /// Rows, and their table; none if the event only ends a statement.
    Rows(RowsEvent<'a>, Option<Arc<TableMap>>),
    /// MariaDB: a part of a rows event, behind which others come. The last part is given as the whole event.
    RowsFragment(RowsFragment<'a>),
    /// MySQL: a transaction's events, compressed.
    TransactionPayload(TransactionPayload<'a>),
    /// The server is there.
    Heartbeat(Heartbeat<'a>),
    /// A number for the statement that follows.
    Integer(IntegerValue),
    /// The seeds of RAND() for the statement that follows.
    Rand(u64, u64),
    /// A user variable for the statement that follows.
    UserVariable(UserVariable<'a>),
    /// A piece of the file of a LOAD DATA, and whether it is the first.
    LoadBlock(BeginLoadQuery<'a>, bool),
    /// The LOAD DATA is executed.
    ExecuteLoad(ExecuteLoadQuery<'a>),
    /// The file of a LOAD DATA is no longer needed.
    DeleteFile(u32),
    /// The server has lost changes.
    Incident(Incident<'a>),
    /// Group Replication: other members.
    ViewChange(ViewChange<'a>),
    /// Group Replication: data of the certification; not read.
    TransactionContext,
    /// An event that is not known here and that may be skipped.
    Ignored,
}
