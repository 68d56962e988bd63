//! The last EXPLAIN of each digest, line by line.

use stats::Line;

use crate::table::{Asks, Cell, Schema, TableDefinition, columns, text_or_null};
use crate::table_input::TableInput;
use crate::tables::digests::hexadecimal;
use advisor::Explained;

/// See the module.
pub static TABLE: TableDefinition<PlanRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "plans",
    about: "The lines of the last EXPLAIN of each digest; the digest that runs most often comes first. Empty \
            without statement_stats.index_usage.",
    asks: Asks::Insight,
    columns: columns! {
        text "digest", "As in digests.", |it| hexadecimal(it.explained.plan.digest).into();
        text "digest_text", "The normalised text.", |it| (&*it.explained.plan.text).into();
        text "db", "The default schema; NULL: none.", |it| it.explained.schema().into();
        text "cluster", "The cluster that runs the statements.", |it| (&*it.explained.plan.cluster).into();
        text "backend", "The backend that was asked; NULL: none yet.",
            |it| text_or_null(&it.explained.plan.backend);
        integer "count", "How often the statements have run.", |it| it.explained.executions.into();
        integer "explained", "How often one of them was explained.", |it| it.explained.plan.explained.into();
        text "asked", "When one of them was explained last, in UTC.", |it| it.explained_at.clone().into();
        text "error", "Why that has failed, if it has; then the plan is the one before.",
            |it| it.explained.plan.error.as_deref().into();
        integer "line", "Which line of the plan; NULL: there is none.",
            |it| it.line.as_ref().map(|(number, _)| *number).into();
        integer "id", "As EXPLAIN says it: which SELECT.", |it| it.of(|line| line.id.into());
        text "select_type", "As EXPLAIN says it.", |it| it.of(|line| line.select_type.clone().into());
        text "alias", "The alias of the table in the statement.", |it| it.of(|line| line.alias.clone().into());
        text "schema_name", "The schema of the table, where that is known.",
            |it| it.of(|line| line.table.as_ref().map(|it| it.0.clone()).into());
        text "table_name", "The table, where that is known.",
            |it| it.of(|line| line.table.as_ref().map(|it| it.1.clone()).into());
        text "type", "How it is read: ALL, index, range, ref, eq_ref, const and others.",
            |it| it.of(|line| line.access.clone().into());
        text "key", "The index; several, where they are merged.",
            |it| {
                it.of(|line| {
                    let names: Vec<_> = line.keys.iter().map(|(name, _)| &**name).collect();
                    text_or_null(&names.join(","))
                })
            };
        text "key_len", "So many bytes of it.",
            |it| {
                it.of(|line| {
                    let lengths = line.keys.iter().filter_map(|(_, length)| *length);
                    let lengths: Vec<_> = lengths.map(|it| it.to_string()).collect();
                    text_or_null(&lengths.join(","))
                })
            };
        text "ref", "The columns or values that the index is compared with.",
            |it| it.of(|line| line.reference.clone().into());
        integer "row_count", "About how many rows are looked at.", |it| it.of(|line| line.rows.into());
        text "extra", "The column Extra of EXPLAIN.", |it| it.of(|line| line.extra.clone().into());
    },
    items,
};

/// One line of a plan, or a plan without lines.
pub struct PlanRow {
    explained: Explained,
    explained_at: String,
    line: Option<(usize, Line)>,
}

impl PlanRow {
    fn of(&self, value: impl FnOnce(&Line) -> Cell) -> Cell {
        self.line
            .as_ref()
            .map_or(Cell::Null, |(_, line)| value(line))
    }
}

fn items(input: &TableInput) -> Vec<PlanRow> {
    let mut items = Vec::new();
    for explained in input.index_usage().plans {
        let explained_at = input.statement_stats.time(explained.plan.at);
        let item = |line| PlanRow {
            explained: explained.clone(),
            explained_at: explained_at.clone(),
            line,
        };
        let lines = explained.plan.lines.iter().cloned();
        items.extend((1..).zip(lines).map(|line| item(Some(line))));
        if explained.plan.lines.is_empty() {
            items.push(item(None));
        }
    }
    items
}
