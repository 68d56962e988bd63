//! Every metric has an existing column, and the manual's list equals the metrics in this crate.

use std::collections::HashSet;

use metrics::{FAMILIES, Family, HISTOGRAMS, MetricKind, Value};

use super::columns;
use crate::registry;

const BEGIN: &str =
    "<!-- The list is made by `cargo test -p pilotfish-admin` with PILOTFISH_WRITE=1. -->\n";

/// The sentence about a metric family in the manual's list.
fn about(family: &Family) -> String {
    let source = family.sources.first();
    let table = source.and_then(|it| registry::table(None, it.table));
    family.about(&table.map(columns).unwrap_or_default())
}

fn list() -> String {
    let mut list = String::from("| metric | kind | labels | what it says |\n|---|---|---|---|\n");
    let mut put = |name: &str, kind: &str, labels: &[&str], about: &str| {
        let labels: Vec<_> = labels.iter().map(|it| format!("`{it}`")).collect();
        let labels = labels.join(", ");
        list.push_str(&format!("| `{name}` | {kind} | {labels} | {about} |\n"));
    };
    for family in FAMILIES {
        let source = family.sources.first();
        let labels = source
            .into_iter()
            .flat_map(|it| it.labels.iter().chain(&it.fixed));
        let labels: Vec<_> = labels.map(|(label, _)| *label).collect();
        put(family.name, family.kind.name(), &labels, &about(family));
    }
    for (name, _, about) in HISTOGRAMS {
        put(name, "histogram", &["cluster", "backend", "way"], about);
    }
    list
}

#[test]
fn the_manual_lists_every_metric() -> std::io::Result<()> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/manual/src/metrics.md");
    let page = std::fs::read_to_string(path)?;
    let (head, rest) = page.split_once(BEGIN).unwrap_or((&page, ""));
    let is_list = |line: &&str| line.starts_with('|');
    let tail: String = rest.split_inclusive('\n').skip_while(is_list).collect();
    let wanted = format!("{head}{BEGIN}{}{tail}", list());
    if std::env::var_os("PILOTFISH_WRITE").is_some() {
        return std::fs::write(path, wanted);
    }
    assert!(
        page == wanted,
        "PILOTFISH_WRITE=1 writes the list of docs/manual/src/metrics.md anew"
    );
    Ok(())
}

#[test]
fn every_metric_has_an_existing_column_and_a_description() {
    let mut names = HashSet::new();
    for family in FAMILIES {
        let name = family.name;
        assert!(names.insert(name), "{name} is there twice");
        assert!(about(family).ends_with('.'), "{name} {:?}", about(family));
        let is_counter = family.kind == MetricKind::Counter;
        assert_eq!(name.ends_with("_total"), is_counter, "{name}");
        for source in family.sources {
            let table = registry::table(None, source.table);
            let table = table.map(columns).unwrap_or_default();
            let columns: HashSet<_> = table.iter().map(|column| column.name).collect();
            let value = match source.value {
                Value::Of(column) | Value::Is(column, _) => Some(column),
                Value::One => None,
            };
            let labels = source.labels.iter().map(|(_, column)| *column);
            for column in labels.chain(value) {
                assert!(
                    columns.contains(column),
                    "{name}: {}.{column}",
                    source.table
                );
            }
            let mut times = table
                .iter()
                .filter(|it| matches!(it.unit, Some("s" | "us")));
            if let Some(column) = times.find(|it| Some(it.name) == value) {
                assert!(name.contains("_seconds"), "{name} {}", column.name);
            }
        }
    }
}
