//! The statements that changed objects of the clusters that are followed.

use crate::kept_table::{KeptTable, SCHEMAS};
use crate::table::facts;

/// See the module.
pub static TABLE: KeptTable = KeptTable {
    home: SCHEMAS,
    name: "schema_changes",
    about: "The statements that have changed tables, views, routines and other objects of the clusters that are \
            followed by [[replication]], kept in schema_history.file.",
    columns: || {
        facts! {
            integer "id", "Its number; later ones are higher.";
            text "stream", "The stream that has told it.";
            text "cluster", "The cluster.";
            text "time", "When the statement began, in UTC.";
            measure "time_us" ["us"], "The same, in microseconds since 1970.";
            text "gtid", "The transaction.";
            integer "server_id", "The server that executed it first.";
            integer "thread_id", "The connection that executed it there.";
            text "kind", "What it is: ALTER TABLE.";
            text "db", "The schema of the object; NULL: none.";
            text "object", "The first object that it names; a user@host; NULL: not understood.";
            text "object_kind", "What that is: table, view, trigger, account and so on.";
            text "others", "The other objects that it names, separated by commas; NULL: none.";
            text "statement", "Its text, without passwords; of a change by a tool the statements of all its steps.";
            text "account",
                "The user whose privileges the server checked, or the user of the session that sent it through the proxy; \
                 NULL: not known.";
            text "host", "The host of that account, or of the client; NULL: not known.";
            measure "seconds" ["s"], "How long it took, by the server's clock.";
            integer "error_code", "The error that it ended with; 0: none.";
            text "tool", "gh-ost or pt-online-schema-change; NULL: neither.";
            text "step_of", "The table whose change this statement of a tool prepares; NULL: it is a change itself.";
        }
    },
};
