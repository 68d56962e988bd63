//! What can be asked here.

use crate::material::Material;
use crate::registry::TABLES;
use crate::table::{Asks, Schema, TableDefinition, text};

/// See the module.
pub static TABLE: TableDefinition<HelpRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "help",
    about: "The commands of the admin port.",
    asks: Asks::Nothing,
    columns: &[
        text("command", "The text of the command.", |it| {
            it.0.clone().into()
        }),
        text("description", "The effect of the command.", |it| {
            it.1.into()
        }),
    ],
    items,
};

type HelpRow = (String, &'static str);

/// What can be said besides SELECT.
const COMMANDS: &[(&str, &str)] = &[
    (
        "SHOW TABLES [FROM schema] [LIKE 'pattern']",
        "The tables of a schema.",
    ),
    ("DESCRIBE table", "A table's columns, and what they mean."),
    ("SHOW CREATE TABLE table", "The same as a statement."),
    ("SHOW PROCESSLIST", "Sessions, as servers show them."),
    (
        "SHOW STATUS [LIKE 'pattern']",
        "Figures of the whole proxy.",
    ),
    (
        "SHOW VARIABLES [LIKE 'pattern']",
        "Settings, and what clients ask for.",
    ),
    ("SHOW WARNINGS", "What was missing in the last result."),
    (
        "RESET DIGESTS",
        "Counts statements from nothing again; for the role admin.",
    ),
    (
        "RESET ERRORS",
        "Counts errors from nothing again; for the role admin.",
    ),
    (
        "RESET SLOW_STATEMENTS",
        "Forgets those that are kept; for the role admin.",
    ),
    (
        "RESET PROFILES",
        "Forgets those that are kept; for the role admin.",
    ),
    (
        "RESET INDEX_USAGE",
        "Forgets plans and indexes: statements are explained anew; for the role admin.",
    ),
    (
        "UPDATE, INSERT INTO, DELETE FROM settings, backends, rules, accounts, admin_accounts",
        "Changes the configuration, at once or at COMMIT; for the role admin.",
    ),
    (
        "SET GLOBAL name = value",
        "Changes one setting; for the role admin.",
    ),
    ("SHOW CHANGES", "What is not as in the configuration file."),
    (
        "SAVE",
        "Writes what holds to the configuration file; for the role admin.",
    ),
    (
        "REVERT",
        "Goes back to the configuration file; for the role admin.",
    ),
    (
        "FLUSH STATUS",
        "Counts digests, errors, slow statements, times, pools, lanes and rules from nothing, and forgets plans; for the role admin.",
    ),
    (
        "FLUSH HOSTS",
        "Forgets failed logins of hosts, so that none is blocked any more; for the role admin.",
    ),
    (
        "FLUSH LOGS",
        "Closes the files of logs and opens them again, where others have moved them; for the role admin.",
    ),
    ("KILL id", "Ends a session; for the role admin."),
    (
        "KILL QUERY id",
        "Ends a session's statement; for the role admin.",
    ),
];

fn items(_: &Material) -> Vec<HelpRow> {
    let own = |schema| matches!(schema, Schema::Pilotfish | Schema::Main | Schema::Stats);
    let tables = TABLES.iter().filter(|table| own(table.schema()));
    let tables = tables.map(|table| (format!("SELECT * FROM {}", table.name()), table.about()));
    let commands = COMMANDS.iter();
    let commands = commands.map(|(command, about)| ((*command).to_owned(), *about));
    tables.chain(commands).collect()
}
