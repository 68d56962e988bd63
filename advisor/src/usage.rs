//! Combines plans, digests and schemas: how often each index is used, which tables are read whole, and
//! how many rows that concerns.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use route::Topology;
use stats::{DigestRow, Index, Line, Plan, PlansView, SchemaIndexes};

/// The full name of an index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexName {
    /// The cluster.
    pub cluster: Arc<str>,
    /// The schema.
    pub schema: String,
    /// The table.
    pub table: String,
    /// The index.
    pub index: String,
}

/// The use of one index.
#[derive(Debug, Clone, Default)]
pub struct IndexUse {
    /// Its definition; `None` if no schema that was read has it.
    pub facts: Option<Index>,
    /// Executions of statements that use it.
    pub used: u64,
    /// Digests that use it.
    pub digests: u64,
    /// The most bytes of it that a plan uses.
    pub length_max: Option<u32>,
    /// The sum of bytes over all uses, and the number of uses.
    length_sum: u128,
    length_count: u64,
    /// When a statement that uses it was explained last.
    pub last: Option<Duration>,
    /// Digests that read its table, as far as they were explained.
    pub table_digests: u64,
}

/// A plan, and how often its statements ran.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Executions of its statements.
    pub executions: u64,
}

/// A table or an index that statements read whole.
#[derive(Debug, Clone)]
pub struct FullScan {
    /// The statements.
    pub explained: Explained,
    /// The line of their plan that reads it.
    pub line: Line,
    /// The schema and the table.
    pub table: (String, String),
}

/// The use of all indexes.
#[derive(Debug, Default)]
pub struct Usage {
    /// Plans; the most frequent ones come first.
    pub plans: Vec<Explained>,
    /// Indexes, by their names.
    pub indexes: BTreeMap<IndexName, IndexUse>,
    /// Full scans; those with the most rows come first.
    pub scans: Vec<FullScan>,
}

/// The indexes of a cluster's schemas: by schema, then by table.
type Tables = HashMap<(Arc<str>, String), BTreeMap<String, Vec<Index>>>;

impl Explained {
    /// The default schema, if there is one.
    pub fn schema(&self) -> Option<&str> {
        Some(&*self.plan.schema).filter(|it| !it.is_empty())
    }
}

impl FullScan {
    /// The estimated number of rows that all executions examined.
    pub fn rows(&self) -> u64 {
        let rows = self.line.rows.unwrap_or_default();
        rows.saturating_mul(self.explained.executions)
    }
}

impl IndexUse {
    /// The average number of bytes of it that plans use, with four decimals.
    pub fn length_average(&self) -> Option<String> {
        let count = u128::from(self.length_count);
        let scaled = (self.length_sum * 10_000).checked_div(count)?;
        Some(format!("{}.{:04}", scaled / 10_000, scaled % 10_000))
    }

    fn note(&mut self, executions: u64, length: Option<u32>, at: Duration) {
        self.used += executions;
        self.digests += 1;
        self.last = self.last.max(Some(at));
        if let Some(length) = length {
            self.length_max = self.length_max.max(Some(length));
            self.length_sum += u128::from(length) * u128::from(executions);
            self.length_count += executions;
        }
    }
}

impl Usage {
    /// The use as of a moment.
    pub fn of(view: &PlansView, digests: &[Arc<DigestRow>], topology: &Topology) -> Self {
        let counts = counts(digests, topology);
        let executions = |plan: &Plan| {
            let key = (plan.digest, &*plan.schema, &*plan.cluster);
            counts.get(&key).copied().unwrap_or_default()
        };
        Self::made_of(view, executions)
    }

    fn made_of(view: &PlansView, executions: impl Fn(&Plan) -> u64) -> Self {
        let tables = tables(&view.schemas);
        let mut plans: Vec<Explained> = view
            .plans
            .iter()
            .map(|plan| Explained {
                executions: (plan.before + executions(plan)).max(1),
                plan: Arc::clone(plan),
            })
            .collect();
        plans.sort_by_key(|it| (std::cmp::Reverse(it.executions), it.plan.digest));
        let mut usage = Self::default();
        for ((cluster, schema), tables) in &tables {
            for index in tables.values().flatten() {
                let name = IndexName {
                    cluster: Arc::clone(cluster),
                    schema: schema.clone(),
                    table: index.table.clone(),
                    index: index.name.clone(),
                };
                usage.indexes.entry(name).or_default().facts = Some(index.clone());
            }
        }
        for explained in &plans {
            usage.take(explained, &tables);
        }
        usage.scans.sort_by_key(|it| std::cmp::Reverse(it.rows()));
        usage.plans = plans;
        usage
    }

    /// Adds a plan. A digest uses an index once, however often its plan names it.
    fn take(&mut self, explained: &Explained, all: &Tables) {
        let plan = &explained.plan;
        let mut used: BTreeMap<IndexName, Option<u32>> = BTreeMap::new();
        let mut read: BTreeMap<(String, String), ()> = BTreeMap::new();
        for line in plan.lines.iter() {
            let Some((schema, table)) = resolved(line, &plan.cluster, all) else {
                continue;
            };
            read.insert((schema.clone(), table.clone()), ());
            for (index, length) in &line.keys {
                // Servers give such names to indexes that they make for one statement.
                if index.starts_with(['#', '<']) {
                    continue;
                }
                let name = IndexName {
                    cluster: Arc::clone(&plan.cluster),
                    schema: schema.clone(),
                    table: table.clone(),
                    index: index.clone(),
                };
                let known = used.entry(name).or_default();
                *known = (*known).max(*length);
            }
            if line.is_full_scan() {
                self.scans.push(FullScan {
                    explained: explained.clone(),
                    line: line.clone(),
                    table: (schema, table),
                });
            }
        }
        for (name, length) in used {
            let index = self.indexes.entry(name).or_default();
            index.note(explained.executions, length, plan.at);
        }
        for (schema, table) in read.into_keys() {
            let first = IndexName {
                cluster: Arc::clone(&plan.cluster),
                schema,
                table,
                index: String::new(),
            };
            let is_its = |name: &IndexName| {
                (&name.cluster, &name.schema, &name.table)
                    == (&first.cluster, &first.schema, &first.table)
            };
            let indexes = self.indexes.range_mut(first.clone()..);
            for (_, index) in indexes.take_while(|(name, _)| is_its(name)) {
                index.table_digests += 1;
            }
        }
    }

    /// Indexes that a statement uses; the most used come first.
    pub fn used(self) -> Vec<(IndexName, IndexUse)> {
        let mut used: Vec<_> = self
            .indexes
            .into_iter()
            .filter(|(_, it)| it.used > 0)
            .collect();
        used.sort_by_key(|(_, it)| std::cmp::Reverse(it.used));
        used
    }
}

/// Executions without an error, by digest, schema and cluster.
fn counts<'a>(
    digests: &'a [Arc<DigestRow>],
    topology: &'a Topology,
) -> HashMap<(u64, &'a str, &'a str), u64> {
    let mut counts = HashMap::new();
    for row in digests {
        let ran = row.backend.as_ref();
        let Some(backend) = ran.and_then(|ran| topology.backend(ran.backend)) else {
            continue;
        };
        let mut clusters = topology.clusters.iter();
        let Some(cluster) = clusters.find(|it| it.id == backend.cluster) else {
            continue;
        };
        let key = (row.digest, &*row.attribution.schema, &*cluster.name);
        *counts.entry(key).or_default() += row.counts.count - row.counts.errors;
    }
    counts
}

/// The indexes by schema. If several accounts were asked, the last one's answer counts for each table.
fn tables(schemas: &[Arc<SchemaIndexes>]) -> Tables {
    let mut all = Tables::new();
    for schema in schemas {
        let key = (Arc::clone(&schema.cluster), schema.schema.to_string());
        let known = all.entry(key).or_default();
        let mut told: BTreeMap<String, Vec<Index>> = BTreeMap::new();
        for index in schema.indexes.iter() {
            told.entry(index.table.clone())
                .or_default()
                .push(index.clone());
        }
        known.extend(told);
    }
    all
}

/// The table that a line is about. A table within a view appears under the name it has in the view; then its index
/// identifies the table, if only one table has an index of that name.
fn resolved(line: &Line, cluster: &Arc<str>, all: &Tables) -> Option<(String, String)> {
    let (schema, table) = line.table.as_ref()?;
    let key = (Arc::clone(cluster), schema.clone());
    let Some(known) = all.get(&key).filter(|known| !known.is_empty()) else {
        return line.table.clone();
    };
    if known.contains_key(table) {
        return line.table.clone();
    }
    // For servers that ignore the case of table names.
    let mut alike = known.keys().filter(|it| it.eq_ignore_ascii_case(table));
    if let (Some(one), None) = (alike.next(), alike.next()) {
        return Some((schema.clone(), one.clone()));
    }
    let is_plain = line.alias.as_deref() != Some(table);
    let mut having = known.iter().filter(|(_, indexes)| {
        let has = |name: &str| indexes.iter().any(|index| index.name == name);
        !line.keys.is_empty() && line.keys.iter().all(|(name, _)| has(name))
    });
    match (having.next(), having.next()) {
        _ if is_plain => line.table.clone(),
        (Some((one, _)), None) => Some((schema.clone(), one.clone())),
        // A table without indexes is not in the list. The alias of a view's table is not the name of any table.
        _ if line.keys.is_empty() => line.table.clone(),
        _ => None,
    }
}

#[cfg(test)]
pub mod tests {
    use stats::IndexColumn;

    use super::*;

    /// An index of a table in the schema world: its name, whether it is unique, its columns.
    pub fn index(table: &str, name: &str, is_unique: bool, columns: &[&str]) -> Index {
        let parts = columns.iter().map(|column| IndexColumn {
            column: Some((*column).to_owned()),
            ..IndexColumn::default()
        });
        Index {
            table: table.to_owned(),
            name: name.to_owned(),
            is_unique,
            kind: "BTREE".to_owned(),
            columns: parts.collect(),
            serves_foreign_key: false,
            hidden: None,
        }
    }

    /// A line that reads a table by an index.
    pub fn by(alias: &str, table: &str, key: &str, length: u32) -> Line {
        Line {
            alias: Some(alias.to_owned()),
            table: Some(("world".to_owned(), table.to_owned())),
            access: Some("ref".to_owned()),
            keys: vec![(key.to_owned(), Some(length))],
            rows: Some(3),
            ..Line::default()
        }
    }

    /// A line that reads a whole table.
    pub fn whole(table: &str, rows: u64, columns: &[&str]) -> Line {
        Line {
            alias: Some(table.to_owned()),
            table: Some(("world".to_owned(), table.to_owned())),
            access: Some("ALL".to_owned()),
            rows: Some(rows),
            columns: columns.iter().map(|it| (*it).to_owned()).collect(),
            ..Line::default()
        }
    }

    /// Plans of digests 1, 2 …, run ten times each, and the indexes of a schema.
    pub fn usage(plans: Vec<Vec<Line>>, indexes: Vec<Index>) -> Usage {
        let plans = plans.into_iter().enumerate().map(|(at, lines)| {
            Arc::new(Plan {
                digest: at as u64 + 1,
                text: "SELECT ?".into(),
                cluster: "c".into(),
                schema: "world".into(),
                explained: 1,
                failed: 0,
                error: None,
                at: Duration::from_secs(1),
                backend: "b".into(),
                lines: lines.into(),
                before: 4,
            })
        });
        let view = PlansView {
            plans: plans.collect(),
            schemas: vec![Arc::new(SchemaIndexes::new(
                "c", "world", "'a'@'%'", indexes,
            ))],
            ..PlansView::default()
        };
        Usage::made_of(&view, |_| 6)
    }

    #[test]
    fn uses_are_weighted_by_executions_and_a_digest_counts_once() {
        let usage = usage(
            vec![
                vec![by("a", "City", "PRIMARY", 4), by("b", "City", "PRIMARY", 4)],
                vec![
                    by("City", "City", "cc", 6),
                    by("City", "City", "PRIMARY", 2),
                ],
                vec![by("City", "City", "#hash#$hj", 6)],
            ],
            vec![
                index("City", "PRIMARY", true, &["ID"]),
                index("City", "cc", false, &["CountryCode"]),
                index("City", "unused", false, &["Name"]),
            ],
        );
        let told = usage.indexes.iter().map(|(name, it)| {
            (
                &*name.index,
                it.used,
                it.digests,
                it.length_max,
                it.length_average(),
                it.table_digests,
            )
        });
        let told: Vec<_> = told.collect();
        assert_eq!(
            told,
            [
                ("PRIMARY", 20, 2, Some(4), Some("3.0000".to_owned()), 3),
                ("cc", 10, 1, Some(6), Some("6.0000".to_owned()), 3),
                ("unused", 0, 0, None, None, 3),
            ]
        );
    }

    #[test]
    fn the_table_behind_a_view_is_identified_by_its_index() {
        let indexes = || {
            vec![
                index("City", "PRIMARY", true, &["ID"]),
                index("City", "cc", false, &["C"]),
                index("Other", "PRIMARY", true, &["ID"]),
            ]
        };
        let used = |line: Line| -> Vec<String> {
            let used = usage(vec![vec![line]], indexes()).used();
            used.into_iter()
                .map(|(name, _)| format!("{}.{}", name.table, name.index))
                .collect()
        };
        assert_eq!(used(by("v", "v", "cc", 3)), ["City.cc"]);
        assert!(
            used(by("v", "v", "PRIMARY", 4)).is_empty(),
            "two tables have one of that name"
        );
        assert_eq!(used(by("city", "city", "cc", 3)), ["City.cc"]);
    }

    #[test]
    fn full_scans_are_sorted_by_rows() {
        let usage = usage(
            vec![
                vec![whole("Small", 10, &[])],
                vec![whole("Large", 1000, &["District"])],
            ],
            Vec::new(),
        );
        let told: Vec<_> = usage
            .scans
            .iter()
            .map(|it| (&*it.table.1, it.rows()))
            .collect();
        assert_eq!(told, [("Large", 10_000), ("Small", 100)]);
    }
}
