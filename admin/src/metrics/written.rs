//! The text that Prometheus reads (its exposition format, version 0.0.4).

use std::collections::BTreeMap;
use std::fmt::Write;

use proxy::{StepsView, TimesView};

use super::bounded::Bounded;
use super::families::FAMILIES;
use super::of_scripts;
use super::{Family, MetricKind, Source, Value};
use crate::material::Material;
use crate::table::{Cell, Table};
use crate::tables::times;

/// How statements' times are spread.
pub const HISTOGRAMS: [Histogram; 2] = [
    (
        "pilotfish_statement_wait_seconds",
        |it| &it.waited_steps,
        "How long statements have waited in the proxy before they were sent; relayed ones do not wait.",
    ),
    (
        "pilotfish_statement_backend_seconds",
        |it| &it.taken_steps,
        "How long backends have taken for statements, to the end of the reply.",
    ),
];

/// A name, the steps, and a sentence.
type Histogram = (&'static str, fn(&TimesView) -> &StepsView, &'static str);

/// Labels with their values, written one behind the other.
type Labels = String;

/// What has to be gathered.
pub fn tables() -> Vec<&'static dyn Table> {
    let sources = FAMILIES.iter().flat_map(|family| family.sources);
    let tables = sources.filter_map(Source::table);
    tables.chain([&times::TABLE as &dyn Table]).collect()
}

/// All metrics of one moment.
pub fn of_material(material: &Material) -> String {
    let mut text = String::new();
    let mut rows = RowsOf::default();
    for family in FAMILIES {
        put_family(&mut text, family, material, &mut rows);
    }
    let times = material.window.times();
    for (name, steps, about) in HISTOGRAMS {
        put_head(&mut text, name, "histogram", about);
        for it in &times {
            put_steps(&mut text, name, it, steps(it));
        }
    }
    if let Some(commons) = material.window.scripts() {
        of_scripts::put(&mut text, &commons.metrics.all());
    }
    text
}

/// Tables whose rows have been made.
#[derive(Default)]
struct RowsOf(BTreeMap<&'static str, Vec<Vec<Cell>>>);

impl RowsOf {
    fn table(&mut self, table: &dyn Table, material: &Material) -> &[Vec<Cell>] {
        let rows = self.0.entry(table.name());
        rows.or_insert_with(|| table.rows(material))
    }
}

fn put_family(text: &mut String, family: &Family, material: &Material, rows: &mut RowsOf) {
    put_head(text, family.name, family.kind.name(), &family.about());
    for source in family.sources {
        let Some(table) = source.table() else {
            continue;
        };
        let series = series(family.kind, source, table, rows.table(table, material));
        for (labels, number) in series {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}{labels} {number}", family.name);
        }
    }
}

/// The numbers of a source by their labels. Rows with the same labels become one: times the longest of
/// them, everything else their sum.
fn series(
    kind: MetricKind,
    source: &Source,
    table: &dyn Table,
    rows: &[Vec<Cell>],
) -> BTreeMap<Labels, f64> {
    let columns = table.columns();
    let place = |name: &str| columns.iter().position(|column| column.name == name);
    let labels = source.labels.iter();
    let labels = labels.filter_map(|(label, column)| Some((*label, texts(rows, place(column)?))));
    let labels: Vec<_> = labels.collect();
    let bounded = labels.iter();
    let bounded = bounded.map(|(_, texts)| Bounded::of(texts.iter().map(String::as_str)));
    let bounded: Vec<_> = bounded.collect();
    let (at, unit) = match source.value {
        Value::Of(column) | Value::Is(column, _) => {
            let at = place(column);
            (at, at.and_then(|at| columns[at].unit))
        }
        Value::One => (None, None),
    };
    let is_time = matches!(unit, Some("s" | "us"));
    let mut series = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        let cell = at.and_then(|at| row.get(at));
        let Some(number) = number(source.value, cell, unit) else {
            continue;
        };
        let pairs = labels.iter().zip(&bounded);
        let pairs = pairs.map(|((label, texts), it)| (*label, it.name(&texts[index])));
        let sum = series.entry(labels_with(pairs.chain(source.fixed)));
        let sum = sum.or_insert(0.0);
        *sum = match kind == MetricKind::Gauge && is_time {
            true => f64::max(*sum, number),
            false => *sum + number,
        };
    }
    series
}

/// A column's values, as labels have them.
fn texts(rows: &[Vec<Cell>], place: usize) -> Vec<String> {
    let text = |row: &Vec<Cell>| match row.get(place) {
        Some(Cell::Text(text)) => text.clone(),
        Some(Cell::Integer(number)) => number.to_string(),
        Some(Cell::Null) | None => String::new(),
    };
    rows.iter().map(text).collect()
}

fn number(value: Value, cell: Option<&Cell>, unit: Option<&str>) -> Option<f64> {
    match (value, cell) {
        (Value::One, _) => Some(1.0),
        (Value::Is(_, wanted), Some(Cell::Text(text))) => {
            Some(f64::from(wanted.contains(&text.as_ref())))
        }
        (Value::Is(..), _) => Some(0.0),
        (Value::Of(_), Some(Cell::Integer(number))) => Some(match unit {
            Some("us") => *number as f64 / 1e6,
            Some(_) | None => *number as f64,
        }),
        (Value::Of(_), _) => None,
    }
}

pub(super) fn put_head(text: &mut String, name: &str, kind: &str, about: &str) {
    let about = about.replace('\\', "\\\\");
    let _ = writeln!(text, "# HELP {name} {about}\n# TYPE {name} {kind}");
}

fn put_steps(text: &mut String, name: &str, it: &TimesView, steps: &StepsView) {
    let labels = [
        ("cluster", &*it.cluster),
        ("backend", &*it.backend),
        ("way", it.way),
    ];
    let ends = steps.steps.iter();
    let ends = ends.map(|(end, count)| (end.as_secs_f64().to_string(), *count));
    for (end, count) in ends.chain([("+Inf".to_owned(), steps.count)]) {
        let labels = labels_with(labels.into_iter().chain([("le", &*end)]));
        let _ = writeln!(text, "{name}_bucket{labels} {count}");
    }
    let (labels, sum) = (labels_with(labels.into_iter()), steps.sum.as_secs_f64());
    let _ = writeln!(
        text,
        "{name}_sum{labels} {sum}\n{name}_count{labels} {}",
        steps.count
    );
}

/// Labels behind a name. What is in a value is a value, whatever it looks like.
pub(super) fn labels_with<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Labels {
    let mut written = String::new();
    for (label, value) in pairs.filter(|(_, value)| !value.is_empty()) {
        let value = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        written.push(if written.is_empty() { '{' } else { ',' });
        let _ = write!(written, "{label}=\"{value}\"");
    }
    if !written.is_empty() {
        written.push('}');
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Asks, Schema, TableDefinition, integer, measure, text};

    type Item = (&'static str, i64);

    static TABLE: TableDefinition<Item> = TableDefinition {
        schema: Schema::Pilotfish,
        name: "tests",
        about: "Some rows.",
        asks: Asks::Nothing,
        columns: &[
            text("name", "A name.", |it| it.0.into()),
            integer("count", "A number.", |it| Cell::Integer(it.1)),
            measure("wait_us", "us", "A time.", |it| Cell::Integer(it.1)),
        ],
        items: |_| Vec::new(),
    };

    fn of(kind: MetricKind, column: &'static str, items: &[Item]) -> Vec<(String, f64)> {
        let source = Source {
            table: "tests",
            value: Value::Of(column),
            labels: &[("who", "name")],
            fixed: Some(("fixed", "yes")),
        };
        let row = |it: &Item| vec![it.0.into(), Cell::Integer(it.1), Cell::Integer(it.1)];
        let rows: Vec<Vec<Cell>> = items.iter().map(row).collect();
        series(kind, &source, &TABLE, &rows).into_iter().collect()
    }

    #[test]
    fn rows_with_the_same_labels_are_one_series() {
        let items = [("a", 1_500_000), ("b", 2), ("a", 500_000)];
        let labels = |name: &str| format!("{{who=\"{name}\",fixed=\"yes\"}}");
        let expected = [(labels("a"), 2_000_000.0), (labels("b"), 2.0)];
        assert_eq!(of(MetricKind::Counter, "count", &items), expected);
        let expected = [(labels("a"), 1.5), (labels("b"), 2e-6)];
        assert_eq!(of(MetricKind::Gauge, "wait_us", &items), expected);
    }

    #[test]
    fn a_label_cannot_end_early() {
        let evil = "a\"} 1\npilotfish_backend_up{backend=\"\\";
        let [(labels, _)] = &of(MetricKind::Gauge, "count", &[(evil, 1)])[..] else {
            unreachable!("one row is one series");
        };
        let expected = r#"{who="a\"} 1\npilotfish_backend_up{backend=\"\\",fixed="yes"}"#;
        assert_eq!(labels, expected);
    }
}
