//! Counts that belong together: those of one digest, or the sum of all evicted rows.

use std::sync::Arc;

use crate::counts::Counts;
use crate::merged::MergedStatementStats;
use crate::table::DigestRow;

/// See the module.
#[derive(Clone)]
pub enum Tallied {
    /// The statements of one row.
    Row(Arc<DigestRow>),
    /// The sum of all evicted rows, and the number of these rows.
    Remainder(Arc<Counts>, u64),
}

impl Tallied {
    /// Every row, and last the sum of evicted rows, if there are any, so that the totals are complete.
    pub fn all(insight: &MergedStatementStats) -> impl Iterator<Item = Self> {
        let rows = insight.digests.iter().cloned().map(Self::Row);
        let (counts, evicted) = &insight.remainder;
        let remainder = (*evicted > 0).then(|| Self::Remainder(Arc::new(counts.clone()), *evicted));
        rows.chain(remainder)
    }

    /// The row; `None` for the sum of evicted rows.
    pub fn row(&self) -> Option<&DigestRow> {
        match self {
            Self::Row(row) => Some(row),
            Self::Remainder(..) => None,
        }
    }

    /// The counts.
    pub fn counts(&self) -> &Counts {
        match self {
            Self::Row(row) => &row.counts,
            Self::Remainder(counts, _) => counts,
        }
    }

    /// The normalised text, or a text for the sum of evicted rows.
    pub fn text(&self) -> String {
        match self {
            Self::Row(row) => row.text.to_string(),
            Self::Remainder(_, rows) => format!("({rows} rows that made room for others)"),
        }
    }
}
