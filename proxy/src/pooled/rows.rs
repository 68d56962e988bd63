//! A small result by the names of its columns.

use wire::Capabilities;
use wire::column::ColumnDefinition;
use wire::result::{ResultHead, TextRow};

use super::conn::{Broken, OwnReply};

/// Names of columns, and rows of values; what is not UTF-8 is shown as it can be.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<String>>>,
}

/// One of them.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    columns: &'a [String],
    values: &'a [Option<String>],
}

impl Rows {
    /// Reads a result.
    pub(crate) fn read(own: &OwnReply, capabilities: Capabilities) -> Result<Self, Broken> {
        let mut read = Self::default();
        if !own.tally.had_rows {
            return Ok(read);
        }
        let mut payloads = own.payloads();
        let head = ResultHead::decode(payloads.next().unwrap_or_default(), capabilities)?;
        for _ in 0..head.columns {
            let payload = payloads.next().unwrap_or_default();
            let column = ColumnDefinition::decode(payload, capabilities)?;
            read.columns.push(shown(column.name));
        }
        if !capabilities.contains(Capabilities::DEPRECATE_EOF) {
            payloads.next();
        }
        let count = usize::try_from(own.tally.rows).unwrap_or(usize::MAX);
        for payload in payloads.take(count) {
            let row: Result<Vec<_>, _> = TextRow::new(payload)
                .map(|value| value.map(|it| it.map(shown)))
                .collect();
            read.rows.push(row?);
        }
        Ok(read)
    }

    /// Made of a table as the servers' clients draw it.
    #[cfg(test)]
    pub(crate) fn drawn(table: &str) -> Self {
        let mut lines = table.lines().map(str::trim);
        let lines = lines.by_ref().filter(|line| line.starts_with('|'));
        let mut rows = lines.map(|line| -> Vec<Option<String>> {
            let cells = line.trim_matches('|').split('|').map(str::trim);
            cells
                .map(|it| (it != "NULL").then(|| it.to_owned()))
                .collect()
        });
        let columns = rows.next().unwrap_or_default();
        Self {
            columns: columns.into_iter().flatten().collect(),
            rows: rows.collect(),
        }
    }

    /// All rows.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|values| Row {
            columns: &self.columns,
            values,
        })
    }
}

impl<'a> Row<'a> {
    /// The value of a column; none where it is NULL, or there is no such column.
    pub(crate) fn value(self, column: &str) -> Option<&'a str> {
        let mut columns = self.columns.iter();
        let at = columns.position(|name| name.eq_ignore_ascii_case(column))?;
        self.values.get(at)?.as_deref()
    }
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
