//! What digests have cost between two readings: workers count from the start, or from when they were told to
//! begin anew.

use std::collections::HashMap;
use std::sync::Arc;

use stats::{Alike, Counts, DigestRow, StatementStatsView};

/// Everything that was counted at a look.
#[derive(Default)]
pub struct Counted {
    rows: HashMap<(usize, Alike), Counts>,
    all: Counts,
}

/// What has come since.
pub struct Grown {
    /// Digests, those that have taken the longest first.
    pub rows: Vec<DigestRow>,
    /// All the others together.
    pub other_digests: Counts,
    /// What to compare with the next time.
    pub counted: Counted,
}

impl Counted {
    /// What has come since, with so many rows at most.
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
        // Rows that made room meanwhile are in all that was counted, and have none of their own.
        let all = since(&counted.all, Some(&self.all));
        Grown {
            rows,
            other_digests: all.since(&kept),
            counted,
        }
    }
}

/// What has come since; where there are fewer, they have been counted from nothing again.
fn since(now: &Counts, before: Option<&Counts>) -> Counts {
    match before {
        Some(before) if is_same(now, before) => now.since(before),
        _ => now.clone(),
    }
}

/// Whether both have been counted from the same beginning on.
fn is_same(now: &Counts, before: &Counts) -> bool {
    before.count <= now.count && before.first_seen == now.first_seen
}

/// The hash as people are shown it, and the text.
pub fn named(row: &DigestRow) -> (String, Arc<str>) {
    let digest = stats::hexadecimal(row.digest);
    (digest, Arc::clone(&row.text))
}
