//! Keys of hashes.

use std::fmt;
use std::hash::BuildHasher;

use siphasher::sip::SipHasher13;

/// Hashes with random keys (SipHash-1-3, as the standard library's maps). An attacker who does not know the keys cannot
/// find values with equal hashes. Copies have the same keys.
#[derive(Clone, Copy)]
pub struct HashKeys {
    keys: [u8; 16],
}

impl HashKeys {
    /// Makes keys from these bytes.
    pub(crate) fn new(keys: [u8; 16]) -> Self {
        Self { keys }
    }
}

impl BuildHasher for HashKeys {
    type Hasher = SipHasher13;

    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_key(&self.keys)
    }
}

impl fmt::Debug for HashKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashKeys").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::Entropy;

    #[test]
    fn hashes_depend_on_the_keys_alone() {
        let entropy = Entropy::seeded(7);
        let (one, other) = (entropy.hash_keys().unwrap(), entropy.hash_keys().unwrap());
        assert_eq!(one.hash_one("text"), one.hash_one("text"));
        assert_ne!(one.hash_one("text"), other.hash_one("text"));
        let again = Entropy::seeded(7).hash_keys().unwrap();
        assert_eq!(one.hash_one("text"), again.hash_one("text"));
    }

    #[test]
    fn debug_output_of_hash_keys_hides_the_keys() {
        assert_eq!(format!("{:?}", HashKeys::new([1; 16])), "HashKeys { .. }");
    }
}
