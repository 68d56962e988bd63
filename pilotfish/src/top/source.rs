//! The source of the figures: statements over the admin port.

use std::time::Instant;

use super::figures::Sample;
use super::screen::{SCREENS, TOTALS};
use crate::admin_client::{AdminAddress, AdminClient, Cell};

/// See the module.
pub struct Source(AdminClient);

impl Source {
    /// A source that connects with the first sample.
    ///
    /// # Errors
    /// The system's error.
    pub fn new(address: &AdminAddress) -> Result<Self, String> {
        let client = AdminClient::new(address, "pilotfish");
        client.map(Self).map_err(|error| error.to_string())
    }

    /// Asks for one screen.
    ///
    /// # Errors
    /// The error in words; the next sample connects again.
    pub fn sample(&mut self, screen: usize) -> Result<Sample, String> {
        let mut ask = |sql: &str| self.0.query(sql).map_err(|error| error.to_string());
        let totals = ask(TOTALS)?.rows.into_iter().next().unwrap_or_default();
        let rows = ask(SCREENS[screen].sql)?.rows;
        let total = |index: usize| totals.get(index).and_then(|it| it.text().parse().ok());
        Ok(Sample {
            at: Instant::now(),
            totals: [0, 1, 2].map(|index| total(index).unwrap_or_default()),
            screen,
            rows: rows
                .iter()
                .map(|row| row.iter().map(Cell::printable).collect())
                .collect(),
        })
    }
}
