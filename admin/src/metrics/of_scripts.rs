//! What scripts count and measure, under `pilotfish_script_` and the name that they gave it. Their number and the
//! length of their labels are bounded where they are counted (`script::metrics`).

use std::fmt::Write;

use script::metrics::{BUCKETS, Measured, Series};

use super::written::{labels_with, put_head};

/// Appends all of them. They come by name.
pub fn put(text: &mut String, all: &[(Series, Measured)]) {
    let mut last = None;
    for (series, measured) in all {
        let name = format!("pilotfish_script_{}", series.name);
        if last != Some(&series.name) {
            put_head(text, &name, measured.kind(), "Counted by a script.");
            last = Some(&series.name);
        }
        put_series(text, &name, series, measured);
    }
}

fn put_series(text: &mut String, name: &str, series: &Series, measured: &Measured) {
    let pairs = series.labels.iter();
    let pairs = pairs.map(|(label, value)| (label.as_str(), value.as_str()));
    let labels = labels_with(pairs.clone());
    // Writing to a string cannot fail.
    match measured {
        Measured::Counter(value) | Measured::Gauge(value) => {
            let _ = writeln!(text, "{name}{labels} {value}");
        }
        Measured::Histogram { counts, sum } => {
            let mut total = 0;
            let bounds = BUCKETS.iter().map(f64::to_string);
            for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(counts) {
                total += count;
                let mut pairs: Vec<(&str, &str)> = pairs.clone().collect();
                pairs.push(("le", &bound));
                let labels = labels_with(pairs.into_iter());
                let _ = writeln!(text, "{name}_bucket{labels} {total}");
            }
            let _ = writeln!(
                text,
                "{name}_sum{labels} {sum}\n{name}_count{labels} {total}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, labels: &[(&str, &str)]) -> Series {
        let labels = labels.iter();
        Series {
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
            (series("seen", &[]), Measured::Counter(1.0)),
            (series("seen", &[("kind", "a\"b")]), Measured::Counter(2.5)),
            (
                series("took", &[]),
                Measured::Histogram { counts, sum: 20.0 },
            ),
        ];
        let mut text = String::new();
        put(&mut text, &all);
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
