//! The variables of SHOW VARIABLES: settings, and variables that client libraries ask for.

use crate::functions::VARIABLES;
use crate::table::{Asks, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<VariableRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "variables",
    about: "Settings by name, and what client libraries ask servers for.",
    asks: Asks::Nothing,
    columns: columns! {
        text "name", "Its name.", |it| it.0.clone().into();
        text "value", "The value of the variable.", |it| it.1.clone().into();
    },
    items,
};

type VariableRow = (String, String);

fn items(input: &TableInput) -> Vec<VariableRow> {
    let known = VARIABLES.iter();
    let known = known.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let settings = super::settings::items(input).into_iter();
    known
        .chain(settings.map(|it| (it.name, it.value)))
        .collect()
}
