//! What has been counted together: the statements of a digest, or all that made room for others.

use std::sync::Arc;

use crate::counts::Counts;
use crate::merged::MergedStatementStats;
use crate::table::DigestRow;

/// See the module.
#[derive(Clone)]
pub enum Tallied {
    /// Statements that are alike.
    Row(Arc<DigestRow>),
    /// Those that made room, and how many rows they were.
    Remainder(Arc<Counts>, u64),
}

impl Tallied {
    /// Every row, and last what made room, if anything has: the counts' sums are true.
    pub fn all(insight: &MergedStatementStats) -> impl Iterator<Item = Self> {
        let rows = insight.digests.iter().cloned().map(Self::Row);
        let (counts, evicted) = &insight.remainder;
        let remainder = (*evicted > 0).then(|| Self::Remainder(Arc::new(counts.clone()), *evicted));
        rows.chain(remainder)
    }

    /// What they were; none for those that made room.
    pub fn row(&self) -> Option<&DigestRow> {
        match self {
            Self::Row(row) => Some(row),
            Self::Remainder(..) => None,
        }
    }

    /// How many, and what they have cost.
    pub fn counts(&self) -> &Counts {
        match self {
            Self::Row(row) => &row.counts,
            Self::Remainder(counts, _) => counts,
        }
    }

    /// The normalised text, or what stands in its place.
    pub fn text(&self) -> String {
        match self {
            Self::Row(row) => row.text.to_string(),
            Self::Remainder(_, rows) => format!("({rows} rows that made room for others)"),
        }
    }
}
