//! The data for the metrics: the registry's tables, and the counts of workers and scripts.

#[cfg(test)]
mod tests;

use metrics::{Metric, MetricCell, MetricColumn, MetricSources, MetricTable};
use script::metrics::{Measured, Series};
use worker::TimesView;

use crate::registry;
use crate::table::{Cell, Table};
use crate::table_input::TableInput;
use crate::tables::times;

pub use metrics::text;

/// The tables whose data has to be gathered for the metrics.
pub fn tables() -> Vec<&'static dyn Table> {
    let tables = metrics::tables().filter_map(|name| registry::table(None, name));
    tables.chain([&times::TABLE as &dyn Table]).collect()
}

/// All metrics of the gathered data.
pub fn of_input(input: &TableInput) -> Vec<Metric> {
    metrics::measured(input)
}

impl MetricSources for TableInput {
    fn table(&self, name: &'static str) -> Option<MetricTable> {
        let table = registry::table(None, name)?;
        let row = |row: Vec<Cell>| row.into_iter().map(metric_cell).collect();
        Some(MetricTable {
            columns: columns(table),
            rows: table.rows(self).into_iter().map(row).collect(),
        })
    }

    fn times(&self) -> Vec<TimesView> {
        self.data_plane.times()
    }

    fn scripts(&self) -> Vec<(Series, Measured)> {
        let scripts = self.data_plane.scripts();
        scripts.map_or_else(Vec::new, |commons| commons.metrics.all())
    }
}

/// A table's columns, for the metrics.
fn columns(table: &dyn Table) -> Vec<MetricColumn> {
    let columns = table.columns().into_iter().map(|column| MetricColumn {
        name: column.name,
        unit: column.unit,
        about: column.about,
    });
    columns.collect()
}

fn metric_cell(cell: Cell) -> MetricCell {
    match cell {
        Cell::Null => MetricCell::Null,
        Cell::Integer(number) => MetricCell::Integer(number),
        Cell::Text(text) => MetricCell::Text(text),
    }
}
