//! The errors of the filter. The stream stops, because otherwise a replica would get data that it must not have.

use std::io;
use std::path::PathBuf;

use binlog::EventError;

/// The reason why an event cannot be filtered.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The event is damaged.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The temporary file of a long transaction cannot be written or read.
    #[error("the transaction cannot be gathered in the relay folder: {0}")]
    Spool(#[from] io::Error),
    /// The setting `domains` does not exist for MySQL.
    #[error("replication.filter.domains: MySQL has no GTID domains; use server_ids")]
    Domains,
    /// The log contains a change of rows as a statement.
    #[error(
        "the binary log has a statement for table {0}, for which there is a filter, and not the rows that changed; set \
         binlog_format = ROW on the server, or change the filter"
    )]
    StatementFormat(String),
    /// The log contains LOAD DATA as a statement.
    #[error(
        "the binary log has a LOAD DATA statement, and not the rows that changed; set binlog_format = ROW on the server"
    )]
    Load,
    /// Replicas get some tables of the statement, and others not.
    #[error(
        "the filter keeps some of the objects that this statement changes and drops others: {0}; change the filter so \
         that all are kept or all are dropped"
    )]
    Mixed(String),
    /// A view, routine, trigger or event mentions an object that has another name on replicas.
    #[error(
        "replicas have another name for an object that this statement mentions, and the proxy does not rename objects \
         in views, routines, triggers and events: {0}; drop them with action = \"drop\", changes = [\"code\"]"
    )]
    Code(String),
    /// A statement that is not UTF-8 would get a name that is not ASCII.
    #[error(
        "the statement is not in UTF-8, so the name {0} cannot be put into it; choose a name in ASCII"
    )]
    Charset(String),
    /// A script has changed a statement whose text it must not change.
    #[error(
        "the script of the filter has changed a statement that it can only keep or drop, because the statement has \
         passwords or is not in UTF-8: {0}"
    )]
    StatementText(String),
    /// The server does not send the names of columns.
    #[error(
        "the server does not say which columns table {0} has; set binlog_row_metadata = FULL on the server. Transactions \
         that were executed before cannot be filtered by columns"
    )]
    NoNames(String),
    /// The table lacks a column.
    #[error("table {table} has no column \"{column}\", which {setting} of its filter names")]
    NoColumn {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The setting.
        setting: &'static str,
    },
    /// The column's type or role does not allow the setting.
    #[error("{setting} is not possible for column \"{column}\" of table {table}: {reason}")]
    Column {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The setting.
        setting: &'static str,
        /// The reason.
        reason: &'static str,
    },
    /// The script of a filter has failed, or cannot be read.
    #[error("the script of the filter has failed: {text} ({})", file.display())]
    Script {
        /// The script.
        file: PathBuf,
        /// The error that the script has raised.
        text: String,
    },
}
