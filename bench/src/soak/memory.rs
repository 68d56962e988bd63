//! The proxy's resident memory during a soak: whether it grows once the proxy has all connections and has seen all
//! statements.

use std::fmt;
use std::time::Duration;

use crate::accounting::rss_bytes;
use crate::results::median;

/// The memory of the first minutes is not compared: a sixth of the soak, at most as long.
const SETTLES_WITHIN: Duration = Duration::from_secs(300);
const SETTLES_SHARE: u32 = 6;

/// So much more at the end is no growth: pieces of memory that the allocator keeps come and go.
const GROWTH_MAX: f64 = 0.05;
const GROWTH_BYTES_MAX: f64 = (4 << 20) as f64;

/// The first and the last of so many parts of the samples are compared.
const PARTS: usize = 10;

/// Samples, taken at even times.
pub struct Memory {
    length: Duration,
    settles: Duration,
    bytes: Vec<f64>,
}

impl Memory {
    /// No samples yet, of a soak of that length.
    pub fn of(length: Duration) -> Self {
        Self {
            length,
            settles: SETTLES_WITHIN.min(length / SETTLES_SHARE),
            bytes: Vec::new(),
        }
    }

    /// Adds a sample.
    pub fn add(&mut self, bytes: u64) {
        self.bytes.push(bytes as f64);
    }

    /// The samples that are compared.
    fn settled(&self) -> &[f64] {
        let share = self.settles.as_secs_f64() / self.length.as_secs_f64().max(1.0);
        let first = (self.bytes.len() as f64 * share) as usize;
        &self.bytes[first.min(self.bytes.len())..]
    }

    /// The median behind the first minutes, and that of the end.
    fn ends(&self) -> (f64, f64) {
        let settled = self.settled();
        let part = settled.len().div_ceil(PARTS);
        let of = |samples: &[f64]| median(samples.iter().copied()).unwrap_or_default();
        (of(&settled[..part]), of(&settled[settled.len() - part..]))
    }

    /// Bytes a minute by which the line through the samples rises (least squares).
    fn slope(&self) -> f64 {
        let settled = self.settled();
        let minutes = self.length.as_secs_f64() / 60.0 / self.bytes.len().max(1) as f64;
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            values.sum::<f64>() / settled.len().max(1) as f64
        };
        let (mean_time, mean_bytes) = (
            mean(&mut (0..settled.len()).map(|number| number as f64 * minutes)),
            mean(&mut settled.iter().copied()),
        );
        let (mut both, mut times) = (0.0, 0.0);
        for (number, bytes) in settled.iter().enumerate() {
            let time = number as f64 * minutes - mean_time;
            both += time * (bytes - mean_bytes);
            times += time * time;
        }
        if times > 0.0 { both / times } else { 0.0 }
    }

    /// Whether there is more at the end than behind the first minutes.
    pub fn has_grown(&self) -> bool {
        let (first, last) = self.ends();
        last - first > GROWTH_BYTES_MAX.max(first * GROWTH_MAX)
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = self.ends();
        write!(
            f,
            "{} after {} s, {} at the end, {:+.1} KiB a minute",
            mib(first as u64),
            self.settles.as_secs(),
            mib(last as u64),
            self.slope() / 1024.0
        )
    }
}

/// The resident memory of a process; 0 if it has ended.
pub fn now(pid: u32) -> u64 {
    rss_bytes(pid).unwrap_or_default()
}

/// Bytes as people read them.
pub fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(bytes: impl Fn(u64) -> u64) -> Memory {
        let mut memory = Memory::of(Duration::from_secs(600));
        (0..600).for_each(|second| memory.add(bytes(second)));
        memory
    }

    #[test]
    fn memory_that_grows_at_first_only_is_flat() {
        let memory = filled(|second| (40 << 20) + (second.min(90) << 20));
        assert!(!memory.has_grown());
        assert_eq!(
            memory.to_string(),
            "130.0 MiB after 100 s, 130.0 MiB at the end, +0.0 KiB a minute"
        );
    }

    #[test]
    fn memory_that_grows_all_the_time_has_grown() {
        let memory = filled(|second| (40 << 20) + (second << 14));
        assert!(memory.has_grown());
        assert!((memory.slope() / f64::from(60 << 14) - 1.0).abs() < 0.01);
    }
}
