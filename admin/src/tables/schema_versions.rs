//! What the objects of the clusters that are followed were, and when.

use super::schema_changes::{number, text};
use crate::schema_table::SchemaTable;

/// See the module.
pub static TABLE: SchemaTable = SchemaTable {
    name: "schema_versions",
    about: "The definitions of the objects of the clusters in [[replication]] after each change, as the server has \
            shown them. schema_at('schema', 'time') joins the definitions of one schema at one time.",
    columns: &[
        number("id", None, "Its number; later ones are higher."),
        text("stream", "The stream that has told it."),
        text("cluster", "The cluster."),
        text("db", "The schema; of a schema itself its name; NULL: none."),
        text("object", "The object's name."),
        text(
            "kind",
            "What it is: schema, table, view, sequence, procedure, function, package, package body, \
              trigger, event or account.",
        ),
        text("since", "From when on it was so, in UTC."),
        text(
            "until",
            "From when on it was no longer so; NULL: it is so now.",
        ),
        number(
            "since_us",
            Some("us"),
            "When it began, in microseconds since 1970.",
        ),
        number(
            "until_us",
            Some("us"),
            "When it ended, in microseconds since 1970.",
        ),
        number(
            "made_by",
            None,
            "The change that has made it; NULL: it was there when the stream began.",
        ),
        number("ended_by", None, "The change that has ended it."),
        text(
            "definition",
            "The statement that would make the object; NULL: see fault.",
        ),
        text("fault", "Why the server has not shown the definition."),
    ],
};
