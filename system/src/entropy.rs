//! Random bytes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::HashKeys;

/// The system cannot give random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system has no randomness")]
pub struct NoEntropy;

type Fill = dyn Fn(&mut [u8]) -> Result<(), NoEntropy> + Send + Sync;

/// Gives random bytes. Clones have the same source.
#[derive(Clone)]
pub struct Entropy(Arc<Fill>);

impl Entropy {
    /// A source whose random bytes this function writes.
    pub fn new(fill: impl Fn(&mut [u8]) -> Result<(), NoEntropy> + Send + Sync + 'static) -> Self {
        Self(Arc::new(fill))
    }

    /// A source whose bytes follow from a seed, for simulations and tests. With the seed the bytes are predictable.
    pub fn seeded(seed: u64) -> Self {
        let state = AtomicU64::new(seed);
        Self::new(move |bytes| {
            for chunk in bytes.chunks_mut(8) {
                let number = mix(state.fetch_add(STEP, Ordering::Relaxed));
                chunk.copy_from_slice(&number.to_le_bytes()[..chunk.len()]);
            }
            Ok(())
        })
    }

    /// Random bytes.
    ///
    /// # Errors
    /// The system has no random bytes. That can happen only shortly after its start.
    pub fn bytes<const N: usize>(&self) -> Result<[u8; N], NoEntropy> {
        let mut bytes = [0; N];
        (self.0)(&mut bytes)?;
        Ok(bytes)
    }

    /// New keys for hashes.
    ///
    /// # Errors
    /// As of [`Entropy::bytes`].
    pub fn hash_keys(&self) -> Result<HashKeys, NoEntropy> {
        self.bytes().map(HashKeys::new)
    }
}

/// The number that SplitMix64 adds to its state (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(state: u64) -> u64 {
    let state = state.wrapping_add(STEP);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entropy").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_bytes_again_and_no_bytes_twice() {
        let (one, other) = (Entropy::seeded(7), Entropy::seeded(7));
        let first = one.bytes::<20>();
        assert_eq!(first, other.bytes());
        assert_ne!(first, one.bytes());
        assert_ne!(first, Entropy::seeded(8).bytes());
    }

    #[test]
    fn clones_of_an_entropy_source_share_its_state() {
        let entropy = Entropy::seeded(7);
        assert_ne!(entropy.clone().bytes::<8>(), entropy.bytes::<8>());
    }

    #[test]
    fn a_source_without_bytes_is_an_error() {
        let none = Entropy::new(|_| Err(NoEntropy));
        assert_eq!(none.bytes::<8>(), Err(NoEntropy));
    }

    /// The first numbers of the reference implementation for the seed 1234567.
    #[test]
    fn numbers_are_those_of_splitmix64() {
        let expected = 6_457_827_717_110_365_317_u64.to_le_bytes();
        assert_eq!(Entropy::seeded(1_234_567).bytes(), Ok(expected));
    }
}
