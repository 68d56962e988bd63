//! Rules, and how often they have matched.

use config::manual::plain;
use config::{RULE, RuleConfig, Setting};
use route::rules::Tally;

use crate::defined::{self, Defined, Definition};
use crate::table::{Alterable, Asks, Schema, TableDefinition, Target, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: Defined<RuleRow> = Defined {
    table: SHEET,
    alterable: Alterable {
        target: Target::List(RULE.name),
        aliases: &[("rule", "name")],
        keys: || RULE.settings.iter().map(|it| it.column()).collect(),
        position_column: Some("place"),
        title: |row| Ok(row.text("rule")),
    },
    definition: Some(Definition::new(
        || defined::columns(&RULE),
        |input, it| defined::cells(&RULE, input.config.rules.get(it.place - 1)),
    )),
};

const SHEET: TableDefinition<RuleRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "rules",
    about: "The rules of the configuration, in their order, with what has come of them, and their settings; rows \
            can be changed.",
    asks: Asks::Nothing,
    columns: columns! {
        integer "place", "Its place among the rules, from 1.", |it| it.place.into();
        text "rule", "Its name.", |it| it.tally.name.to_string().into();
        text "effect", "The effect on the rules after it: stop or continue. dry_run: the rule is counted only.", |it| it.effect.into();
        text "conditions", "Which statements it means, by its settings; all of them where there is none.",
            |it| it.conditions.clone().into();
        text "actions", "The actions of the rule, by its settings.", |it| it.actions.clone().into();
        integer "hits", "Statements that it has matched.", |it| it.tally.matched.into();
        integer "unfit", "Of these, statements that could not be rewritten as it says.", |it| it.tally.unfit.into();
        integer "queued", "Of these, statements that its limits let wait.", |it| it.tally.queued.into();
        integer "refused", "Of these, statements that its limits refused.", |it| it.tally.refused.into();
        integer "mirror_dropped", "Statements that were not mirrored because too many were under way.",
            |it| it.tally.mirror_dropped.into();
        integer "injected", "Statements of its own that were sent before or behind those that it has matched.",
            |it| it.tally.injected.into();
        integer "injected_failed",
            "Of these, statements that failed, that took too long, or whose results were too long.",
            |it| it.tally.injected_failed.into();
        integer "not_understood", "Statements that were refused because they are not understood and might match.",
            |it| it.tally.not_understood.into();
    },
    items,
};

/// The first setting that is an action and not a condition.
const FIRST_ACTION: &str = "backend";

/// Settings with columns of their own.
const APART: [&str; 3] = ["name", "stop", "dry_run"];

/// One rule.
pub struct RuleRow {
    place: usize,
    effect: &'static str,
    conditions: String,
    actions: String,
    tally: Tally,
}

fn items(input: &TableInput) -> Vec<RuleRow> {
    let tallies = input.data_plane.rules();
    let rules = input.config.rules.iter().enumerate();
    rules
        .map(|(index, rule)| {
            let tally = tallies.iter().find(|tally| *tally.name == *rule.name);
            let (conditions, actions) = conditions_and_actions(rule);
            RuleRow {
                place: index + 1,
                effect: effect(rule),
                conditions,
                actions,
                tally: tally.cloned().unwrap_or_else(|| Tally {
                    name: rule.name.as_str().into(),
                    ..Tally::default()
                }),
            }
        })
        .collect()
}

/// A rule's conditions and actions: its settings, without those that have their default. Settings before
/// [`FIRST_ACTION`] are conditions.
fn conditions_and_actions(rule: &RuleConfig) -> (String, String) {
    let bare = RuleConfig::default();
    let first = RULE.settings.iter().position(|it| it.key == FIRST_ACTION);
    let (conditions, actions) = RULE.settings.split_at(first.unwrap_or_default());
    let told = |settings: &[Setting<RuleConfig>]| {
        let settings = settings.iter();
        let settings = settings.filter(|it| !APART.contains(&it.key) && !(it.same)(rule, &bare));
        let texts = settings.map(|it| format!("{} = {}", it.key, plain(&(it.show)(rule))));
        texts.collect::<Vec<_>>().join("; ")
    };
    (told(conditions), told(actions))
}

fn effect(rule: &RuleConfig) -> &'static str {
    match (rule.dry_run, rule.stop) {
        (true, _) => "dry_run",
        (false, true) => "stop",
        (false, false) => "continue",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_of_a_rule_are_columns_before_its_actions() {
        let keys: Vec<_> = RULE.settings.iter().map(|it| it.key).collect();
        let at = |key: &str| keys.iter().position(|it| *it == key);
        assert!(at("percentage_of") < at(FIRST_ACTION) && at("user").is_some());
        assert_eq!(at("percentage_of").map(|it| it + 1), at(FIRST_ACTION));
        assert!(APART.iter().all(|it| at(it).is_some()));
    }
}
