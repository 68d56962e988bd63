//! The statements of the admin port.

use crate::registry::TABLES;
use crate::table::{Asks, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<HelpRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "help",
    about: "The commands of the admin port.",
    asks: Asks::Nothing,
    columns: columns! {
        text "command", "The text of the command.", |it| it.0.clone().into();
        text "description", "The effect of the command.", |it| it.1.into();
    },
    items,
};

type HelpRow = (String, &'static str);

/// The statements besides SELECT: one per line, with what it does.
const COMMANDS: &str = include_str!("help.txt");

fn items(_: &TableInput) -> Vec<HelpRow> {
    let own = |schema| matches!(schema, Schema::Pilotfish | Schema::Main | Schema::Stats);
    let tables = TABLES.iter().filter(|table| own(table.schema()));
    let tables = tables.map(|table| (format!("SELECT * FROM {}", table.name()), table.about()));
    let commands = COMMANDS.lines().filter_map(|it| it.split_once(" -- "));
    let commands = commands.map(|(command, about)| (command.to_owned(), about));
    tables.chain(commands).collect()
}
