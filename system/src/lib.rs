//! The time, random bytes and threads that the binary or a simulation gives to the parts of a process.
//!
//! ```text
//!   binary: the machine's clock, randomness, threads ──┐
//!                                                      ├──► System ──► workers, control, replication, admin, scripts
//!   simulation: virtual time, a seed, no threads ──────┘
//! ```
//!
//! Only the binary takes these three from the machine. `cargo run -p xtask -- limits` checks that. Times that are only
//! compared with one another, such as timeouts, come from `net::clock::now`, which follows the runtime's clock.
//! `net::worker` starts the threads of workers.

mod clock;
mod entropy;
mod hash_keys;
mod threads;

pub use clock::Clock;
pub use entropy::{Entropy, NoEntropy};
pub use hash_keys::HashKeys;
pub use threads::{Threads, Work};

/// The clock, the randomness and the threads of a process. Clones share them.
#[derive(Clone, Debug)]
pub struct System {
    /// The time.
    pub clock: Clock,
    /// Random bytes.
    pub entropy: Entropy,
    /// Threads.
    pub threads: Threads,
}
