//! A table that the proxy itself sends to a client.

use wire::column::{ColumnDefinition, ColumnType};
use wire::{Capabilities, StatusFlags};

/// A result whose values are all texts.
pub struct TextTable {
    columns: Vec<&'static str>,
    rows: Vec<Vec<Option<String>>>,
}

impl TextTable {
    /// A table without rows, with these columns.
    pub fn new(columns: &[&'static str]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, values: [&str; N]) {
        let values = values.iter().map(|value| Some((*value).to_owned()));
        self.rows.push(values.collect());
    }

    /// The table's packets, which begin with the id `sequence`.
    pub fn packets(
        &self,
        sequence: u8,
        capabilities: Capabilities,
        status: StatusFlags,
    ) -> Vec<u8> {
        let columns = self.columns.iter();
        let columns = columns.map(|name| text_column(name, 1 << 16));
        let columns: Vec<_> = columns.collect();
        let rows = self.rows.iter().map(|row| {
            let values = row.iter();
            values.map(|value| value.as_ref().map(|text| text.as_bytes()))
        });
        let mut packets = Vec::new();
        wire::result::put_text_result(
            &mut packets,
            sequence,
            capabilities,
            &columns,
            rows,
            status,
            0,
        );
        packets
    }

    /// The number of rows.
    pub fn row_count(&self) -> u64 {
        self.rows.len() as u64
    }
}

/// A column of texts without a table, in `utf8mb4_general_ci`, which every server knows.
pub fn text_column(name: &str, length: u32) -> ColumnDefinition<'_> {
    const COLLATION: u16 = 45;
    ColumnDefinition::new(name.as_bytes(), ColumnType::VAR_STRING, COLLATION, length)
}
