//! Views, routines, triggers and defaults that do more than read.

use route::Listed;

use crate::table::{Asks, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<DefinitionRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "definitions",
    about: "Views, routines, triggers, defaults and generated columns that do more than read, as the proxy has \
            learned from information_schema (balance.learn_definitions). Statements that name one go to the \
            primary; they keep their session's connection if it does anything.",
    asks: Asks::Nothing,
    columns: columns! {
        text "cluster", "The cluster.", |it| it.cluster.clone().into();
        text "db", "Its schema.", |it| it.listed.as_ref().map(|it| it.schema.clone()).into();
        text "name", "Its name; of a column with its table.", |it| it.listed.as_ref().map(|it| it.name.clone()).into();
        text "kind",
            "view, function, procedure, trigger, default or generated column; or unknown, for what could not be \
             learned.", |it| it.listed.as_ref().map_or("unknown", |it| it.kind).into();
        text "does",
            "anything: it leaves something in its session, or is not understood; writes: it changes data; asks: it \
             asks what differs between servers, or reads variables.",
            |it| it.listed.as_ref().map(|it| it.does.to_string()).into();
        text "why", "Why that is so.", |it| it.why.clone().into();
    },
    items,
};

/// One object, or why the definitions of a cluster could not be learned.
pub struct DefinitionRow {
    cluster: String,
    listed: Option<Listed>,
    why: String,
}

fn items(input: &TableInput) -> Vec<DefinitionRow> {
    let mut items = Vec::new();
    for (id, known) in input.definitions.clusters() {
        let mut clusters = input.topology.clusters.iter();
        let Some(cluster) = clusters.find(|cluster| cluster.id == id) else {
            continue;
        };
        let complaint = known.complaint.iter().map(|complaint| DefinitionRow {
            cluster: cluster.name.clone(),
            listed: None,
            why: complaint.clone(),
        });
        let listed = known.listed.iter().map(|listed| DefinitionRow {
            cluster: cluster.name.clone(),
            why: listed.why.clone(),
            listed: Some(listed.clone()),
        });
        items.extend(complaint.chain(listed));
    }
    items
}
