//! The metrics of scripts, under `pilotfish_script_` and the name that a script gave. Their number and the
//! length of their labels are limited where they are counted (`script::metrics`).

use script::metrics::{BUCKETS, Measured as Counted, Series as Key};

use crate::family::MetricKind;
use crate::metric::{Buckets, Measured, Metric, Series};

/// All metrics of scripts. `all` is ordered by name.
pub fn metrics(all: &[(Key, Counted)]) -> Vec<Metric> {
    let of_a_name = all.chunk_by(|(one, _), (next, _)| one.name == next.name);
    let of_a_name = of_a_name.filter_map(|it| Some((&it.first()?.0.name, &it.first()?.1, it)));
    of_a_name
        .map(|(name, first, series)| Metric {
            name: format!("pilotfish_script_{name}").into(),
            about: "Counted by a script.".into(),
            kind: match first {
                Counted::Counter(_) => MetricKind::Counter,
                Counted::Gauge(_) => MetricKind::Gauge,
                Counted::Histogram { .. } => MetricKind::Histogram,
            },
            series: series.iter().map(|(key, it)| series_of(key, it)).collect(),
        })
        .collect()
}

fn series_of(key: &Key, counted: &Counted) -> Series {
    let labels = key.labels.iter().filter(|(_, value)| !value.is_empty());
    Series {
        labels: labels
            .map(|(label, value)| (label.clone().into(), value.clone()))
            .collect(),
        measured: match counted {
            Counted::Counter(value) | Counted::Gauge(value) => Measured::Number(*value),
            Counted::Histogram { counts, sum } => Measured::Histogram(Buckets {
                bounds: BUCKETS.to_vec(),
                counts: counts.to_vec(),
                sum: *sum,
            }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written;

    fn series(name: &str, labels: &[(&str, &str)]) -> Key {
        let labels = labels.iter();
        Key {
            name: name.to_owned(),
            labels: labels
                .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn series_of_a_name_stand_together() {
        let mut counts = [0; BUCKETS.len() + 1];
        (counts[0], counts[11]) = (2, 1);
        let all = [
            (series("seen", &[]), Counted::Counter(1.0)),
            (series("seen", &[("kind", "a\"b")]), Counted::Counter(2.5)),
            (
                series("took", &[]),
                Counted::Histogram { counts, sum: 20.0 },
            ),
        ];
        let text = written::text(&metrics(&all));
        assert_eq!(
            text.matches("# TYPE pilotfish_script_seen counter").count(),
            1
        );
        assert!(
            text.contains("pilotfish_script_seen{kind=\"a\\\"b\"} 2.5\n"),
            "{text}"
        );
        assert!(
            text.contains("pilotfish_script_took_bucket{le=\"5\"} 2\n"),
            "{text}"
        );
        assert!(
            text.contains("pilotfish_script_took_bucket{le=\"+Inf\"} 3\n"),
            "{text}"
        );
        assert!(text.contains("pilotfish_script_took_sum 20\npilotfish_script_took_count 3\n"));
    }
}
