//! The inputs that this process takes from its machine: the clock, random bytes and threads.

use std::thread;
use std::time::{Instant, SystemTime};

use aws_lc_rs::rand;
use system::{Clock, Entropy, NoEntropy, System, Threads};

/// The clock, the randomness and the threads of the machine.
pub fn system() -> System {
    System {
        clock: clock(),
        entropy: entropy(),
        threads: Threads::new(|name, work| thread::Builder::new().name(name).spawn(work)),
    }
}

/// The machine's clock.
pub fn clock() -> Clock {
    Clock::new(Instant::now, SystemTime::now)
}

/// The machine's randomness.
pub fn entropy() -> Entropy {
    Entropy::new(|bytes| rand::fill(bytes).map_err(|_| NoEntropy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_entropy_does_not_repeat() {
        let entropy = entropy();
        assert_ne!(entropy.bytes::<32>(), entropy.bytes::<32>());
    }
}
