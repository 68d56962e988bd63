//! How long a stream waits after the server has given its place to another replica with the same id. If both began again
//! at once, each would end the other's stream without end.

use std::time::Duration;

/// The first wait. Each further one is four times as long, up to the longest.
const WAIT_FIRST: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_secs(300);

/// A stream that lasted so long has no rival any more: a rival waits for `WAIT_MAX` at most.
const LASTING: Duration = Duration::from_secs(600);

/// How often in a row it has happened.
#[derive(Debug, Default)]
pub struct Displacements {
    count: u32,
}

impl Displacements {
    /// The wait after a stream that has lasted for that long.
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
    fn waits_grow_until_a_stream_has_lasted() {
        let mut displacements = Displacements::default();
        let mut wait = |lasted| displacements.wait(Duration::from_secs(lasted)).as_secs();
        let waits: Vec<_> = (0..7).map(|_| wait(100)).collect();
        assert_eq!(waits, [1, 4, 16, 64, 256, 300, 300]);
        assert_eq!([wait(601), wait(0)], [1, 4]);
    }
}
