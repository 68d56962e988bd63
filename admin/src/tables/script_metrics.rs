//! The metrics of scripts.

use script::metrics::{Measured, Series};

use crate::table::{Asks, Cell, Schema, TableDefinition, columns};

/// See the module.
pub static TABLE: TableDefinition<(Series, Measured)> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "script_metrics",
    about: "The metrics of scripts, which pilotfish.count, .gauge and .observe set.",
    asks: Asks::Nothing,
    columns: columns! {
        text "name", "Its name.", |it| it.0.name.clone().into();
        text "labels", "Its labels, as name=value.",
            |it| {
                let labels = it.0.labels.iter();
                let labels: Vec<_> = labels
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                labels.join(",").into()
            };
        text "kind", "counter, gauge or histogram.", |it| it.1.kind().into();
        text "value", "The number: of a histogram, the sum of what was observed.", |it| value(&it.1).to_string().into();
        integer "count", "Of a histogram: how many were observed.",
            |it| match &it.1 {
                Measured::Histogram { counts, .. } => counts.iter().sum::<u64>().into(),
                Measured::Counter(_) | Measured::Gauge(_) => Cell::Null,
            };
    },
    items: |input| (input.data_plane.scripts()).map_or_else(Vec::new, |it| it.metrics.all()),
};

fn value(measured: &Measured) -> f64 {
    match measured {
        Measured::Counter(value) | Measured::Gauge(value) => *value,
        Measured::Histogram { sum, .. } => *sum,
    }
}
