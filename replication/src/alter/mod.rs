//! Builds the statements that turn one state of schemas into another: `pilotfish schema diff --sql`.
//!
//! The statements are in an order that a server accepts: drop views and programs, drop tables, schemas, create
//! tables, alter tables, create views and programs. Foreign key checks are off meanwhile.

mod change_table;
pub mod table;

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use crate::object::quoted;
use crate::store::ObjectVersion;
use change_table::change_table;

/// An object before and after.
type Pair<'a> = [Option<&'a ObjectVersion>; 2];

/// Returns the script for the command-line clients of both families. Comments in it name the changes that it omits.
pub fn migration(before: &[ObjectVersion], after: &[ObjectVersion]) -> String {
    let mut pairs: BTreeMap<(&str, &str, &str), Pair<'_>> = BTreeMap::new();
    for (side, objects) in [before, after].into_iter().enumerate() {
        for object in objects {
            let key = (
                object.schema.as_str(),
                object.kind.as_str(),
                object.name.as_str(),
            );
            pairs.entry(key).or_default()[side] = Some(object);
        }
    }
    pairs.retain(|_, [old, new]| old != new);
    let mut script = Script::default();
    for step in PASSES {
        let of_step = pairs.values().filter_map(|pair| {
            let object = pair[1].or(pair[0])?;
            (step.takes)(&object.kind).then_some((object, *pair))
        });
        for (object, pair) in views_last(of_step.collect()) {
            (step.does)(&mut script, object, pair);
        }
    }
    script.whole()
}

/// An object with its two versions.
type DefinitionPair<'a> = (&'a ObjectVersion, Pair<'a>);

/// Orders the objects: views come last, each after the views that its definition names.
fn views_last(objects: Vec<DefinitionPair<'_>>) -> Vec<DefinitionPair<'_>> {
    let is_view = |(object, _): &DefinitionPair<'_>| object.kind == "view";
    let (mut waiting, mut ordered): (Vec<_>, Vec<_>) = objects.into_iter().partition(is_view);
    let mut missing: HashSet<String> = waiting.iter().map(|(view, _)| quoted(&view.name)).collect();
    while !waiting.is_empty() {
        let is_free = |(view, _): &DefinitionPair<'_>| {
            let own = quoted(&view.name);
            let mut names = quoted_names(view.definition.as_deref().unwrap_or_default());
            !names.any(|name| name != own && missing.contains(name))
        };
        let (mut free, rest): (Vec<_>, Vec<_>) = waiting.into_iter().partition(is_free);
        waiting = rest;
        if free.is_empty() {
            // Some column has the name of a waiting view, so the order cannot be decided; take all that are left.
            free.append(&mut waiting);
        }
        for (view, _) in &free {
            missing.remove(&quoted(&view.name));
        }
        ordered.append(&mut free);
    }
    ordered
}

/// Returns the quoted names, with their backticks. SHOW CREATE VIEW quotes all names.
fn quoted_names(definition: &str) -> impl Iterator<Item = &str> {
    let ticks = definition.match_indices('`').map(|(at, _)| at);
    let mut ticks = ticks.collect::<Vec<_>>().into_iter();
    std::iter::from_fn(move || Some((ticks.next()?, ticks.next()?)))
        .filter_map(|(begin, end)| definition.get(begin..=end))
}

/// One pass over the objects: which kinds it takes, and what it does with each object.
struct AlterPass {
    takes: fn(&str) -> bool,
    does: fn(&mut Script, &ObjectVersion, Pair<'_>),
}

const PASSES: [AlterPass; 6] = [
    AlterPass {
        takes: is_program,
        does: drop_it,
    },
    AlterPass {
        takes: is_relation,
        does: drop_it,
    },
    AlterPass {
        takes: |kind| kind == "schema",
        does: change_schema,
    },
    AlterPass {
        takes: is_relation,
        does: make_or_change,
    },
    AlterPass {
        takes: is_program,
        does: make_again,
    },
    AlterPass {
        takes: |kind| kind == "account",
        does: |script, object, _| {
            let name = &object.name;
            script.remark(&format!(
                "the account {name} is left as it is: the history has no passwords"
            ));
        },
    },
];

/// Whether the object holds data. All other kinds consist of their definition only.
fn is_relation(kind: &str) -> bool {
    matches!(kind, "table" | "sequence")
}

fn is_program(kind: &str) -> bool {
    !is_relation(kind) && !matches!(kind, "schema" | "account")
}

/// Drops an object that no longer exists. Programs that change are dropped, too, and created again later.
fn drop_it(script: &mut Script, object: &ObjectVersion, [old, new]: Pair<'_>) {
    if old.is_some() && (new.is_none() || is_program(&object.kind)) {
        let kind = object.kind.to_ascii_uppercase();
        script.statement(
            object,
            &format!("DROP {kind} IF EXISTS {}", quoted(&object.name)),
        );
    }
}

fn change_schema(script: &mut Script, object: &ObjectVersion, [old, new]: Pair<'_>) {
    let Some(new) = new else {
        script.plain(&format!("DROP DATABASE {}", quoted(&object.name)));
        return;
    };
    let Some(definition) = &new.definition else {
        return script.unknown(object);
    };
    match (old.is_some(), definition.strip_prefix("CREATE DATABASE ")) {
        (true, Some(rest)) => script.plain(&format!("ALTER DATABASE {rest}")),
        _ => script.plain(definition),
    }
}

fn make_or_change(script: &mut Script, object: &ObjectVersion, [old, new]: Pair<'_>) {
    let Some(new) = new else {
        return;
    };
    let Some(definition) = &new.definition else {
        return script.unknown(object);
    };
    let Some(old) = old else {
        return script.statement(object, definition);
    };
    if object.kind == "sequence" {
        return change_sequence(script, object, definition);
    }
    let Some(before) = &old.definition else {
        let text = format!(
            "the {} {} is not changed: its old definition is not known",
            object.kind, object.name
        );
        return script.remark(&text);
    };
    let steps = change_table(&quoted(&object.name), before, definition);
    for statement in &steps.statements {
        script.statement(object, statement);
    }
    for remark in &steps.remarks {
        script.remark(&format!(
            "table {}.{}: {remark}",
            object.schema, object.name
        ));
    }
}

/// Gives a sequence its new limits. Its next number stays as it is.
fn change_sequence(script: &mut Script, object: &ObjectVersion, definition: &str) {
    let name = quoted(&object.name);
    let options = definition
        .strip_prefix("CREATE SEQUENCE ")
        .and_then(|it| it.strip_prefix(&*name));
    // ALTER SEQUENCE does not accept the table options ENGINE and COMMENT.
    let options = options.and_then(|it| it.split(" ENGINE=").next());
    match options {
        Some(options) => script.statement(object, &format!("ALTER SEQUENCE {name}{options}")),
        None => script.unknown(object),
    }
}

fn make_again(script: &mut Script, object: &ObjectVersion, [_, new]: Pair<'_>) {
    match new.map(|new| &new.definition) {
        None => (),
        Some(None) => script.unknown(object),
        Some(Some(definition)) => script.statement(object, definition),
    }
}

/// The script that is being built.
#[derive(Default)]
struct Script {
    text: String,
    /// The schema in which the statements are executed.
    schema: Option<String>,
}

impl Script {
    /// Adds a statement that is executed in the object's schema.
    fn statement(&mut self, object: &ObjectVersion, text: &str) {
        if self.schema.as_ref() != Some(&object.schema) {
            self.plain(&format!("USE {}", quoted(&object.schema)));
            self.schema = Some(object.schema.clone());
        }
        self.plain(text);
    }

    fn plain(&mut self, text: &str) {
        // Writing to a string cannot fail.
        let _ = match text.contains(';') {
            // Otherwise the command-line clients would end the statement at the semicolon.
            true => writeln!(self.text, "DELIMITER ;;\n{text};;\nDELIMITER ;"),
            false => writeln!(self.text, "{text};"),
        };
    }

    fn remark(&mut self, text: &str) {
        for line in text.lines() {
            let _ = writeln!(self.text, "-- {line}");
        }
    }

    fn unknown(&mut self, object: &ObjectVersion) {
        let (kind, name) = (&object.kind, &object.name);
        self.remark(&format!(
            "the {kind} {name} is left as it is: its definition is not known"
        ));
    }

    fn whole(self) -> String {
        if self.text.is_empty() {
            return self.text;
        }
        format!(
            "SET @old_foreign_key_checks = @@foreign_key_checks, foreign_key_checks = 0;\n{}\
             SET foreign_key_checks = @old_foreign_key_checks;\n",
            self.text
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: &str, name: &str, definition: &str) -> ObjectVersion {
        ObjectVersion {
            schema: "shop".to_owned(),
            name: name.to_owned(),
            kind: kind.to_owned(),
            definition: Some(definition.to_owned()),
        }
    }

    #[test]
    fn objects_come_in_an_order_that_a_server_takes() {
        let before = [
            object(
                "schema",
                "shop",
                "CREATE DATABASE `shop` /*!40100 DEFAULT CHARACTER SET latin1 */",
            ),
            object(
                "table",
                "old",
                "CREATE TABLE `old` (\n  `a` int\n) ENGINE=InnoDB",
            ),
            object("view", "v", "CREATE VIEW `v` AS select 1 AS `1`"),
        ];
        let after = [
            object(
                "schema",
                "shop",
                "CREATE DATABASE `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 */",
            ),
            object(
                "table",
                "new",
                "CREATE TABLE `new` (\n  `a` int\n) ENGINE=InnoDB",
            ),
            object("view", "v", "CREATE VIEW `v` AS select 2 AS `2`"),
            object(
                "procedure",
                "p",
                "CREATE PROCEDURE `p`()\nBEGIN SELECT 1; END",
            ),
        ];
        assert_eq!(
            migration(&before, &after),
            "SET @old_foreign_key_checks = @@foreign_key_checks, foreign_key_checks = 0;\n\
             USE `shop`;\n\
             DROP VIEW IF EXISTS `v`;\n\
             DROP TABLE IF EXISTS `old`;\n\
             ALTER DATABASE `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 */;\n\
             CREATE TABLE `new` (\n  `a` int\n) ENGINE=InnoDB;\n\
             DELIMITER ;;\nCREATE PROCEDURE `p`()\nBEGIN SELECT 1; END;;\nDELIMITER ;\n\
             CREATE VIEW `v` AS select 2 AS `2`;\n\
             SET foreign_key_checks = @old_foreign_key_checks;\n"
        );
        assert_eq!(migration(&after, &after), "");
    }

    #[test]
    fn a_sequence_gets_its_new_limits_and_keeps_its_number() {
        let definition = |step: u32| {
            let text = format!(
                "CREATE SEQUENCE `s` start with 1 minvalue 1 maxvalue 99 increment by {step} nocache nocycle \
                 ENGINE=InnoDB COMMENT='a'"
            );
            [object("sequence", "s", &text)]
        };
        let script = migration(&definition(1), &definition(5));
        let expected = "USE `shop`;\nALTER SEQUENCE `s` start with 1 minvalue 1 maxvalue 99 increment by 5 nocache nocycle;\n";
        assert!(script.contains(expected), "{script}");
        // A history of an earlier version has the sequence's definition as a table.
        let old = [object(
            "sequence",
            "s",
            "CREATE TABLE `s` (\n  `a` int\n) SEQUENCE=1",
        )];
        assert!(migration(&old, &definition(5)).contains(expected));
        let script = migration(&definition(1), &old);
        assert!(
            script.contains("-- the sequence s is left as it is"),
            "{script}"
        );
    }

    #[test]
    fn a_view_comes_behind_the_views_that_it_reads() {
        let views = [
            object("view", "a", "CREATE VIEW `a` AS select 1 from `b`"),
            object("view", "b", "CREATE VIEW `b` AS select 1 from `c`"),
            object("view", "c", "CREATE VIEW `c` AS select 1"),
        ];
        let script = migration(&[], &views);
        let place = |name: &str| script.find(&format!("CREATE VIEW `{name}`")).unwrap();
        assert!(
            place("c") < place("b") && place("b") < place("a"),
            "{script}"
        );
        let circle = [
            object("view", "a", "select `b`"),
            object("view", "b", "select `a`"),
        ];
        assert!(migration(&[], &circle).contains("select `a`"));
    }
}
