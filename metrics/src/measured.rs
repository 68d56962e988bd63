//! The values of the metrics at one moment. The text for Prometheus and OpenTelemetry's messages are made from them.

use std::collections::{BTreeMap, BTreeSet};

use registry::worker_view::{StepsView, TimesView};

use crate::bounded::Bounded;
use crate::families::FAMILIES;
use crate::family::{Family, MetricKind, Source, Value};
use crate::metric::{Buckets, Labels, Measured, Metric, Series};
use crate::of_scripts;
use crate::sources::{MetricCell, MetricSources, MetricTable};

/// The histograms of statements' times.
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

/// A name, the function that gives the steps, and a sentence.
type Histogram = (&'static str, fn(&TimesView) -> &StepsView, &'static str);

/// The names of the tables that the metrics are made from.
pub fn tables() -> impl Iterator<Item = &'static str> {
    let sources = FAMILIES.iter().flat_map(|family| family.sources);
    sources.map(|source| source.table)
}

/// All metrics of one moment.
pub fn measured(sources: &impl MetricSources) -> Vec<Metric> {
    let names: BTreeSet<_> = tables().collect();
    let tables = names.into_iter();
    let tables = tables.filter_map(|name| Some((name, sources.table(name)?)));
    let tables: Tables = tables.collect();
    let families = FAMILIES.iter();
    let mut metrics: Vec<_> = families.map(|family| of_family(family, &tables)).collect();
    let times = sources.times();
    metrics.extend(HISTOGRAMS.map(|(name, steps, about)| Metric {
        name: name.into(),
        about: about.into(),
        kind: MetricKind::Histogram,
        series: times.iter().map(|it| of_steps(it, steps(it))).collect(),
    }));
    metrics.extend(of_scripts::metrics(&sources.scripts()));
    metrics
}

/// Tables by name.
type Tables = BTreeMap<&'static str, MetricTable>;

fn of_family(family: &Family, tables: &Tables) -> Metric {
    let table = |source: &Source| tables.get(source.table);
    let mut all = Vec::new();
    for source in family.sources {
        let Some(table) = table(source) else {
            continue;
        };
        let series = series(family.kind, source, table);
        all.extend(series.into_iter().map(|(labels, number)| Series {
            labels,
            measured: Measured::Number(number),
        }));
    }
    let first = family.sources.first().and_then(table);
    Metric {
        name: family.name.into(),
        about: family
            .about(first.map_or(&[][..], |it| it.columns.as_slice()))
            .into(),
        kind: family.kind,
        series: all,
    }
}

fn of_steps(it: &TimesView, steps: &StepsView) -> Series {
    let labels = [
        ("cluster", &*it.cluster),
        ("backend", &*it.backend),
        ("way", it.path),
    ];
    Series {
        labels: labels_of(labels.into_iter()),
        measured: Measured::Histogram(Buckets::of_steps(steps)),
    }
}

/// The numbers of a source by their labels. Rows with the same labels are merged: for gauges of times the longest
/// counts, for other numbers the sum.
fn series(kind: MetricKind, source: &Source, table: &MetricTable) -> BTreeMap<Labels, f64> {
    let MetricTable { columns, rows } = table;
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
        let sum = series.entry(labels_of(pairs.chain(source.fixed)));
        let sum = sum.or_insert(0.0);
        *sum = match kind == MetricKind::Gauge && is_time {
            true => f64::max(*sum, number),
            false => *sum + number,
        };
    }
    series
}

/// A column's values, in the form of labels.
fn texts(rows: &[Vec<MetricCell>], place: usize) -> Vec<String> {
    let text = |row: &Vec<MetricCell>| match row.get(place) {
        Some(MetricCell::Text(text)) => text.clone(),
        Some(MetricCell::Integer(number)) => number.to_string(),
        Some(MetricCell::Null) | None => String::new(),
    };
    rows.iter().map(text).collect()
}

fn number(value: Value, cell: Option<&MetricCell>, unit: Option<&str>) -> Option<f64> {
    match (value, cell) {
        (Value::One, _) => Some(1.0),
        (Value::Is(_, wanted), Some(MetricCell::Text(text))) => {
            Some(f64::from(wanted.contains(&text.as_ref())))
        }
        (Value::Is(..), _) => Some(0.0),
        (Value::Of(_), Some(MetricCell::Integer(number))) => Some(match unit {
            Some("us") => *number as f64 / 1e6,
            Some(_) | None => *number as f64,
        }),
        (Value::Of(_), _) => None,
    }
}

/// Labels without those with an empty value, because Prometheus treats these like missing labels.
fn labels_of<'a>(pairs: impl Iterator<Item = (&'static str, &'a str)>) -> Labels {
    let pairs = pairs.filter(|(_, value)| !value.is_empty());
    pairs
        .map(|(label, value)| (label.into(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sources::MetricColumn;

    type Item = (&'static str, i64);

    fn column(name: &'static str, unit: Option<&'static str>) -> MetricColumn {
        MetricColumn {
            name,
            unit,
            about: "A column.",
        }
    }

    fn of(kind: MetricKind, value: &'static str, items: &[Item]) -> Vec<(Labels, f64)> {
        let source = Source {
            table: "tests",
            value: Value::Of(value),
            labels: &[("who", "name")],
            fixed: Some(("fixed", "yes")),
        };
        let row = |it: &Item| {
            vec![
                MetricCell::Text(it.0.to_owned()),
                MetricCell::Integer(it.1),
                MetricCell::Integer(it.1),
            ]
        };
        let table = MetricTable {
            columns: vec![
                column("name", None),
                column("count", None),
                column("wait_us", Some("us")),
            ],
            rows: items.iter().map(row).collect(),
        };
        series(kind, &source, &table).into_iter().collect()
    }

    #[test]
    fn rows_with_the_same_labels_are_one_series() {
        let items = [("a", 1_500_000), ("b", 2), ("a", 500_000)];
        let labels = |name| labels_of([("who", name), ("fixed", "yes")].into_iter());
        let expected = [(labels("a"), 2_000_000.0), (labels("b"), 2.0)];
        assert_eq!(of(MetricKind::Counter, "count", &items), expected);
        let expected = [(labels("a"), 1.5), (labels("b"), 2e-6)];
        assert_eq!(of(MetricKind::Gauge, "wait_us", &items), expected);
    }

    #[test]
    fn buckets_have_the_values_between_two_bounds() {
        let steps = StepsView {
            steps: [(1, 2), (2, 2), (4, 7)]
                .map(|(end, total)| (Duration::from_secs(end), total))
                .to_vec(),
            sum: Duration::from_millis(20_500),
            count: 8,
        };
        let buckets = Buckets::of_steps(&steps);
        assert_eq!(buckets.bounds, [1.0, 2.0, 4.0]);
        assert_eq!(buckets.counts, [2, 0, 5, 1]);
        assert_eq!((buckets.count(), buckets.sum), (8, 20.5));
    }
}
