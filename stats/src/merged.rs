//! The statistics of statements of all workers, merged.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use route::BackendId;

use crate::attribution::Attribution;
use crate::counts::Counts;
use crate::errors::ErrorRow;
use crate::profiles::ProfileView;
use crate::slow::StatementView;
use crate::snapshot::StatementStatsView;
use crate::table::DigestRow;

/// The statistics of statements of all workers, merged.
pub struct MergedStatementStats {
    /// Digests; those that took the most time in total come first.
    pub digests: Vec<Arc<DigestRow>>,
    /// The sum of the counts of evicted digests, and the number of their rows.
    pub remainder: (Counts, u64),
    /// Errors, the most frequent first.
    pub errors: Vec<Arc<ErrorRow>>,
    /// Errors of kinds whose rows were evicted.
    pub other_errors: u64,
    /// Slow statements, the latest first.
    pub slow: Vec<Arc<StatementView>>,
    /// Profiles, the latest first.
    pub profiles: Vec<Arc<ProfileView>>,
    /// When the process began, by the present wall clock.
    pub began: Timestamp,
}

impl Default for MergedStatementStats {
    fn default() -> Self {
        Self {
            digests: Vec::new(),
            remainder: (Counts::default(), 0),
            errors: Vec::new(),
            other_errors: 0,
            slow: Vec::new(),
            profiles: Vec::new(),
            began: Timestamp::UNIX_EPOCH,
        }
    }
}

impl MergedStatementStats {
    /// Takes in the workers' answers.
    pub fn take(&mut self, view: StatementStatsView) {
        let began = view.began.and_then(|began| began.try_into().ok());
        self.began = began.unwrap_or(Timestamp::UNIX_EPOCH);
        if !view.digests.is_empty() || view.evicted > 0 {
            self.digests = merge_digests(view.digests);
            self.remainder = (view.remainder, view.evicted);
        }
        if !view.slow.is_empty() {
            self.slow = view.slow;
            self.slow.sort_by_key(|it| std::cmp::Reverse(it.at));
        }
        if !view.profiles.is_empty() {
            self.profiles = view.profiles;
            self.profiles.sort_by_key(|it| std::cmp::Reverse(it.at));
        }
        if !view.errors.is_empty() || view.other_errors > 0 {
            self.errors = merge_errors(view.errors);
            self.other_errors = view.other_errors;
        }
    }

    /// The UTC time of a moment since the process began.
    pub fn time(&self, at: Duration) -> String {
        let time = self.timestamp(at);
        time.strftime("%Y-%m-%d %H:%M:%S").to_string()
    }

    /// The same moment in seconds since 1970.
    pub fn second(&self, at: Duration) -> i64 {
        self.timestamp(at).as_second()
    }

    fn timestamp(&self, at: Duration) -> Timestamp {
        self.began.checked_add(at).unwrap_or(self.began)
    }
}

/// The key under which the rows of different workers are merged.
#[derive(Clone)]
pub struct Alike(u64, Option<BackendId>, Arc<Attribution>);

impl Alike {
    /// The key of a row.
    pub fn of(row: &DigestRow) -> Self {
        let ran = row.backend.as_ref().map(|ran| ran.backend);
        Self(row.digest, ran, Arc::clone(&row.attribution))
    }

    fn names(&self) -> (u64, Option<BackendId>, &str, &str) {
        (self.0, self.1, &self.2.account, &self.2.schema)
    }
}

impl PartialEq for Alike {
    fn eq(&self, other: &Self) -> bool {
        self.names() == other.names()
    }
}

impl Eq for Alike {}

impl Hash for Alike {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.names().hash(state);
    }
}

fn merge_digests(rows: Vec<(usize, DigestRow)>) -> Vec<Arc<DigestRow>> {
    let mut merged: HashMap<Alike, DigestRow> = HashMap::with_capacity(rows.len());
    for (_, row) in rows {
        let key = Alike::of(&row);
        match merged.get_mut(&key) {
            Some(known) => {
                if row.counts.max_ns > known.counts.max_ns {
                    known.sample.clone_from(&row.sample);
                }
                known.counts.add(&row.counts);
            }
            None => {
                merged.insert(key, row);
            }
        }
    }
    let mut rows: Vec<_> = merged.into_values().map(Arc::new).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.counts.whole_ns()));
    rows
}

fn merge_errors(rows: Vec<ErrorRow>) -> Vec<Arc<ErrorRow>> {
    let mut merged: HashMap<(u16, Option<BackendId>, String), ErrorRow> = HashMap::new();
    for row in rows {
        let ran = row.backend.as_ref().map(|ran| ran.backend);
        let key = (row.number, ran, row.account.clone());
        match merged.get_mut(&key) {
            Some(known) => {
                known.count += row.count;
                known.first_seen = known.first_seen.min(row.first_seen);
                if row.last_seen > known.last_seen {
                    known.last_seen = row.last_seen;
                    known.message = row.message;
                    known.sqlstate = row.sqlstate;
                }
            }
            None => {
                merged.insert(key, row);
            }
        }
    }
    let mut rows: Vec<_> = merged.into_values().map(Arc::new).collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.count), row.number));
    rows
}
