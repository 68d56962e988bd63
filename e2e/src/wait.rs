//! Waits for events with a time limit: asks for a condition again, with growing pauses, until it is true.

use std::time::{Duration, Instant};

/// The time limit for events that should happen at once, on a machine that may be busy.
pub const SOON: Duration = Duration::from_secs(60);

/// Asks until the answer is `Some`. Panics, naming `what`, after `limit`.
#[track_caller]
pub fn for_some<T>(what: &str, limit: Duration, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(
            start.elapsed() < limit,
            "waited {limit:?} in vain until {what}"
        );
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Asks until the answer is `true`. Panics, naming `what`, after `limit`.
#[track_caller]
pub fn until(what: &str, limit: Duration, mut ask: impl FnMut() -> bool) {
    for_some(what, limit, || ask().then_some(()));
}
