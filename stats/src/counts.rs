//! The counts of statements with the same digest.

use std::time::Duration;

use crate::spread::{bar_end, bar_of};

/// The times, rows and bytes of a statement that has ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ended {
    /// Whether the reply was an ERR.
    pub has_failed: bool,
    /// Rows in its result sets.
    pub rows_sent: u64,
    /// Rows that it changed, as the OK packets tell.
    pub rows_affected: u64,
    /// Bytes of the command.
    pub bytes_in: u64,
    /// Bytes of the reply.
    pub bytes_out: u64,
    /// Time in the proxy before the statement left for its backend, without queues.
    pub proxy: Duration,
    /// Time waiting for a connection, or for a rule's limit.
    pub queue: Duration,
    /// Time from leaving the proxy until the first part of the reply came.
    pub first_byte: Duration,
    /// Time from leaving the proxy until the whole reply had come.
    pub backend: Duration,
    /// When the statement ended, since the process began.
    pub at: Duration,
}

/// Sums over statements with the same digest; times are in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of statements.
    pub count: u64,
    /// The number of statements that ended with an error.
    pub errors: u64,
    /// Rows in their results.
    pub rows_sent: u64,
    /// Rows that they changed, as the servers tell.
    pub rows_affected: u64,
    /// Bytes that came from clients.
    pub bytes_in: u64,
    /// Bytes of the replies.
    pub bytes_out: u64,
    /// Time in the proxy, without queues.
    pub proxy_ns: u64,
    /// Time in queues.
    pub queue_ns: u64,
    /// Time at backends, up to the first byte of the reply.
    pub first_byte_ns: u64,
    /// Time at backends, up to the last byte of the reply.
    pub backend_ns: u64,
    /// The shortest time, from arrival to end.
    pub min_ns: u64,
    /// The longest time, from arrival to end.
    pub max_ns: u64,
    /// When the first statement ended, since the process began.
    pub first_seen: Duration,
    /// When the last statement ended, since the process began.
    pub last_seen: Duration,
    /// The histogram of times from arrival to end.
    bars: Bars,
}

/// A histogram of durations. Only bars that are not empty are stored, each with its number in the highest byte and its
/// count in the other bytes. Most digests need few bars.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Bars(Vec<u64>);

const COUNT_BITS: u32 = 56;
const COUNT_MAX: u64 = (1 << COUNT_BITS) - 1;

impl Ended {
    /// The time from arrival to end.
    pub fn whole(&self) -> Duration {
        self.proxy + self.queue + self.backend
    }
}

impl Counts {
    /// Counts one more statement.
    pub fn note(&mut self, ended: &Ended) {
        let whole = nanoseconds(ended.whole());
        if self.count == 0 {
            self.first_seen = ended.at;
            self.min_ns = whole;
        }
        self.count += 1;
        self.errors += u64::from(ended.has_failed);
        self.rows_sent = self.rows_sent.wrapping_add(ended.rows_sent);
        self.rows_affected = self.rows_affected.wrapping_add(ended.rows_affected);
        self.bytes_in += ended.bytes_in;
        self.bytes_out += ended.bytes_out;
        self.proxy_ns += nanoseconds(ended.proxy);
        self.queue_ns += nanoseconds(ended.queue);
        self.first_byte_ns += nanoseconds(ended.first_byte);
        self.backend_ns += nanoseconds(ended.backend);
        self.min_ns = self.min_ns.min(whole);
        self.max_ns = self.max_ns.max(whole);
        self.last_seen = ended.at;
        self.bars.add(bar_of(whole), 1);
    }

    /// Adds the counts of another worker, or of other rows.
    pub fn add(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            self.clone_from(other);
            return;
        }
        self.count += other.count;
        self.errors += other.errors;
        self.rows_sent = self.rows_sent.wrapping_add(other.rows_sent);
        self.rows_affected = self.rows_affected.wrapping_add(other.rows_affected);
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.proxy_ns += other.proxy_ns;
        self.queue_ns += other.queue_ns;
        self.first_byte_ns += other.first_byte_ns;
        self.backend_ns += other.backend_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.first_seen = self.first_seen.min(other.first_seen);
        self.last_seen = self.last_seen.max(other.last_seen);
        for packed in &other.bars.0 {
            self.bars.add(Bars::bar(*packed), packed & COUNT_MAX);
        }
    }

    /// The counts since they were `earlier`. The slowest statement is exact if it is the slowest of all; otherwise it
    /// is up to a quarter too high. The end of the first statement and the fastest time are unknown.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut bars = Bars::default();
        for (bar, count) in self.bars.each() {
            let before = earlier.bars.each().find(|(it, _)| *it == bar);
            let more = count.saturating_sub(before.map_or(0, |(_, count)| count));
            if more > 0 {
                bars.add(bar, more);
            }
        }
        let slowest = bars.each().map(|(bar, _)| bar).max();
        let end = slowest.map_or(Some(0), bar_end).unwrap_or(self.max_ns);
        Self {
            count: self.count.saturating_sub(earlier.count),
            errors: self.errors.saturating_sub(earlier.errors),
            rows_sent: self.rows_sent.saturating_sub(earlier.rows_sent),
            rows_affected: self.rows_affected.saturating_sub(earlier.rows_affected),
            bytes_in: self.bytes_in.saturating_sub(earlier.bytes_in),
            bytes_out: self.bytes_out.saturating_sub(earlier.bytes_out),
            proxy_ns: self.proxy_ns.saturating_sub(earlier.proxy_ns),
            queue_ns: self.queue_ns.saturating_sub(earlier.queue_ns),
            first_byte_ns: self.first_byte_ns.saturating_sub(earlier.first_byte_ns),
            backend_ns: self.backend_ns.saturating_sub(earlier.backend_ns),
            min_ns: 0,
            max_ns: match self.max_ns > earlier.max_ns {
                true => self.max_ns,
                false => end.min(self.max_ns),
            },
            first_seen: earlier.last_seen,
            last_seen: self.last_seen,
            bars,
        }
    }

    /// The sum of all times from arrival to end.
    pub fn whole_ns(&self) -> u64 {
        self.proxy_ns + self.queue_ns + self.backend_ns
    }

    /// The time within which this percentage of statements ended, from arrival to end: never too low, and up to a
    /// quarter too high. In nanoseconds.
    pub fn percentile_ns(&self, percent: u64) -> u64 {
        let mut bars: Vec<_> = self.bars.each().collect();
        bars.sort_unstable();
        let wanted = (u128::from(self.count) * u128::from(percent)).div_ceil(100);
        let mut counted = 0;
        let bar = bars.iter().find(|(_, count)| {
            counted += u128::from(*count);
            counted >= wanted
        });
        let end = bar.and_then(|(bar, _)| bar_end(*bar));
        end.unwrap_or(self.max_ns).min(self.max_ns)
    }

    /// The histogram of times from arrival to end: the upper end of each bar in nanoseconds (the last bar has none),
    /// and the count in it; shortest times first.
    pub fn histogram(&self) -> Vec<(Option<u64>, u64)> {
        let mut bars: Vec<_> = self.bars.each().collect();
        bars.sort_unstable();
        let bars = bars.into_iter();
        bars.map(|(bar, count)| (bar_end(bar), count)).collect()
    }

    /// Heap memory, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.bars.0.capacity() * size_of::<u64>()
    }
}

impl Bars {
    fn add(&mut self, bar: usize, count: u64) {
        for packed in &mut self.0 {
            if Self::bar(*packed) == bar {
                let sum = (*packed & COUNT_MAX).saturating_add(count).min(COUNT_MAX);
                *packed = *packed & !COUNT_MAX | sum;
                return;
            }
        }
        self.0
            .push((bar as u64) << COUNT_BITS | count.min(COUNT_MAX));
    }

    fn bar(packed: u64) -> usize {
        (packed >> COUNT_BITS) as usize
    }

    fn each(&self) -> impl Iterator<Item = (usize, u64)> {
        let bars = self.0.iter();
        bars.map(|packed| (Self::bar(*packed), packed & COUNT_MAX))
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(milliseconds: impl IntoIterator<Item = u64>) -> Counts {
        let mut counts = Counts::default();
        for (at, it) in milliseconds.into_iter().enumerate() {
            counts.note(&Ended {
                backend: Duration::from_millis(it),
                at: Duration::from_secs(at as u64),
                rows_sent: 2,
                ..Ended::default()
            });
        }
        counts
    }

    #[test]
    fn counts_of_two_workers_add_up_to_those_of_one_worker() {
        let (one, other) = (of(1..=50), of(51..=100));
        let mut sum = one.clone();
        sum.add(&other);
        let all = of(1..=100);
        assert_eq!((sum.count, sum.rows_sent), (100, 200));
        assert_eq!(sum.histogram(), all.histogram());
        assert_eq!((sum.min_ns, sum.max_ns), (1_000_000, 100_000_000));
        let mut from_none = Counts::default();
        from_none.add(&all);
        from_none.add(&Counts::default());
        assert_eq!(from_none, all);
    }

    #[test]
    fn the_difference_of_two_readings_equals_a_fresh_count() {
        let earlier = of(1..=50);
        let mut now = earlier.clone();
        now.add(&of(3..=9));
        let since = now.since(&earlier);
        assert_eq!((since.count, since.rows_sent), (7, 14));
        assert_eq!(since.whole_ns(), of(3..=9).whole_ns());
        assert_eq!(since.histogram(), of(3..=9).histogram());
        assert!((9_000_000..=9_000_000 * 5 / 4).contains(&since.max_ns));
        now.add(&of([90]));
        assert_eq!(now.since(&earlier).max_ns, 90_000_000);
        assert_eq!(now.since(&now).count, 0);
        assert_eq!(earlier.since(&now).count, 0);
    }

    #[test]
    fn percentiles_are_never_too_little_and_never_more_than_the_longest() {
        let counts = of((1..=100).rev());
        for percent in [1, 50, 95, 99, 100] {
            let exact = percent * 1_000_000;
            let told = counts.percentile_ns(percent);
            assert!(told >= exact && told <= exact * 5 / 4, "{percent} {told}");
        }
        assert_eq!(Counts::default().percentile_ns(99), 0);
        assert_eq!(of([1_000_000]).percentile_ns(50), 1_000_000_000_000);
    }
}
