//! Hits of rules as ProxySQL's statistics show them.

use super::mysql_query_rules::rules;
use crate::material::Material;
use crate::sheet::{Asks, Schema, Sheet, integer};

/// See the module.
pub static TABLE: Sheet<Item> = Sheet {
    schema: Schema::Stats,
    name: "stats_mysql_query_rules",
    about: "Hits of rules, by the names of ProxySQL; more is in rules.",
    asks: Asks::Nothing,
    columns: &[
        integer(
            "rule_id",
            "The number that its name begins with; NULL: none.",
            |it| it.id.into(),
        ),
        integer("hits", "Statements that it has matched.", |it| {
            it.hits.into()
        }),
    ],
    items,
};

/// One rule.
pub struct Item {
    id: Option<u32>,
    hits: u64,
}

fn items(material: &Material) -> Vec<Item> {
    let tallies = material.window.rules();
    let rules = rules(material, &material.config).into_iter();
    rules
        .map(|rule| {
            let tally = tallies.iter().find(|it| *it.name == *rule.config.name);
            Item {
                id: rule.id,
                hits: tally.map_or(0, |it| it.matched),
            }
        })
        .collect()
}
