//! gh-ost and pt-online-schema-change: they copy a table into a new one, and rename both. These statements are steps
//! of one change.

use crate::object::{ObjectKind, ObjectName};

/// A tool that changes tables while they are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// `_t_gho`, `_t_ghc`, `_t_del`
    GhOst,
    /// `_t_new`, `_t_old`, and the triggers `pt_osc_SCHEMA_t_ins`, `…_upd`, `…_del`
    PtOnlineSchemaChange,
}

/// The role of a statement in a tool's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnlineChangeStep {
    /// A step that prepares or cleans up.
    Step(Tool),
    /// The statement that replaces the old table by the new one: the change itself.
    CutOver(Tool),
}

impl Tool {
    /// The tool's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::GhOst => "gh-ost",
            Self::PtOnlineSchemaChange => "pt-online-schema-change",
        }
    }
}

/// Returns the role of a statement in a tool's work, and the table that the tool changes. None for an ordinary
/// statement. A renamed table is in `objects` with its old name, followed by its new name.
pub fn online_change_step(
    kind: &str,
    objects: &[ObjectName],
) -> Option<(OnlineChangeStep, ObjectName)> {
    if kind == "RENAME TABLE" {
        return cut_over(objects);
    }
    if let Some(table) = objects.first().and_then(of_trigger) {
        let step = OnlineChangeStep::Step(Tool::PtOnlineSchemaChange);
        return Some((step, table));
    }
    let (tool, name) = helper(&objects.first()?.name)?;
    let table = objects.first().map(|first| ObjectName {
        name: name.to_owned(),
        ..first.clone()
    })?;
    let all_help = objects.iter().all(|it| helper(&it.name).is_some());
    all_help.then_some((OnlineChangeStep::Step(tool), table))
}

/// Recognises `RENAME TABLE t TO _t_del, _t_gho TO t`. `objects` has each table once, so three objects. gh-ost may
/// also use two RENAME statements.
fn cut_over(objects: &[ObjectName]) -> Option<(OnlineChangeStep, ObjectName)> {
    let helpers = objects.iter().filter_map(|it| helper(&it.name));
    let (tool, name) = helpers.clone().next()?;
    let table = objects
        .iter()
        .find(|it| helper(&it.name).is_none() && it.name == name)?;
    let is_of_table = helpers.clone().all(|(it, of)| it == tool && of == name);
    let (mut comes, mut goes) = (false, false);
    for object in objects {
        comes |= is_copy(&object.name);
        goes |= object.name.ends_with("_del") || object.name.ends_with("_old");
    }
    match is_of_table {
        true if comes => Some((OnlineChangeStep::CutOver(tool), table.clone())),
        true if goes => Some((OnlineChangeStep::Step(tool), table.clone())),
        _ => None,
    }
}

/// Returns the table that a trigger of pt-online-schema-change belongs to. In the trigger's name the tool writes an
/// underscore for each character of the table's name that is no letter, digit or underscore; such a table is not found.
fn of_trigger(object: &ObjectName) -> Option<ObjectName> {
    if object.kind != ObjectKind::Trigger {
        return None;
    }
    let is_word = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let schema = object.schema.replace(|it| !is_word(it), "_");
    let name = object
        .name
        .strip_prefix("pt_osc_")?
        .strip_prefix(&*schema)?;
    let (table, event) = name.strip_prefix('_')?.rsplit_once('_')?;
    let is_whole = !table.is_empty() && matches!(event, "ins" | "upd" | "del");
    is_whole.then(|| ObjectName {
        schema: object.schema.clone(),
        name: table.to_owned(),
        kind: ObjectKind::Table,
    })
}

fn is_copy(name: &str) -> bool {
    name.ends_with("_gho") || name.ends_with("_new")
}

/// Returns the tool that a helper table belongs to, and the table that the tool changes. pt-online-schema-change
/// adds underscores if a name is taken.
fn helper(name: &str) -> Option<(Tool, &str)> {
    const SUFFIXES: [(&str, Tool); 5] = [
        ("_gho", Tool::GhOst),
        ("_ghc", Tool::GhOst),
        ("_del", Tool::GhOst),
        ("_new", Tool::PtOnlineSchemaChange),
        ("_old", Tool::PtOnlineSchemaChange),
    ];
    let inner = name.strip_prefix('_')?;
    let (suffix, tool) = SUFFIXES.iter().find(|(it, _)| inner.ends_with(it))?;
    let table = inner.strip_suffix(suffix)?.trim_start_matches('_');
    (!table.is_empty()).then_some((*tool, table))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(names: &[&str]) -> Vec<ObjectName> {
        let table = |name: &&str| ObjectName {
            schema: "shop".to_owned(),
            name: (*name).to_owned(),
            kind: ObjectKind::Table,
        };
        names.iter().map(table).collect()
    }

    fn describe(kind: &str, names: &[&str]) -> Option<(OnlineChangeStep, String)> {
        let online_change_step = online_change_step(kind, &tables(names));
        online_change_step.map(|(online_change_step, table)| (online_change_step, table.name))
    }

    #[test]
    fn the_cut_over_rename_of_an_online_schema_change_is_recognized() {
        let change = describe("RENAME TABLE", &["t", "_t_del", "_t_gho"]);
        assert_eq!(
            change,
            Some((OnlineChangeStep::CutOver(Tool::GhOst), "t".to_owned()))
        );
        let change = describe("RENAME TABLE", &["t", "_t_old", "_t_new"]);
        let tool = Tool::PtOnlineSchemaChange;
        assert_eq!(
            change,
            Some((OnlineChangeStep::CutOver(tool), "t".to_owned()))
        );
        assert_eq!(describe("RENAME TABLE", &["t", "u"]), None);
        assert_eq!(describe("RENAME TABLE", &["t", "_u_old", "_u_new"]), None);
    }

    #[test]
    fn changes_of_a_gh_ost_table_are_steps_of_an_online_schema_change() {
        let step = Some((OnlineChangeStep::Step(Tool::GhOst), "t".to_owned()));
        assert_eq!(describe("CREATE TABLE", &["_t_gho"]), step);
        assert_eq!(describe("ALTER TABLE", &["_t_gho"]), step);
        assert_eq!(describe("DROP TABLE", &["_t_ghc", "_t_del"]), step);
        assert_eq!(describe("ALTER TABLE", &["t"]), None);
        assert_eq!(describe("ALTER TABLE", &["_new"]), None);
    }

    #[test]
    fn the_triggers_of_pt_online_schema_change_are_steps() {
        let part_of = |schema: &str, name: &str| {
            let trigger = ObjectName {
                schema: schema.to_owned(),
                name: name.to_owned(),
                kind: ObjectKind::Trigger,
            };
            online_change_step("CREATE TRIGGER", &[trigger])
                .map(|(online_change_step, table)| (online_change_step, table.to_string()))
        };
        let step = OnlineChangeStep::Step(Tool::PtOnlineSchemaChange);
        assert_eq!(
            part_of("my-shop", "pt_osc_my_shop_the_orders_upd"),
            Some((step, "my-shop.the_orders".to_owned()))
        );
        assert_eq!(part_of("shop", "pt_osc_other_orders_upd"), None);
        assert_eq!(part_of("shop", "pt_osc_shop_orders_log"), None);
        assert_eq!(part_of("shop", "orders_upd"), None);
    }
}
