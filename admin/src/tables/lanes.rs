//! Shared lanes: what has become of the statements that might ride them.

use crate::material::Material;
use crate::sheet::{Asks, Schema, Sheet, integer, text};

/// See the module.
pub static TABLE: Sheet<Item> = Sheet {
    schema: Schema::Pilotfish,
    name: "lanes",
    about: "What has become of statements that might share a connection with others at the same time, since \
            the start.",
    asks: Asks::Nothing,
    columns: &[
        text(
            "outcome",
            "rode: over a lane; moved: had to leave one; stalled: kept others waiting there; stayed: did not \
             ride.",
            |it| it.0.into(),
        ),
        text("reason", "Why it stayed, or left.", |it| {
            it.1.clone().into()
        }),
        integer("statements", "How many.", |it| it.2.into()),
    ],
    items,
};

type Item = (&'static str, String, u64);

fn items(material: &Material) -> Vec<Item> {
    material.window.lanes()
}
