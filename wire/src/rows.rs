//! A small result set, whose values are found by the names of the columns.

use crate::capability::Capabilities;
use crate::column::ColumnDefinition;
use crate::read::Malformed;
use crate::result::{ResultHead, TextRow};

/// The names of the columns and the values of the rows of a result set of the text protocol. Bytes that are not UTF-8
/// become U+FFFD.
#[derive(Debug, Default)]
pub struct Rows {
    /// The names of the columns, in order.
    pub columns: Vec<String>,
    /// The values of each row in the order of the columns, `None` for NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    columns: &'a [String],
    values: &'a [Option<String>],
}

impl Rows {
    /// Reads the payloads of a result set: its head, the definitions, `row_count` rows. Payloads after the rows are
    /// ignored.
    pub fn read<'a>(
        mut payloads: impl Iterator<Item = &'a [u8]>,
        row_count: usize,
        capabilities: Capabilities,
    ) -> Result<Self, Malformed> {
        let mut read = Self::default();
        let head = ResultHead::decode(payloads.next().unwrap_or_default(), capabilities)?;
        for _ in 0..head.columns {
            let payload = payloads.next().unwrap_or_default();
            let column = ColumnDefinition::decode(payload, capabilities)?;
            read.columns.push(shown(column.name));
        }
        if !capabilities.contains(Capabilities::DEPRECATE_EOF) {
            payloads.next();
        }
        for payload in payloads.take(row_count) {
            let row: Result<Vec<_>, _> = TextRow::new(payload)
                .map(|value| value.map(|it| it.map(shown)))
                .collect();
            read.rows.push(row?);
        }
        Ok(read)
    }

    /// The rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|values| Row {
            columns: &self.columns,
            values,
        })
    }
}

impl<'a> Row<'a> {
    /// The value of a column, whose name may be in any case. `None` if it is NULL, or if there is no such column.
    pub fn value(self, column: &str) -> Option<&'a str> {
        let mut columns = self.columns.iter();
        let at = columns.position(|name| name.eq_ignore_ascii_case(column))?;
        self.values.get(at)?.as_deref()
    }
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
