//! The load of the proxy between two samples: how long statements took, for each backend; the processor time and
//! memory of the process; and the number of sessions.

use std::collections::BTreeMap;
use std::time::Duration;

use registry::worker_view::{SessionState, StepsView, TimesView, WorkerView};

use crate::age::Now;
use crate::span::Span;

/// The counters at the time of a sample.
pub struct LoadCounts {
    times: BTreeMap<String, StatementTimes>,
    /// The processor time since the start of the process.
    cpu: Option<Duration>,
    resident_bytes: Option<u64>,
    sessions: Option<SessionCounts>,
}

/// The number of sessions at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionCounts {
    /// All sessions.
    pub all: usize,
    /// Sessions that are executing a statement.
    pub running: usize,
    /// Pooled sessions that keep a backend connection.
    pub pinned: usize,
}

/// Histograms of the statements' times since the start.
#[derive(Debug, Clone, Default)]
struct StatementTimes {
    waited: StepCounts,
    taken: StepCounts,
}

/// A cumulative histogram: for each duration, in ascending order, how many statements took less.
#[derive(Debug, Clone, Default)]
struct StepCounts {
    steps: Vec<(Duration, u64)>,
    count: u64,
}

/// One row of the history.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LoadRow {
    /// The backend; none for the row of the whole proxy.
    pub backend: Option<String>,
    /// The number of statements that were answered.
    pub statements: u64,
    /// The times at backends: 50th, 95th and 99th percentile.
    pub taken: [Duration; 3],
    /// The waiting time in the proxy: 99th percentile.
    pub waited_p99: Duration,
    /// The sessions; only in the row of the whole proxy, and only if all workers have answered.
    pub sessions: Option<SessionCounts>,
    /// The processor time; only in the row of the whole proxy.
    pub cpu: Option<Duration>,
    /// The memory in bytes; only in the row of the whole proxy.
    pub resident_bytes: Option<u64>,
}

impl LoadCounts {
    /// Takes a sample. `workers` is none unless all workers have answered. `usage` is the processor time and the
    /// memory of the process, in bytes.
    pub fn new(
        times: Vec<TimesView>,
        workers: Option<&[WorkerView]>,
        usage: Option<(Duration, u64)>,
    ) -> Self {
        let mut by_backend: BTreeMap<String, StatementTimes> = BTreeMap::new();
        for it in times {
            let sum = by_backend.entry(it.backend).or_default();
            sum.waited.add(&it.waited_steps);
            sum.taken.add(&it.taken_steps);
        }
        Self {
            times: by_backend,
            cpu: usage.map(|(cpu, _)| cpu),
            resident_bytes: usage.map(|(_, bytes)| bytes),
            sessions: workers.map(SessionCounts::of),
        }
    }

    /// Returns the difference to an earlier sample: a row for each backend that has answered statements, and one
    /// for the proxy.
    pub fn since(&self, before: &Self) -> Vec<LoadRow> {
        let mut rows = Vec::new();
        let mut all = StatementTimes::default();
        for (backend, now) in &self.times {
            let grown = match before.times.get(backend) {
                Some(before) => now.since(before),
                None => now.clone(),
            };
            all.waited.merge(&grown.waited);
            all.taken.merge(&grown.taken);
            if grown.taken.count > 0 {
                rows.push(grown.row(Some(backend.clone())));
            }
        }
        let cpu = self.cpu.zip(before.cpu);
        rows.push(LoadRow {
            sessions: self.sessions,
            cpu: cpu.map(|(now, before)| now.saturating_sub(before)),
            resident_bytes: self.resident_bytes,
            ..all.row(None)
        });
        rows
    }
}

impl SessionCounts {
    fn of(workers: &[WorkerView]) -> Self {
        let sessions = || workers.iter().flat_map(|worker| &worker.sessions);
        let is_running = |state: SessionState| state == SessionState::Running;
        Self {
            all: sessions().count(),
            running: sessions().filter(|it| is_running(it.state)).count(),
            pinned: sessions().filter(|it| it.pins.is_some()).count(),
        }
    }
}

impl StatementTimes {
    fn since(&self, before: &Self) -> Self {
        Self {
            waited: self.waited.since(&before.waited),
            taken: self.taken.since(&before.taken),
        }
    }

    fn row(&self, backend: Option<String>) -> LoadRow {
        LoadRow {
            backend,
            statements: self.taken.count,
            taken: [0.5, 0.95, 0.99].map(|share| self.taken.quantile(share)),
            waited_p99: self.waited.quantile(0.99),
            ..LoadRow::default()
        }
    }
}

impl StepCounts {
    fn add(&mut self, more: &StepsView) {
        let more = Self {
            steps: more.steps.clone(),
            count: more.count,
        };
        self.merge(&more);
    }

    fn merge(&mut self, more: &Self) {
        if self.steps.is_empty() {
            self.steps = more.steps.iter().map(|(end, _)| (*end, 0)).collect();
        }
        for ((_, count), (_, more)) in self.steps.iter_mut().zip(&more.steps) {
            *count += more;
        }
        self.count += more.count;
    }

    /// Returns the difference to an earlier histogram. If the count is lower than before, the counters were reset.
    fn since(&self, before: &Self) -> Self {
        if before.count > self.count {
            return self.clone();
        }
        let pairs = self.steps.iter().zip(&before.steps);
        let grown = pairs.map(|((end, now), (_, before))| (*end, now.saturating_sub(*before)));
        Self {
            steps: grown.collect(),
            count: self.count - before.count,
        }
    }

    /// Returns a quantile. Within a step, the times count as evenly distributed.
    fn quantile(&self, share: f64) -> Duration {
        if self.count == 0 {
            return Duration::ZERO;
        }
        let wanted = share * self.count as f64;
        let (mut begin, mut below) = (Duration::ZERO, 0);
        for (end, count) in &self.steps {
            if *count as f64 >= wanted {
                let within = match *count > below {
                    true => (wanted - below as f64) / (*count - below) as f64,
                    false => 1.0,
                };
                return begin + (*end - begin).mul_f64(within.clamp(0.0, 1.0));
            }
            (begin, below) = (*end, *count);
        }
        // The quantile is beyond the last step.
        begin
    }
}

/// Decides when samples are due, and keeps the last one.
pub struct LoadRecorder {
    last: Option<LoadCounts>,
    /// When the interval began, in seconds since 1970.
    start: i64,
    /// When the interval began by the monotonic clock, in seconds.
    steady: i64,
    /// When the recorder last tried to write an interval, in seconds since 1970.
    tried: i64,
}

impl LoadRecorder {
    /// A recorder without a sample.
    pub fn new(wall: i64) -> Self {
        Self {
            last: None,
            start: wall,
            steady: 0,
            tried: wall,
        }
    }

    /// Whether a sample is due: the first one, and then one at each multiple of the interval.
    pub fn is_due(&self, interval: Duration, now: i64) -> bool {
        let length = i64::try_from(interval.as_secs()).unwrap_or(i64::MAX).max(1);
        self.last.is_none() || now.div_euclid(length) != self.tried.div_euclid(length)
    }

    /// Returns the rows since the last sample that was written, and their time span; none at the first sample.
    pub fn grown(&mut self, counts: &LoadCounts, now: Now) -> Option<(Span, Vec<LoadRow>)> {
        self.tried = now.wall;
        let rows = counts.since(self.last.as_ref()?);
        let span = Span {
            start: self.start.min(now.wall),
            seconds: (now.steady - self.steady).max(1),
        };
        Some((span, rows))
    }

    /// Makes this sample the one that the next sample is compared with.
    pub fn written(&mut self, counts: LoadCounts, now: Now) {
        self.last = Some(counts);
        (self.start, self.steady) = (now.wall, now.steady);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Counts of one backend: the numbers of statements that took less than 1, 2 and 4 ms.
    fn counted(backend: &str, counts: [u64; 3]) -> LoadCounts {
        let ends = [MS, 2 * MS, 4 * MS];
        let steps = StepCounts {
            steps: ends.into_iter().zip(counts).collect(),
            count: counts[2],
        };
        let times = StatementTimes {
            waited: StepCounts::default(),
            taken: steps,
        };
        LoadCounts {
            times: [(backend.to_owned(), times)].into(),
            cpu: Some(counts[2] as u32 * MS),
            resident_bytes: Some(7),
            sessions: Some(SessionCounts::default()),
        }
    }

    #[test]
    fn rows_have_the_difference_of_two_readings() {
        let rows = counted("db1", [10, 30, 30]).since(&counted("db1", [10, 10, 10]));
        let [of_backend, of_all] = &rows[..] else {
            panic!("{rows:?}");
        };
        assert_eq!(of_backend.backend.as_deref(), Some("db1"));
        assert_eq!((of_backend.statements, of_all.statements), (20, 20));
        // All 20 statements took 1 to 2 ms.
        assert_eq!(of_backend.taken[0], MS + MS / 2);
        assert_eq!(of_all.cpu, Some(20 * MS));
        assert_eq!((of_backend.cpu, of_backend.sessions), (None, None));
    }

    #[test]
    fn a_backend_without_statements_has_no_row_and_counters_that_were_reset_count_whole() {
        let rows = counted("db1", [3, 3, 3]).since(&counted("db1", [3, 3, 3]));
        assert_eq!((rows.len(), rows[0].statements), (1, 0));
        assert_eq!(rows[0].taken, [Duration::ZERO; 3]);
        let rows = counted("db1", [2, 2, 2]).since(&counted("db1", [9, 9, 9]));
        assert_eq!((rows[0].statements, rows.len()), (2, 2));
        let rows = counted("db2", [2, 2, 2]).since(&counted("db1", [9, 9, 9]));
        assert_eq!(rows[0].backend.as_deref(), Some("db2"));
    }

    #[test]
    fn load_rows_begin_at_the_second_reading_and_include_unwritten_intervals() {
        let mut recorder = LoadRecorder::new(100);
        let at = |wall: i64| Now {
            wall,
            steady: wall - 100,
        };
        let ten = Duration::from_secs(10);
        assert!(recorder.is_due(ten, 101));
        let first = counted("db1", [5, 5, 5]);
        assert!(recorder.grown(&first, at(101)).is_none());
        recorder.written(first, at(101));
        assert!(!recorder.is_due(ten, 109) && recorder.is_due(ten, 110));
        let second = counted("db1", [6, 6, 6]);
        assert!(recorder.grown(&second, at(110)).is_some());
        // The second row was not written.
        assert!(!recorder.is_due(ten, 119));
        let third = counted("db1", [8, 8, 8]);
        let (span, rows) = recorder
            .grown(&third, at(120))
            .unwrap_or_else(|| panic!("rows"));
        assert_eq!((span.start, span.seconds, rows[0].statements), (101, 19, 3));
    }
}
