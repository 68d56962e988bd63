//! The metrics of scripts, for the proxy's monitoring: the same for all workers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mlua::{Lua, Table};

use crate::fault::raise;

/// The most series, so that a label with many values does not fill the memory.
const SERIES_MAX: usize = 1000;

/// Longer names and values of labels are refused.
const TEXT_BYTES_MAX: usize = 256;

/// Upper bounds of a histogram's buckets in seconds, the defaults of Prometheus' clients.
pub const BUCKETS: [f64; 11] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// The metrics of scripts, see the module.
#[derive(Debug, Default)]
pub struct Metrics(Mutex<BTreeMap<Series, Measured>>);

/// A name with labels, in their order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    /// Letters, digits and `_`, by the conventions of Prometheus.
    pub name: String,
    /// Names and values.
    pub labels: Vec<(String, String)>,
}

/// The current value of a series.
#[derive(Debug, Clone, PartialEq)]
pub enum Measured {
    /// The sum of all counts.
    Counter(f64),
    /// The last value.
    Gauge(f64),
    /// The observed values: how many are in each of [`BUCKETS`] and above, and their sum.
    Histogram {
        /// One more than there are bounds.
        counts: [u64; BUCKETS.len() + 1],
        /// The sum of all values.
        sum: f64,
    },
}

impl Measured {
    /// The kind's name in Prometheus.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Counter(_) => "counter",
            Self::Gauge(_) => "gauge",
            Self::Histogram { .. } => "histogram",
        }
    }

    fn take(&mut self, kind: MetricKind, value: f64) -> Option<()> {
        match (self, kind) {
            (Self::Counter(sum), MetricKind::Counter) => *sum += value,
            (Self::Gauge(last), MetricKind::Gauge) => *last = value,
            (Self::Histogram { counts, sum }, MetricKind::Histogram) => {
                let bucket = BUCKETS.iter().position(|bound| value <= *bound);
                counts[bucket.unwrap_or(BUCKETS.len())] += 1;
                *sum += value;
            }
            _ => return None,
        }
        Some(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

impl MetricKind {
    fn empty(self) -> Measured {
        match self {
            Self::Counter => Measured::Counter(0.0),
            Self::Gauge => Measured::Gauge(0.0),
            Self::Histogram => Measured::Histogram {
                counts: [0; BUCKETS.len() + 1],
                sum: 0.0,
            },
        }
    }
}

impl Metrics {
    /// All series, sorted by name and labels.
    pub fn all(&self) -> Vec<(Series, Measured)> {
        let series = self.series();
        let pairs = series.iter();
        pairs.map(|(name, it)| (name.clone(), it.clone())).collect()
    }

    fn series(&self) -> MutexGuard<'_, BTreeMap<Series, Measured>> {
        // A panic under the lock leaves no half-made series.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, series: Series, kind: MetricKind, value: f64) -> Result<(), String> {
        let mut all = self.series();
        if let Some(known) = all.get_mut(&series) {
            let text = format!("{} is a {}", series.name, known.kind());
            return known.take(kind, value).ok_or(text);
        }
        let kin = all.range(
            Series {
                labels: Vec::new(),
                ..series.clone()
            }..,
        );
        let mut kin = kin.take_while(|(it, _)| it.name == series.name);
        if let Some((_, known)) = kin.next()
            && known.kind() != kind.empty().kind()
        {
            return Err(format!("{} is a {}", series.name, known.kind()));
        }
        if all.len() >= SERIES_MAX {
            return Err(format!(
                "there are {SERIES_MAX} series, and no more than that"
            ));
        }
        let measured = all.entry(series).or_insert(kind.empty());
        measured.take(kind, value).ok_or_else(String::new)
    }
}

/// The functions `count`, `gauge` and `observe`.
pub(crate) fn share(lua: &Lua, host: &Table, metrics: &Arc<Metrics>) -> mlua::Result<()> {
    for (name, kind) in [
        ("count", MetricKind::Counter),
        ("gauge", MetricKind::Gauge),
        ("observe", MetricKind::Histogram),
    ] {
        let metrics = Arc::clone(metrics);
        let take =
            move |lua: &Lua, (series, value, labels): (String, Option<f64>, Option<Table>)| {
                let value = match (value, kind) {
                    (Some(value), _) => value,
                    (None, MetricKind::Counter) => 1.0,
                    (None, _) => f64::NAN,
                };
                let taken = checked(kind, value)
                    .and_then(|()| series_of(series, labels))
                    .and_then(|series| metrics.take(series, kind, value));
                taken.map_err(|cause| raise(lua, &format!("pilotfish.{name}: {cause}")))
            };
        host.raw_set(name, lua.create_function(take)?)?;
    }
    Ok(())
}

fn checked(kind: MetricKind, value: f64) -> Result<(), String> {
    match value.is_finite() && !(kind == MetricKind::Counter && value < 0.0) {
        true => Ok(()),
        false if kind == MetricKind::Counter => Err("counters only go up".to_owned()),
        false => Err("the value is no number".to_owned()),
    }
}

fn series_of(name: String, labels: Option<Table>) -> Result<Series, String> {
    if !is_name(&name) {
        return Err(format!("{name:?} is no name: letters, digits and _"));
    }
    let mut found = Vec::new();
    for pair in labels.iter().flat_map(Table::pairs::<String, String>) {
        let (label, value) = pair.map_err(|_| "labels are strings by their names".to_owned())?;
        if !is_name(&label) || label.starts_with("__") || label == "le" {
            return Err(format!(
                "{label:?} is no name of a label: letters, digits and _"
            ));
        }
        if value.len() > TEXT_BYTES_MAX {
            return Err(format!(
                "the value of {label} is longer than {TEXT_BYTES_MAX} bytes"
            ));
        }
        found.push((label, value));
    }
    found.sort();
    Ok(Series {
        name,
        labels: found,
    })
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    name.len() <= TEXT_BYTES_MAX
        && bytes
            .next()
            .is_some_and(|it| it.is_ascii_alphabetic() || it == b'_')
        && bytes.all(|it| it.is_ascii_alphanumeric() || it == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Result<Vec<(Series, Measured)>, String> {
        let lua = Lua::new();
        let metrics = Arc::new(Metrics::default());
        share(&lua, &lua.globals(), &metrics).unwrap();
        let ran = lua.load(text).exec();
        ran.map_err(|error| error.to_string())?;
        Ok(metrics.all())
    }

    #[test]
    fn series_are_distinguished_by_their_labels() {
        let all = run(
            "count('a') count('a', 2, { b = 'x' }) count('a', 1, { b = 'x' }) \
                       gauge('g', 5) gauge('g', -3)",
        );
        let all = all.unwrap();
        assert_eq!(all.len(), 3);
        assert_eq!(all[0].1, Measured::Counter(1.0));
        assert_eq!(all[1].0.labels, [("b".to_owned(), "x".to_owned())]);
        assert_eq!(all[1].1, Measured::Counter(3.0));
        assert_eq!(all[2].1, Measured::Gauge(-3.0));
    }

    #[test]
    fn values_are_in_their_buckets() {
        let all = run("observe('t', 0.004) observe('t', 0.1) observe('t', 11)").unwrap();
        let Measured::Histogram { counts, sum } = &all[0].1 else {
            panic!("{all:?}");
        };
        assert_eq!((counts[0], counts[4], counts[11]), (1, 1, 1));
        assert!((sum - 11.104).abs() < 1e-9);
    }

    #[test]
    fn malformed_metrics_are_refused() {
        for (text, cause) in [
            ("count('a-b')", "no name"),
            ("count('a', -1)", "only go up"),
            ("gauge('a', 0 / 0)", "no number"),
            ("count('a', 1, { ['x y'] = 'z' })", "no name of a label"),
            ("count('a') gauge('a', 1)", "a is a counter"),
            ("count('a', 1, { b = 'x' }) gauge('a', 1)", "a is a counter"),
            (
                "for i = 1, 2000 do count('a', 1, { i = tostring(i) }) end",
                "no more than that",
            ),
        ] {
            let error = run(text).unwrap_err();
            assert!(error.contains(cause), "{text}: {error}");
        }
    }
}
