//! Rules, and how often they have matched.

use route::rules::{Tally, Then};

use crate::material::Material;
use crate::sheet::{Asks, Schema, Sheet, integer, text};

/// See the module.
pub static TABLE: Sheet<Item> = Sheet {
    schema: Schema::Pilotfish,
    name: "rules",
    about: "The rules of the configuration, in their order, with what has come of them since the start.",
    asks: Asks::Nothing,
    columns: &[
        integer("place", "Its place among the rules, from 1.", |it| {
            it.place.into()
        }),
        text("rule", "Its name.", |it| it.tally.name.to_string().into()),
        text(
            "effect",
            "What it does to the rules behind it: stop, continue or watch.",
            |it| match it.then {
                Then::Stop => "stop".into(),
                Then::Continue => "continue".into(),
                Then::Watch => "watch".into(),
            },
        ),
        integer("hits", "Statements that it has matched.", |it| {
            it.tally.matched.into()
        }),
        integer(
            "unfit",
            "Of these, statements that could not be rewritten as it says.",
            |it| it.tally.unfit.into(),
        ),
        integer(
            "queued",
            "Of these, statements that its limits let wait.",
            |it| it.tally.queued.into(),
        ),
        integer(
            "refused",
            "Of these, statements that its limits refused.",
            |it| it.tally.refused.into(),
        ),
        integer(
            "mirror_dropped",
            "Statements that were not mirrored because too many were under way.",
            |it| it.tally.mirror_dropped.into(),
        ),
    ],
    items,
};

/// One rule.
pub struct Item {
    place: usize,
    then: Then,
    tally: Tally,
}

fn items(material: &Material) -> Vec<Item> {
    let tallies = material.window.rules();
    let rules = material.settings.rules.rules.iter().enumerate();
    rules
        .map(|(index, (_, rule))| {
            let tally = tallies.iter().find(|tally| tally.name == rule.name);
            Item {
                place: index + 1,
                then: rule.then,
                tally: tally.cloned().unwrap_or_else(|| Tally {
                    name: rule.name.clone(),
                    ..Tally::default()
                }),
            }
        })
        .collect()
}
