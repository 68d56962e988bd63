//! A metric at one moment.

use std::borrow::Cow;

use registry::worker_view::StepsView;

use crate::family::MetricKind;

/// A metric at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Its name, by Prometheus' conventions: with its unit, and `_total` for counters.
    pub name: Cow<'static, str>,
    /// A sentence that says what it counts or measures.
    pub about: Cow<'static, str>,
    /// The kind of its numbers.
    pub kind: MetricKind,
    /// Its series; no two have the same labels.
    pub series: Vec<Series>,
}

/// Names of labels with their values, which are not empty.
pub type Labels = Vec<(Cow<'static, str>, String)>;

/// The series of a metric that has these labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The labels that tell it from the metric's other series.
    pub labels: Labels,
    /// The measured value.
    pub measured: Measured,
}

/// The value of a series.
#[derive(Debug, Clone, PartialEq)]
pub enum Measured {
    /// The value of a counter or a gauge. Times are in seconds.
    Number(f64),
    /// The value of a histogram.
    Histogram(Buckets),
}

/// A histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Buckets {
    /// The upper bounds of all buckets except the last, which has none, in ascending order.
    pub bounds: Vec<f64>,
    /// The number of values in each bucket: one more than there are bounds.
    pub counts: Vec<u64>,
    /// The sum of all values.
    pub sum: f64,
}

impl Buckets {
    /// The number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Converts steps, whose counts include all shorter durations.
    pub(crate) fn of_steps(steps: &StepsView) -> Self {
        let mut below = 0;
        let ends = steps.steps.iter().map(|(_, total)| *total);
        let counts = ends.chain([steps.count]).map(|total| {
            let count = total.saturating_sub(below);
            below = below.max(total);
            count
        });
        Self {
            counts: counts.collect(),
            bounds: steps
                .steps
                .iter()
                .map(|(end, _)| end.as_secs_f64())
                .collect(),
            sum: steps.sum.as_secs_f64(),
        }
    }
}
