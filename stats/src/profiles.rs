//! Profiles: the cost of statements on their backends. Each worker keeps its latest profiles. The number of profiles,
//! their cost, and what was left out, are counted for all workers together.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The most memory of one worker's profiles, in bytes.
const BYTES_MAX: usize = 4 << 20;

/// A statement, and what its backend told about it.
#[derive(Debug, Clone)]
pub struct ProfileView {
    /// When it ended, since the process began.
    pub at: Duration,
    /// The id of its session that the client sees.
    pub session: u32,
    /// `Query`, `Execute` or `Bulk execute`.
    pub command: &'static str,
    /// The reason for the profile: `chance`, `hint`, or the name of a rule.
    pub chosen_by: Arc<str>,
    /// The account, in the servers' form.
    pub account: String,
    /// The default schema, if there is one.
    pub schema: Option<String>,
    /// The backend that it ran on.
    pub backend: Option<String>,
    /// The hash of its normalised text.
    pub digest: u64,
    /// Its normalised text; with values, if values may be shown.
    pub query: String,
    /// The tag that a rule has set.
    pub tag: Option<Box<str>>,
    /// Time at its backend.
    pub taken: Duration,
    /// Rows of its result.
    pub rows: u64,
    /// Rows that it changed.
    pub affected_rows: u64,
    /// Rows that its backend examined, if the backend was asked and knows.
    pub rows_examined: Option<u64>,
    /// The number of its warnings.
    pub warnings: u16,
    /// The number of its error.
    pub error: Option<u16>,
    /// The changes in SHOW STATUS: a JSON object, if that was asked for.
    pub status: Option<String>,
    /// Other answers: a JSON array.
    pub results: String,
    /// The number of statements that the proxy sent for the profile.
    pub sent: u32,
    /// The time that those statements took.
    pub cost: Duration,
}

impl ProfileView {
    fn bytes(&self) -> usize {
        let texts = [
            self.account.len(),
            self.schema.as_ref().map_or(0, String::len),
            self.backend.as_ref().map_or(0, String::len),
            self.query.len(),
            self.status.as_ref().map_or(0, String::len),
            self.results.len(),
        ];
        size_of::<Self>() + texts.iter().sum::<usize>()
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct ProfileRing {
    latest: VecDeque<Arc<ProfileView>>,
    bytes: usize,
    count_max: usize,
}

impl ProfileRing {
    /// Sets the most profiles to keep.
    pub fn resize(&mut self, count_max: usize) {
        self.count_max = count_max;
        self.make_room();
    }

    /// Adds a profile; the oldest ones are dropped if there is no room.
    pub fn note(&mut self, profile: Arc<ProfileView>) {
        self.bytes += profile.bytes();
        self.latest.push_back(profile);
        self.make_room();
    }

    fn make_room(&mut self) {
        while self.latest.len() > self.count_max || self.bytes > BYTES_MAX {
            let Some(oldest) = self.latest.pop_front() else {
                return;
            };
            self.bytes -= oldest.bytes();
        }
    }

    /// All profiles.
    pub fn snapshot(&self) -> Vec<Arc<ProfileView>> {
        self.latest.iter().map(Arc::clone).collect()
    }

    /// Takes all profiles out.
    pub fn take(&mut self) -> Vec<Arc<ProfileView>> {
        self.bytes = 0;
        std::mem::take(&mut self.latest).into()
    }
}

/// Why a chosen statement is not profiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// A rule sends other statements around it.
    Rule,
    /// It asks about the statement before it, and that would be one of the proxy's own.
    AsksAboutLast,
    /// The proxy's statements would become part of a transaction that is about to begin, or of an XA transaction.
    Transaction,
    /// No backend answered it.
    Unanswered,
}

impl LeftOut {
    /// All reasons.
    pub const ALL: [Self; 4] = [
        Self::Rule,
        Self::AsksAboutLast,
        Self::Transaction,
        Self::Unanswered,
    ];

    /// The name in tables and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::AsksAboutLast => "asks_about_last",
            Self::Transaction => "transaction",
            Self::Unanswered => "unanswered",
        }
    }
}

/// Counts of all workers.
#[derive(Debug, Default)]
pub struct ProfilingCounts {
    profiled: AtomicU64,
    sent: AtomicU64,
    failed: AtomicU64,
    cost_us: AtomicU64,
    left_out: [AtomicU64; LeftOut::ALL.len()],
}

impl ProfilingCounts {
    /// Statements that were profiled.
    pub fn profiled(&self) -> u64 {
        self.profiled.load(Ordering::Relaxed)
    }

    /// Statements that the proxy sent for profiles.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// How many of those failed.
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// How long all of those took.
    pub fn cost(&self) -> Duration {
        Duration::from_micros(self.cost_us.load(Ordering::Relaxed))
    }

    /// Statements that were chosen and not profiled, for this reason.
    pub fn left_out(&self, why: LeftOut) -> u64 {
        self.left_out[why as usize].load(Ordering::Relaxed)
    }

    /// Counts a profiled statement, with the statements sent for it and the time they took.
    pub fn is_profiled(&self, sent: u32, cost: Duration) {
        let cost = u64::try_from(cost.as_micros()).unwrap_or(u64::MAX);
        self.profiled.fetch_add(1, Ordering::Relaxed);
        self.sent.fetch_add(sent.into(), Ordering::Relaxed);
        self.cost_us.fetch_add(cost, Ordering::Relaxed);
    }

    /// Counts a profile that could not be made.
    pub fn fails(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// A statement was not profiled, for this reason.
    pub fn leaves_out(&self, why: LeftOut) {
        self.left_out[why as usize].fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(second: u64, results: String) -> Arc<ProfileView> {
        Arc::new(ProfileView {
            at: Duration::from_secs(second),
            session: 1,
            command: "Query",
            chosen_by: "chance".into(),
            account: "'a'@'%'".into(),
            schema: None,
            backend: None,
            digest: 1,
            query: "SELECT ?".into(),
            tag: None,
            taken: Duration::ZERO,
            rows: 0,
            affected_rows: 0,
            rows_examined: None,
            warnings: 0,
            error: None,
            status: None,
            results,
            sent: 2,
            cost: Duration::ZERO,
        })
    }

    #[test]
    fn the_profile_ring_keeps_the_latest_profiles_within_its_bounds() {
        let mut ring = ProfileRing::default();
        let seconds = |ring: &ProfileRing| -> Vec<_> {
            ring.snapshot().iter().map(|it| it.at.as_secs()).collect()
        };
        ring.note(profile(0, String::new()));
        assert!(seconds(&ring).is_empty(), "none may stay");
        ring.resize(3);
        (1..=5).for_each(|second| ring.note(profile(second, String::new())));
        assert_eq!(seconds(&ring), [3, 4, 5]);
        ring.note(profile(6, "x".repeat(BYTES_MAX / 2)));
        ring.note(profile(7, "x".repeat(BYTES_MAX / 2)));
        assert_eq!(seconds(&ring), [7]);
        ring.resize(0);
        assert_eq!((ring.bytes, ring.latest.len()), (0, 0));
    }
}
