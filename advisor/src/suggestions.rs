//! Suggests indexes to drop, because other indexes do the same, and indexes that statements lack.

use std::collections::BTreeMap;
use std::sync::Arc;

use stats::{Hidden, Index};

use crate::usage::{FullScan, IndexName, IndexUse, Usage};

/// Below this number of rows, reading the whole table is fine.
const ROWS_MIN: u64 = 100;

/// A suggestion for a person to consider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The suggested action.
    pub advice: Advice,
    /// The cluster.
    pub cluster: Arc<str>,
    /// The schema.
    pub schema: String,
    /// The table.
    pub table: String,
    /// The index to drop or to make usable, if there is one.
    pub index: Option<String>,
    /// The columns of that index, or of the suggested one.
    pub columns: String,
    /// The reason.
    pub because: String,
    /// The statement for the action.
    pub statement: String,
    /// Rows that statements would not have to examine any more.
    pub rows: u64,
    /// The digest that examines most of these rows.
    pub digest: Option<u64>,
}

/// The suggested action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Another index has the same columns.
    DropDuplicate,
    /// Another index begins with its columns.
    DropPrefix,
    /// Statements look for some of the rows, and read the whole table.
    Add,
    /// Statements look for some of the rows and read the whole table; an index for them exists, but is hidden from the
    /// optimizer.
    Show,
}

impl Advice {
    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::DropDuplicate => "drop duplicate",
            Self::DropPrefix => "drop prefix",
            Self::Add => "add",
            Self::Show => "show",
        }
    }
}

/// The indexes of one table.
type OfTable<'a> = Vec<(&'a IndexName, &'a IndexUse)>;

/// All suggestions: missing indexes first, those that concern the most rows at the top.
pub fn suggestions(usage: &Usage) -> Vec<Suggestion> {
    let mut suggestions = lacking(usage);
    let mut tables: BTreeMap<_, OfTable<'_>> = BTreeMap::new();
    for (name, index) in &usage.indexes {
        let table = (&name.cluster, &*name.schema, &*name.table);
        tables.entry(table).or_default().push((name, index));
    }
    for indexes in tables.into_values() {
        suggestions.extend(superfluous(&indexes));
    }
    suggestions
}

/// The indexes of one table that another index makes unnecessary.
fn superfluous(indexes: &[(&IndexName, &IndexUse)]) -> Vec<Suggestion> {
    let known = indexes
        .iter()
        .filter_map(|(name, it)| Some((*name, it.facts.as_ref()?)));
    let known: Vec<(&IndexName, &Index)> = known.collect();
    let mut found = Vec::new();
    for (name, index) in &known {
        let mut others = known.iter().filter(|(other, _)| other.index != name.index);
        if let Some((other, _)) = others.clone().find(|(_, other)| is_duplicate(index, other)) {
            let because = format!("{} has the same columns", other.index);
            found.push(drop_of(Advice::DropDuplicate, name, index, because));
        } else if let Some((other, longer)) = others.find(|(_, other)| is_prefix(index, other)) {
            let because = format!("{} begins with them: {}", other.index, longer.columns());
            found.push(drop_of(Advice::DropPrefix, name, index, because));
        }
    }
    found
}

/// Whether an index can be dropped because the other one is the same. If both could be dropped, the one with the later
/// name is.
fn is_duplicate(index: &Index, other: &Index) -> bool {
    let rank = |it: &Index| (it.name != "PRIMARY", !it.is_unique, it.hidden.is_some());
    let is_known = index.columns.iter().all(|part| part.column.is_some());
    is_known
        && other.hidden.is_none()
        && index.kind == other.kind
        && index.columns == other.columns
        && (rank(index), &index.name) > (rank(other), &other.name)
}

/// Whether an index can be dropped because the other one begins with its columns.
fn is_prefix(index: &Index, other: &Index) -> bool {
    let begins = other.columns.get(..index.columns.len());
    let is_known = index.columns.iter().all(|part| part.column.is_some());
    is_known
        && !index.is_unique
        && other.hidden.is_none()
        && index.is_ordered()
        && other.is_ordered()
        && other.columns.len() > index.columns.len()
        && begins == Some(&index.columns[..])
}

fn drop_of(advice: Advice, name: &IndexName, index: &Index, because: String) -> Suggestion {
    Suggestion {
        advice,
        cluster: Arc::clone(&name.cluster),
        schema: name.schema.clone(),
        table: name.table.clone(),
        index: Some(name.index.clone()),
        columns: index.columns(),
        because,
        statement: format!(
            "ALTER TABLE {}.{} DROP INDEX {}",
            quoted(&name.schema),
            quoted(&name.table),
            quoted(&name.index)
        ),
        rows: 0,
        digest: None,
    }
}

/// Columns that tables are searched by, and that no index begins with.
fn lacking(usage: &Usage) -> Vec<Suggestion> {
    let mut found: Vec<Suggestion> = Vec::new();
    for scan in &usage.scans {
        let is_large = scan.line.rows.is_some_and(|rows| rows >= ROWS_MIN);
        if !is_large || scan.line.columns.is_empty() {
            continue;
        }
        let beginning: Vec<_> = indexes_for(usage, scan).collect();
        // The server knows a usable index, and has decided against it.
        if beginning.iter().any(|(_, index)| index.hidden.is_none()) {
            continue;
        }
        let hidden = beginning.first().copied();
        let columns = scan.line.columns.join(", ");
        let listed: Vec<_> = scan.line.columns.iter().map(|it| quoted(it)).collect();
        let listed = listed.join(", ");
        let (schema, table) = &scan.table;
        let plan = &scan.explained.plan;
        let same = found.iter_mut().find(|it| {
            (&it.cluster, &it.schema, &it.table, &it.columns)
                == (&plan.cluster, schema, table, &columns)
        });
        match same {
            Some(same) => same.rows = same.rows.saturating_add(scan.rows()),
            None => found.push(Suggestion {
                advice: match hidden {
                    Some(_) => Advice::Show,
                    None => Advice::Add,
                },
                cluster: Arc::clone(&plan.cluster),
                schema: schema.clone(),
                table: table.clone(),
                index: hidden.map(|(name, _)| name.index.clone()),
                because: format!(
                    "statements look for rows by {columns} and read about {} rows each time",
                    scan.line.rows.unwrap_or_default()
                ),
                statement: format!(
                    "ALTER TABLE {}.{} {}",
                    quoted(schema),
                    quoted(table),
                    match hidden {
                        Some((name, index)) => shown(name, index),
                        None => format!("ADD INDEX ({listed})"),
                    }
                ),
                columns,
                rows: scan.rows(),
                digest: Some(plan.digest),
            }),
        }
    }
    found.sort_by_key(|it| std::cmp::Reverse(it.rows));
    let longer: Vec<Suggestion> = found.clone();
    // An index on more columns also serves searches by its first columns.
    found.retain(|it| !longer.iter().any(|other| begins(other, it)));
    found
}

/// Whether the first suggestion's index has more columns than the second's, and begins with those.
fn begins(longer: &Suggestion, it: &Suggestion) -> bool {
    (
        longer.advice,
        &longer.cluster,
        &longer.schema,
        &longer.table,
    ) == (Advice::Add, &it.cluster, &it.schema, &it.table)
        && it.advice == Advice::Add
        && longer
            .columns
            .strip_prefix(&it.columns)
            .is_some_and(|rest| rest.starts_with(", "))
}

/// The statement that makes an index usable again.
fn shown(name: &IndexName, index: &Index) -> String {
    let end = index.hidden.map_or("VISIBLE", Hidden::end);
    format!("ALTER INDEX {} {end}", quoted(&name.index))
}

/// Indexes that begin with one of the searched columns.
fn indexes_for<'a>(
    usage: &'a Usage,
    scan: &'a FullScan,
) -> impl Iterator<Item = (&'a IndexName, &'a Index)> {
    let (schema, table) = &scan.table;
    let cluster = &scan.explained.plan.cluster;
    let first = IndexName {
        cluster: Arc::clone(cluster),
        schema: schema.clone(),
        table: table.clone(),
        index: String::new(),
    };
    let is_its = move |name: &IndexName| {
        (&name.cluster, &name.schema, &name.table) == (cluster, schema, table)
    };
    let indexes = usage.indexes.range(first..);
    indexes
        .take_while(move |(name, _)| is_its(name))
        .filter_map(|(name, index)| Some((name, index.facts.as_ref()?)))
        .filter(|(_, index)| {
            let first = index.columns.first().and_then(|part| part.column.as_ref());
            first.is_some_and(|first| scan.line.columns.contains(first))
        })
}

/// A quoted name, for a statement.
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::tests::{index, usage, whole};

    fn suggest(plans: Vec<Vec<stats::Line>>, indexes: Vec<Index>) -> Vec<(&'static str, String)> {
        let all = suggestions(&usage(plans, indexes));
        all.into_iter()
            .map(|it| (it.advice.name(), it.statement))
            .collect()
    }

    #[test]
    fn an_index_covered_by_another_one_is_suggested_for_removal() {
        let of = |advice, index: &str| {
            (
                advice,
                format!("ALTER TABLE `world`.`t` DROP INDEX `{index}`"),
            )
        };
        for (about, indexes, expected) in [
            (
                "the same columns",
                vec![
                    index("t", "a", false, &["x"]),
                    index("t", "b", false, &["x"]),
                ],
                vec![of("drop duplicate", "b")],
            ),
            (
                "the unique one stays",
                vec![
                    index("t", "a", false, &["x"]),
                    index("t", "b", true, &["x"]),
                ],
                vec![of("drop duplicate", "a")],
            ),
            (
                "the primary key stays",
                vec![
                    index("t", "A", true, &["x"]),
                    index("t", "PRIMARY", true, &["x"]),
                ],
                vec![of("drop duplicate", "A")],
            ),
            (
                "the beginning of another",
                vec![
                    index("t", "a", false, &["x"]),
                    index("t", "b", false, &["x", "y"]),
                ],
                vec![of("drop prefix", "a")],
            ),
            (
                "a unique one is needed",
                vec![
                    index("t", "a", true, &["x"]),
                    index("t", "b", false, &["x", "y"]),
                ],
                vec![],
            ),
            (
                "another order",
                vec![
                    index("t", "a", false, &["y"]),
                    index("t", "b", false, &["x", "y"]),
                ],
                vec![],
            ),
            (
                "another table",
                vec![
                    index("t", "a", false, &["x"]),
                    index("u", "b", false, &["x", "y"]),
                ],
                vec![],
            ),
        ] {
            assert_eq!(suggest(Vec::new(), indexes), expected, "{about}");
        }
    }

    #[test]
    fn an_index_that_none_may_use_does_no_others_work() {
        let hidden = |mut index: Index, hidden| {
            index.hidden = Some(hidden);
            index
        };
        let a = || index("t", "a", false, &["x"]);
        let b = || index("t", "b", false, &["x"]);
        let long = || index("t", "l", false, &["x", "y"]);
        let unique = || index("t", "u", true, &["x"]);
        let drop = |advice, name: &str| {
            let statement = format!("ALTER TABLE `world`.`t` DROP INDEX `{name}`");
            vec![(advice, statement)]
        };
        for (about, indexes, expected) in [
            (
                "the hidden one goes, whatever its name",
                vec![hidden(a(), Hidden::Invisible), b()],
                drop("drop duplicate", "a"),
            ),
            (
                "unless it keeps rows unique",
                vec![a(), hidden(unique(), Hidden::Ignored)],
                vec![],
            ),
            (
                "nobody finds rows by the longer one",
                vec![a(), hidden(long(), Hidden::Ignored)],
                vec![],
            ),
            (
                "of two that are hidden nobody finds rows by either",
                vec![
                    hidden(a(), Hidden::Invisible),
                    hidden(b(), Hidden::Invisible),
                ],
                vec![],
            ),
            (
                "the hidden one begins like one that is used",
                vec![hidden(a(), Hidden::Invisible), long()],
                drop("drop prefix", "a"),
            ),
        ] {
            assert_eq!(suggest(Vec::new(), indexes), expected, "{about}");
        }
    }

    #[test]
    fn an_index_that_is_hidden_is_shown_before_another_is_made() {
        let scan = || vec![vec![whole("City", 1000, &["District"])]];
        for (hidden, end) in [
            (Hidden::Invisible, "VISIBLE"),
            (Hidden::Ignored, "NOT IGNORED"),
        ] {
            let mut index = index("City", "d", false, &["District"]);
            index.hidden = Some(hidden);
            let statement = format!("ALTER TABLE `world`.`City` ALTER INDEX `d` {end}");
            assert_eq!(suggest(scan(), vec![index]), [("show", statement)]);
        }
    }

    #[test]
    fn expressions_prefixes_and_other_kinds_are_not_mistaken() {
        let mut expression = index("t", "a", false, &["x"]);
        expression.columns[0].column = None;
        let mut other = expression.clone();
        other.name = "b".to_owned();
        assert!(suggest(Vec::new(), vec![expression, other]).is_empty());
        let mut short = index("t", "a", false, &["x"]);
        short.columns[0].length = Some(10);
        assert!(suggest(Vec::new(), vec![short, index("t", "b", false, &["x", "y"])]).is_empty());
        let mut words = index("t", "a", false, &["x"]);
        words.kind = "FULLTEXT".to_owned();
        assert!(suggest(Vec::new(), vec![words, index("t", "b", false, &["x"])]).is_empty());
    }

    #[test]
    fn an_index_is_lacking_where_a_large_table_is_searched_without_one() {
        let add = (
            "add",
            "ALTER TABLE `world`.`City` ADD INDEX (`District`)".to_owned(),
        );
        let scan = || vec![vec![whole("City", 1000, &["District"])]];
        assert_eq!(suggest(scan(), Vec::new()), [add]);
        let has = vec![index("City", "d", false, &["District", "Name"])];
        assert!(
            suggest(scan(), has).is_empty(),
            "the server does not want it"
        );
        assert!(suggest(vec![vec![whole("City", 10, &["District"])]], Vec::new()).is_empty());
        // An index on more columns also serves searches by its first columns.
        let wide = vec![whole("City", 1000, &["District", "Name"])];
        let narrow = vec![whole("City", 1000, &["District"])];
        let both = suggest(vec![narrow, wide.clone()], Vec::new());
        assert_eq!(both, suggest(vec![wide], Vec::new()));
        assert!(suggest(vec![vec![whole("City", 1000, &[])]], Vec::new()).is_empty());
    }

    #[test]
    fn hostile_names_stay_names() {
        let scan = vec![vec![whole("a`; DROP TABLE b; -- ", 1000, &["c`d"])]];
        assert_eq!(
            suggest(scan, Vec::new())[0].1,
            "ALTER TABLE `world`.`a``; DROP TABLE b; -- ` ADD INDEX (`c``d`)"
        );
    }
}
