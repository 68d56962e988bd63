//! The scripts that sessions have run.

use std::path::PathBuf;

use script::FileFacts;

use crate::table::{Asks, Schema, TableDefinition, columns, text_or_null};

/// See the module.
pub static TABLE: TableDefinition<(PathBuf, FileFacts)> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "scripts",
    about: "The scripts that sessions have run, since the start.",
    asks: Asks::Nothing,
    columns: columns! {
        text "file", "The path of the file.", |it| it.0.display().to_string().into();
        integer "sessions", "Sessions for which its body has run.", |it| it.1.sessions.into();
        integer "refused", "Sessions that were refused: it could not be read, or its body has raised an error.",
            |it| it.1.refused.into();
        integer "faults", "Hooks that have ended with an error.", |it| it.1.faults.into();
        text "last_fault", "The last error.", |it| text_or_null(&it.1.last_fault);
    },
    items: |input| (input.data_plane.scripts()).map_or_else(Vec::new, |it| it.files()),
};
