//! The values of the metrics page as OpenTelemetry's messages: the same names, labels and numbers.

use std::collections::HashMap;

use metrics::{Buckets, Labels, Measured, Metric, MetricKind, Series};

use super::otlp::{
    CUMULATIVE, Data, Gauge, Histogram, HistogramDataPoint, Metric as Message, NumberDataPoint, Sum,
};
use crate::telemetry::common::{KeyValue, attribute};

/// When each counter began to count: at the start of the process, or at its last reset.
#[derive(Debug)]
pub struct Starts {
    /// When the process began, in nanoseconds since 1970.
    process: u64,
    /// The time of the last message.
    before: u64,
    /// The value and start of each series in the last message.
    last_message: HashMap<SeriesKey, Count>,
    /// The value and start of each series in the message under construction.
    this_message: HashMap<SeriesKey, Count>,
}

/// A metric's name and the labels of one of its series.
type SeriesKey = (String, Labels);

#[derive(Debug, Clone, Copy)]
struct Count {
    value: f64,
    start: u64,
}

impl Starts {
    /// All counters began when the process began.
    pub fn new(process: u64) -> Self {
        Self {
            process,
            before: process,
            last_message: HashMap::new(),
            this_message: HashMap::new(),
        }
    }

    /// The messages of metrics that were measured at `now`, in nanoseconds since 1970.
    pub fn messages(&mut self, metrics: &[Metric], now: u64) -> Vec<Message> {
        let messages = metrics.iter().map(|it| self.message(it, now)).collect();
        // A series that does not exist any more is forgotten.
        self.last_message = std::mem::take(&mut self.this_message);
        self.before = now;
        messages
    }

    fn message(&mut self, metric: &Metric, now: u64) -> Message {
        let mut numbers = Vec::new();
        let mut histograms = Vec::new();
        for series in &metric.series {
            match &series.measured {
                Measured::Number(value) => numbers.push(NumberDataPoint {
                    attributes: attributes(&series.labels),
                    start_time_unix_nano: match metric.kind {
                        MetricKind::Gauge => 0,
                        MetricKind::Counter | MetricKind::Histogram => {
                            self.start(metric, series, *value)
                        }
                    },
                    time_unix_nano: now,
                    value: Some(*value),
                }),
                Measured::Histogram(buckets) => {
                    let start = self.start(metric, series, buckets.count() as f64);
                    histograms.push(histogram(&series.labels, buckets, (start, now)));
                }
            }
        }
        Message {
            name: metric.name.to_string(),
            description: metric.about.to_string(),
            unit: unit(&metric.name).to_owned(),
            data: Some(match metric.kind {
                MetricKind::Gauge => Data::Gauge(Gauge {
                    data_points: numbers,
                }),
                MetricKind::Counter => Data::Sum(Sum {
                    data_points: numbers,
                    aggregation_temporality: CUMULATIVE,
                    is_monotonic: true,
                }),
                MetricKind::Histogram => Data::Histogram(Histogram {
                    data_points: histograms,
                    aggregation_temporality: CUMULATIVE,
                }),
            }),
        }
    }

    /// When a counter began to count. A counter that is lower than in the last message was reset after that message.
    fn start(&mut self, metric: &Metric, series: &Series, value: f64) -> u64 {
        let key = (metric.name.to_string(), series.labels.clone());
        let start = match self.last_message.get(&key) {
            Some(last) if value < last.value => self.before,
            Some(last) => last.start,
            None => self.process,
        };
        self.this_message.insert(key, Count { value, start });
        start
    }
}

fn histogram(labels: &Labels, buckets: &Buckets, (start, now): (u64, u64)) -> HistogramDataPoint {
    HistogramDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano: start,
        time_unix_nano: now,
        count: buckets.count(),
        sum: Some(buckets.sum),
        bucket_counts: buckets.counts.clone(),
        explicit_bounds: buckets.bounds.clone(),
    }
}

fn attributes(labels: &Labels) -> Vec<KeyValue> {
    let labels = labels.iter();
    labels
        .map(|(label, value)| attribute(label, &**value))
        .collect()
}

/// The unit in a metric's name, in the Unified Code for Units of Measure; empty if it has none.
fn unit(name: &str) -> &'static str {
    let has = |unit| name.split('_').any(|part| part == unit);
    match (has("seconds"), has("bytes")) {
        (true, _) => "s",
        (false, true) => "By",
        (false, false) => "",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]

    use super::*;

    fn metric(name: &'static str, kind: MetricKind, values: &[(&str, f64)]) -> Metric {
        let values = values.iter();
        Metric {
            name: name.into(),
            about: "A sentence.".into(),
            kind,
            series: values
                .map(|(backend, value)| Series {
                    labels: vec![("backend".into(), (*backend).to_owned())],
                    measured: Measured::Number(*value),
                })
                .collect(),
        }
    }

    fn points(message: &Message) -> &[NumberDataPoint] {
        match &message.data {
            Some(Data::Sum(it)) => &it.data_points,
            Some(Data::Gauge(it)) => &it.data_points,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_counter_is_a_cumulative_monotonic_sum() {
        let metric = metric(
            "opened_total",
            MetricKind::Counter,
            &[("db1", 7.0), ("db2", 0.0)],
        );
        let messages = Starts::new(5).messages(&[metric], 9);
        let [message] = &messages[..] else {
            panic!("{messages:?}");
        };
        assert_eq!((&*message.name, &*message.unit), ("opened_total", ""));
        assert_eq!(message.description, "A sentence.");
        let Some(Data::Sum(sum)) = &message.data else {
            panic!("{message:?}");
        };
        assert!(sum.is_monotonic);
        assert_eq!(sum.aggregation_temporality, CUMULATIVE);
        let [one, two] = &sum.data_points[..] else {
            panic!("{sum:?}");
        };
        assert_eq!(one.attributes, [attribute("backend", "db1")]);
        assert_eq!((one.start_time_unix_nano, one.time_unix_nano), (5, 9));
        assert_eq!((one.value, two.value), (Some(7.0), Some(0.0)));
    }

    #[test]
    fn a_gauge_has_no_start() {
        let metric = metric("lag_seconds", MetricKind::Gauge, &[("db1", 0.25)]);
        let messages = Starts::new(5).messages(&[metric], 9);
        let message = &messages[0];
        assert!(matches!(message.data, Some(Data::Gauge(_))));
        assert_eq!(message.unit, "s");
        let point = &points(message)[0];
        assert_eq!((point.start_time_unix_nano, point.value), (0, Some(0.25)));
    }

    #[test]
    fn a_histogram_has_the_counts_of_each_bucket() {
        let buckets = Buckets {
            bounds: vec![0.5, 1.0],
            counts: vec![2, 0, 3],
            sum: 12.5,
        };
        let metric = Metric {
            series: vec![Series {
                labels: Vec::new(),
                measured: Measured::Histogram(buckets),
            }],
            ..metric("wait_seconds", MetricKind::Histogram, &[])
        };
        let messages = Starts::new(5).messages(&[metric], 9);
        let Some(Data::Histogram(histogram)) = &messages[0].data else {
            panic!("{messages:?}");
        };
        assert_eq!(histogram.aggregation_temporality, CUMULATIVE);
        let point = &histogram.data_points[0];
        assert_eq!((point.count, point.sum), (5, Some(12.5)));
        assert_eq!(point.bucket_counts, [2, 0, 3]);
        assert_eq!(point.explicit_bounds, [0.5, 1.0]);
        assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (5, 9));
    }

    #[test]
    fn a_counter_that_was_set_back_begins_anew() {
        let mut starts = Starts::new(5);
        let mut start = |value, now| {
            let metric = metric("opened_total", MetricKind::Counter, &[("db1", value)]);
            points(&starts.messages(&[metric], now)[0])[0].start_time_unix_nano
        };
        let found =
            [(7.0, 10), (7.0, 20), (2.0, 30), (3.0, 40)].map(|(value, now)| start(value, now));
        assert_eq!(found, [5, 5, 20, 20]);
    }

    #[test]
    fn units_are_derived_from_the_names() {
        for (name, expected) in [
            ("pilotfish_profiling_seconds_total", "s"),
            ("pilotfish_memory_bytes_max", "By"),
            ("pilotfish_pool_waits_total", ""),
        ] {
            assert_eq!(unit(name), expected, "{name}");
        }
    }
}
