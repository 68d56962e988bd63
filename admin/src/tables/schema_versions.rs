//! The definitions of objects of the followed clusters over time.

use crate::kept_table::{KeptTable, SCHEMAS};
use crate::table::facts;

/// See the module.
pub static TABLE: KeptTable = KeptTable {
    home: SCHEMAS,
    name: "schema_versions",
    about: "The definitions of the objects of the clusters in [[replication]] after each change, as the server has \
            shown them. schema_at('schema', 'time') joins the definitions of one schema at one time.",
    columns: || {
        facts! {
            integer "id", "Its number; later ones are higher.";
            text "stream", "The stream that has told it.";
            text "cluster", "The cluster.";
            text "db", "The schema; of a schema itself its name; NULL: none.";
            text "object", "The object's name.";
            text "kind",
                "What it is: schema, table, view, sequence, procedure, function, package, package body, trigger, event or \
                 account.";
            text "since", "From when on it was so, in UTC.";
            text "until", "From when on it was no longer so; NULL: it is so now.";
            measure "since_us" ["us"], "When it began, in microseconds since 1970.";
            measure "until_us" ["us"], "When it ended, in microseconds since 1970.";
            integer "made_by", "The change that has made it; NULL: it was there when the stream began.";
            integer "ended_by", "The change that has ended it.";
            text "definition", "The statement that would make the object; NULL: see fault.";
            text "fault", "Why the server has not shown the definition.";
        }
    },
};
