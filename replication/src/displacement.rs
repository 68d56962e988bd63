//! The wait after the server has replaced the stream by another replica with the same id. If both replicas
//! connected again at once, each would end the other's stream again and again.

use std::time::Duration;

/// The first wait. Each further wait is four times as long, up to `WAIT_MAX`.
const WAIT_FIRST: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_secs(300);

/// If a stream has lasted this long, the other replica is gone: it would have waited for `WAIT_MAX` at most.
const LASTING: Duration = Duration::from_secs(600);

/// Counts replacements in a row.
#[derive(Debug, Default)]
pub struct Displacements {
    count: u32,
}

impl Displacements {
    /// Returns the wait after a stream that has lasted for `lasted`.
    pub fn wait(&mut self, lasted: Duration) -> Duration {
        if lasted > LASTING {
            self.count = 0;
        }
        let wait = WAIT_FIRST.saturating_mul(4_u32.saturating_pow(self.count));
        self.count += 1;
        wait.min(WAIT_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reconnect_waits_grow_until_a_stream_has_lasted_long_enough() {
        let mut displacements = Displacements::default();
        let mut wait = |lasted| displacements.wait(Duration::from_secs(lasted)).as_secs();
        let waits: Vec<_> = (0..7).map(|_| wait(100)).collect();
        assert_eq!(waits, [1, 4, 16, 64, 256, 300, 300]);
        assert_eq!([wait(601), wait(0)], [1, 4]);
    }
}
