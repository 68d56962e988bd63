//! Rules, and how often they have matched.

use config::{RULE, RuleConfig};
use route::rules::Tally;

use crate::defined::{self, Defined, Definition};
use crate::material::Material;
use crate::sheet::{Alterable, Asks, Schema, Sheet, Target, integer, text};

/// See the module.
pub static TABLE: Defined<Item> = Defined {
    sheet: SHEET,
    alterable: Alterable {
        target: Target::List(RULE.name),
        aliases: &[("rule", "name")],
        keys: || RULE.settings.iter().map(|it| it.key).collect(),
        place: Some("place"),
        title: |row| Ok(row.text("rule")),
    },
    definition: Some(Definition::new(
        || defined::columns(&RULE),
        |material, it| defined::cells(&RULE, material.config.rules.get(it.place - 1)),
    )),
};

const SHEET: Sheet<Item> = Sheet {
    schema: Schema::Pilotfish,
    name: "rules",
    about: "The rules of the configuration, in their order, with what has come of them, and their settings; rows \
            can be changed.",
    asks: Asks::Nothing,
    columns: &[
        integer("place", "Its place among the rules, from 1.", |it| {
            it.place.into()
        }),
        text("rule", "Its name.", |it| it.tally.name.to_string().into()),
        text(
            "effect",
            "What it does to the rules behind it: stop, continue or watch.",
            |it| it.effect.into(),
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
        integer(
            "injected",
            "Statements of its own that were sent before or behind those that it has matched.",
            |it| it.tally.injected.into(),
        ),
        integer(
            "injected_failed",
            "Of these, statements that failed, that took too long, or whose results were too long.",
            |it| it.tally.injected_failed.into(),
        ),
    ],
    items,
};

/// One rule.
pub struct Item {
    place: usize,
    effect: &'static str,
    tally: Tally,
}

fn items(material: &Material) -> Vec<Item> {
    let tallies = material.window.rules();
    let rules = material.config.rules.iter().enumerate();
    rules
        .map(|(index, rule)| {
            let tally = tallies.iter().find(|tally| *tally.name == *rule.name);
            Item {
                place: index + 1,
                effect: effect(rule),
                tally: tally.cloned().unwrap_or_else(|| Tally {
                    name: rule.name.as_str().into(),
                    ..Tally::default()
                }),
            }
        })
        .collect()
}

fn effect(rule: &RuleConfig) -> &'static str {
    match (rule.watch, rule.stop) {
        (true, _) => "watch",
        (false, true) => "stop",
        (false, false) => "continue",
    }
}
