//! The recent events.

use std::sync::Arc;

use crate::table::{Asks, Schema, TableDefinition, columns};
use history::Event;

/// See the module.
pub static TABLE: TableDefinition<Arc<Event>> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "events",
    about: "The events of backends and of the configuration, and the actions of administrators; the last 1,000, the \
            oldest first.",
    asks: Asks::Nothing,
    columns: columns! {
        integer "id", "Its number, counted from the start.", |it| it.id.into();
        text "time", "When it was, in UTC.", |it| it.time.strftime("%Y-%m-%d %H:%M:%S%.3f").to_string().into();
        text "kind", "backend, change, file, kill, reset, history, traces or metrics.", |it| it.kind.name().into();
        text "subject", "The backend, setting or session that the event concerns.", |it| it.subject.clone().into();
        text "text", "The text of the event.", |it| it.text.clone().into();
        text "user", "The administrator who has done it; NULL: it has happened by itself.", |it| it.user.clone().into();
    },
    items: |input| input.port.events.all(),
};
