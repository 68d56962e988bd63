//! Slow statements, one by one.

use std::sync::Arc;

use stats::StatementView;

use super::digests::hexadecimal;
use crate::table::{Asks, Schema, TableDefinition, columns, microseconds, text_or_null};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<SlowStatementRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "slow_statements",
    about: "Statements that took statement_stats.slow_statements or longer, the latest first, as many as \
            statement_stats.slow_statements_max says of each worker.",
    asks: Asks::Insight,
    columns: columns! {
        text "ended", "When it had ended, in UTC.", |it| it.ended.clone().into();
        integer "session", "The id of its session.", |it| it.statement.session.into();
        text "account", "The account of the statement.", |it| (&it.statement.attribution.account).into();
        text "client", "The address of its client.", |it| (&*it.statement.client).into();
        text "db", "The default schema; NULL: none.", |it| text_or_null(&it.statement.attribution.schema);
        text "backend", "The backend that ran it; NULL: it reached none.",
            |it| it.statement.backend.as_ref().map(|ran| &*ran.name).into();
        measure "total_us" ["us"], "From its arrival to the end of its reply: the sum of the next three.",
            |it| microseconds(it.statement.whole());
        measure "proxy_us" ["us"], "In the proxy before it left for a backend.",
            |it| microseconds(it.statement.times.proxy);
        measure "queue_us" ["us"], "The same, if it had to wait for a connection or for leave by a rule.",
            |it| microseconds(it.statement.times.queue);
        measure "backend_us" ["us"], "At the backend, up to the last byte of its reply.",
            |it| microseconds(it.statement.times.taken);
        measure "first_byte_us" ["us"], "At the backend, up to the first byte of its reply.",
            |it| microseconds(it.statement.times.first_byte);
        integer "rows_sent", "Rows of its results.", |it| it.statement.volume.rows_sent.into();
        integer "rows_affected", "Rows that it has changed.", |it| it.statement.volume.rows_affected.into();
        measure "bytes_in" ["bytes"], "The bytes that its client has sent.", |it| it.statement.volume.bytes_in.into();
        measure "bytes_out" ["bytes"], "Its reply.", |it| it.statement.volume.bytes_out.into();
        integer "error", "The number of its error; NULL: none.",
            |it| it.statement.error.as_ref().map(|(number, _)| *number).into();
        text "message", "The text of that error, as in `errors`.",
            |it| {
                let error = it.statement.error.as_ref();
                error.map(|(_, message)| message.clone()).into()
            };
        text "digest", "The hash of its normalised text.", |it| hexadecimal(it.statement.digest).into();
        text "statement", "Its normalised text; as it was said, if statement_stats.include_values allows.",
            |it| {
                let said = it.statement.text.as_deref();
                said.unwrap_or(&it.statement.digest_text).into()
            };
    },
    items,
};

/// One statement.
pub struct SlowStatementRow {
    statement: Arc<StatementView>,
    ended: String,
}

fn items(input: &TableInput) -> Vec<SlowStatementRow> {
    let statement_stats = &input.statement_stats;
    let slow = statement_stats.slow.iter();
    slow.map(|statement| SlowStatementRow {
        ended: statement_stats.time(statement.at),
        statement: Arc::clone(statement),
    })
    .collect()
}
