//! Views, routines, triggers and column defaults that do more than read: an immutable snapshot.

use std::collections::HashMap;
use std::sync::Arc;

use sql::{Does, Effects, Facts, Marks, Mention, Object, Role, StatementKind};

use crate::ClusterId;

/// The known definitions of all clusters.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    clusters: Vec<(ClusterId, Arc<ClusterDefinitions>)>,
}

/// The known definitions of one cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterDefinitions {
    /// Tables and views, by schema and name ([`fold`]), that do more than read if a statement reads or writes them.
    pub tables: HashMap<Box<[u8]>, OnTable>,
    /// Procedures that do more than read and write data.
    pub procedures: HashMap<Box<[u8]>, Does>,
    /// All objects that do more than read, for the admin table.
    pub listed: Vec<Listed>,
    /// The definitions that the proxy could not read, and the remedy for the operator.
    pub complaint: Option<String>,
}

/// The effects of a table or view if a statement names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OnTable {
    /// If it is read.
    pub read: Does,
    /// If it is written.
    pub written: Does,
}

/// An object that does more than read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// view, function, procedure, trigger, column.
    pub kind: &'static str,
    /// Its schema.
    pub schema: String,
    /// Its name; a column's name has its table in front.
    pub name: String,
    /// What it does.
    pub does: Does,
    /// The reason.
    pub why: String,
}

impl Definitions {
    /// Whether no object in any cluster is known to do more than read.
    pub fn is_empty(&self) -> bool {
        let mut all = self.clusters.iter();
        all.all(|(_, known)| known.tables.is_empty() && known.procedures.is_empty())
    }

    /// Iterates over all clusters whose definitions were read.
    pub fn clusters(&self) -> impl Iterator<Item = (ClusterId, &Arc<ClusterDefinitions>)> {
        self.clusters.iter().map(|(id, known)| (*id, known))
    }

    /// Returns the definitions of a cluster.
    pub fn of(&self, cluster: ClusterId) -> Option<&Arc<ClusterDefinitions>> {
        let mut all = self.clusters.iter();
        all.find(|(id, _)| *id == cluster).map(|(_, known)| known)
    }

    /// Returns a copy with new definitions for one cluster.
    #[must_use]
    pub fn with(&self, cluster: ClusterId, known: Arc<ClusterDefinitions>) -> Self {
        let others = self.clusters.iter().filter(|(id, _)| *id != cluster);
        let mut clusters: Vec<_> = others.cloned().collect();
        clusters.push((cluster, known));
        clusters.sort_by_key(|(id, _)| *id);
        Self { clusters }
    }

    /// Returns the effects of all objects that a statement names. Names without a schema are in `schema`.
    pub fn does(
        &self,
        cluster: ClusterId,
        schema: Option<&[u8]>,
        facts: &Facts,
        text: &[u8],
    ) -> Does {
        match self.of(cluster) {
            Some(known) if runs(facts.kind) => known.does(schema.unwrap_or_default(), facts, text),
            _ => Does::default(),
        }
    }
}

impl ClusterDefinitions {
    fn does(&self, schema: &[u8], facts: &Facts, text: &[u8]) -> Does {
        if self.tables.is_empty() && self.procedures.is_empty() {
            return Does::default();
        }
        // Some names are missing, or their schema is not known.
        let is_moving = facts.kind == StatementKind::Multi && facts.effects.has(Effects::SCHEMA);
        if facts.marks.has(Marks::CROWDED) || is_moving {
            return Does::ANYTHING;
        }
        let all = facts.mentions.iter();
        let does = all.map(|mention| self.of_mention(schema, mention, text));
        does.fold(Does::default(), Does::and)
    }

    fn of_mention(&self, schema: &[u8], mention: &Mention, text: &[u8]) -> Does {
        let is_known = mention.role.is_table() || mention.role == Role::Procedure;
        if !is_known {
            return Does::default();
        }
        let own = mention.schema.name(text);
        let schema = if own.is_empty() { schema } else { &own };
        let key = fold(schema, &mention.name.name(text));
        match mention.role {
            Role::Procedure => self.procedures.get(&key).copied().unwrap_or_default(),
            Role::TableRead => self.tables.get(&key).map(|it| it.read).unwrap_or_default(),
            _ => {
                let on = self.tables.get(&key).copied().unwrap_or_default();
                on.read.and(on.written)
            }
        }
    }
}

/// Returns a schema and a name in the form in which they are compared. Case is ignored, whatever
/// `lower_case_table_names` is: one object too many is better than a missing one.
pub fn fold(schema: &[u8], name: &[u8]) -> Box<[u8]> {
    let lower = |name: &[u8]| String::from_utf8_lossy(name).to_lowercase();
    let folded = [lower(schema), lower(name)].join("\0");
    folded.into_bytes().into_boxed_slice()
}

/// Whether a statement of this kind may run the objects that it names. A statement that only shows or changes a
/// definition does not run it.
fn runs(kind: StatementKind) -> bool {
    let defines = |object| {
        matches!(
            object,
            Object::View
                | Object::Routine
                | Object::Trigger
                | Object::Event
                | Object::Schema
                | Object::Account
        )
    };
    match kind {
        StatementKind::Show(_)
        | StatementKind::Describe
        | StatementKind::Drop(_)
        | StatementKind::Rename(_) => false,
        // These run no trigger.
        StatementKind::Truncate
        | StatementKind::Maintain
        | StatementKind::Checksum
        | StatementKind::LockTables => false,
        StatementKind::Create(object) | StatementKind::Alter(object) => !defines(object),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::Flags;

    const CLUSTER: ClusterId = ClusterId(3);
    const WRITES: Does = Does {
        writes: true,
        asks: false,
        leaves: false,
    };

    fn definitions() -> Definitions {
        let on = |read, written| OnTable { read, written };
        let none = Does::default();
        let known = ClusterDefinitions {
            tables: HashMap::from([
                (fold(b"d", b"View"), on(Does::ANYTHING, none)),
                (fold(b"d", b"writer"), on(WRITES, none)),
                (fold(b"d", b"triggered"), on(none, Does::ANYTHING)),
            ]),
            procedures: HashMap::from([(fold(b"d", b"p"), Does::ANYTHING)]),
            ..ClusterDefinitions::default()
        };
        Definitions::default().with(CLUSTER, Arc::new(known))
    }

    fn does(text: &str) -> Does {
        let facts = sql::facts(text.as_bytes(), Flags::default());
        definitions().does(CLUSTER, Some(b"D"), &facts, text.as_bytes())
    }

    #[test]
    fn named_objects_are_found_case_insensitively() {
        for text in [
            "SELECT * FROM VIEW",
            "SELECT * FROM t JOIN d.`vIEW` USING (a)",
            "SELECT (SELECT a FROM D.view)",
            "WITH c AS (SELECT * FROM view) SELECT * FROM c",
            "INSERT INTO t SELECT * FROM view",
            "INSERT INTO triggered VALUES (1)",
            "UPDATE t, triggered SET t.a = 1",
            "DELETE FROM triggered",
            "CALL p(1)",
            "CREATE TABLE x SELECT * FROM view",
            "SELECT 1; SELECT * FROM view",
            "USE e; SELECT * FROM t",
        ] {
            assert_eq!(does(text), Does::ANYTHING, "{text}");
        }
        assert_eq!(does("SELECT * FROM writer"), WRITES);
    }

    #[test]
    fn statements_that_do_not_run_an_object_lack_its_effects() {
        for text in [
            "SELECT * FROM t",
            "SELECT * FROM e.view",
            "SELECT * FROM triggered",
            "SHOW CREATE VIEW view",
            "SHOW COLUMNS FROM view",
            "DESCRIBE view",
            "DROP VIEW view",
            "TRUNCATE triggered",
            "OPTIMIZE TABLE triggered",
            "LOCK TABLES triggered WRITE",
            "CREATE VIEW other AS SELECT * FROM view",
            "SELECT view FROM t",
        ] {
            assert_eq!(does(text), Does::default(), "{text}");
        }
        let facts = sql::facts(b"SELECT * FROM d.view", Flags::default());
        let elsewhere = definitions().does(ClusterId(0), None, &facts, b"SELECT * FROM d.view");
        assert_eq!(elsewhere, Does::default());
    }
}
