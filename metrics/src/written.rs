//! Writes the text for Prometheus (exposition format, version 0.0.4).

use std::fmt::Write;

use crate::metric::{Buckets, Labels, Measured, Metric};

/// The text of metrics.
pub fn text(metrics: &[Metric]) -> String {
    let mut text = String::new();
    for it in metrics {
        put_metric(&mut text, it);
    }
    text
}

fn put_metric(text: &mut String, metric: &Metric) {
    let (name, kind) = (&*metric.name, metric.kind.name());
    let about = metric.about.replace('\\', "\\\\");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "# HELP {name} {about}\n# TYPE {name} {kind}");
    for series in &metric.series {
        match &series.measured {
            Measured::Number(number) => {
                let labels = written(&series.labels, None);
                let _ = writeln!(text, "{name}{labels} {number}");
            }
            Measured::Histogram(buckets) => put_buckets(text, name, &series.labels, buckets),
        }
    }
}

/// Writes a histogram. Each bucket's count in Prometheus' format includes the buckets below it.
fn put_buckets(text: &mut String, name: &str, labels: &Labels, buckets: &Buckets) {
    let mut total = 0;
    let bounds = buckets.bounds.iter().map(f64::to_string);
    for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(&buckets.counts) {
        total += count;
        let labels = written(labels, Some(("le", &bound)));
        let _ = writeln!(text, "{name}_bucket{labels} {total}");
    }
    let (labels, sum) = (written(labels, None), buckets.sum);
    let _ = writeln!(
        text,
        "{name}_sum{labels} {sum}\n{name}_count{labels} {total}"
    );
}

/// Labels after a name. Values are escaped, so that a value cannot end its label.
fn written(labels: &Labels, more: Option<(&str, &str)>) -> String {
    let pairs = labels.iter();
    let pairs = pairs.map(|(label, value)| (&**label, &**value));
    let mut written = String::new();
    for (label, value) in pairs.chain(more) {
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

    #[test]
    fn a_label_cannot_end_early() {
        let evil = "a\"} 1\npilotfish_backend_up{backend=\"\\";
        let labels = vec![("who".into(), evil.to_owned())];
        let expected = r#"{who="a\"} 1\npilotfish_backend_up{backend=\"\\",le="1"}"#;
        assert_eq!(written(&labels, Some(("le", "1"))), expected);
    }
}
