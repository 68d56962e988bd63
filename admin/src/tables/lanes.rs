//! Shared lanes: the outcomes of statements that might use them.

use crate::table::{Asks, Schema, TableDefinition, columns};

/// See the module.
pub static TABLE: TableDefinition<LaneRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "lanes",
    about: "The number of statements, by outcome, that could share a connection with others at the same time, since \
            the start.",
    asks: Asks::Nothing,
    columns: columns! {
        text "outcome",
            "on_lane: had its reply over a lane; moved: had to leave one; stalled: kept others waiting there; \
             not_on_lane: used none.", |it| it.0.into();
        text "reason", "Why it used no lane, or left one.", |it| it.1.clone().into();
        integer "statements", "How many.", |it| it.2.into();
    },
    items: |input| input.data_plane.lanes(),
};

type LaneRow = (&'static str, String, u64);
