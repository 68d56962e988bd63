//! The cost of digests between two readings. Workers count from their start, or from their last reset.

use std::collections::HashMap;
use std::sync::Arc;

use stats::{Alike, Counts, DigestRow, StatementStatsView};

/// All counts of one reading.
#[derive(Default)]
pub struct Counted {
    rows: HashMap<(usize, Alike), Counts>,
    all: Counts,
}

/// The difference between two readings.
pub struct Grown {
    /// The digests with the longest total time, longest first.
    pub rows: Vec<DigestRow>,
    /// The sum of all other digests.
    pub other_digests: Counts,
    /// The counts to compare the next reading with.
    pub counted: Counted,
}

impl Counted {
    /// Returns the difference to this reading, with at most `rows_max` digests.
    pub fn grown(&self, view: StatementStatsView, rows_max: usize) -> Grown {
        let mut counted = Self {
            rows: HashMap::with_capacity(view.digests.len()),
            all: view.remainder,
        };
        let mut grown: HashMap<Alike, DigestRow> = HashMap::new();
        for (worker, row) in view.digests {
            counted.all.add(&row.counts);
            let alike = Alike::of(&row);
            let key = (worker, alike.clone());
            let more = since(&row.counts, self.rows.get(&key));
            counted.rows.insert(key, row.counts.clone());
            if more.count == 0 {
                continue;
            }
            match grown.get_mut(&alike) {
                Some(known) => known.counts.add(&more),
                None => {
                    let row = DigestRow {
                        counts: more,
                        ..row
                    };
                    grown.insert(alike, row);
                }
            }
        }
        let mut rows: Vec<_> = grown.into_values().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.counts.whole_ns()));
        rows.truncate(rows_max);
        let mut kept = Counts::default();
        rows.iter().for_each(|row| kept.add(&row.counts));
        // A digest that was dropped meanwhile is included in the total counts, but has no row.
        let all = since(&counted.all, Some(&self.all));
        Grown {
            rows,
            other_digests: all.since(&kept),
            counted,
        }
    }
}

/// Returns the difference of two counts. If the counts were reset, all of `now` is new.
fn since(now: &Counts, before: Option<&Counts>) -> Counts {
    match before {
        Some(before) if is_same(now, before) => now.since(before),
        _ => now.clone(),
    }
}

/// Whether both counts began at the same time.
fn is_same(now: &Counts, before: &Counts) -> bool {
    before.count <= now.count && before.first_seen == now.first_seen
}

/// Returns the digest's hash in hexadecimal notation, and its text.
pub fn named(row: &DigestRow) -> (String, Arc<str>) {
    let digest = stats::hexadecimal(row.digest);
    (digest, Arc::clone(&row.text))
}
