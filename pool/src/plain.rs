//! A hasher for keys that are hashes already, or small numbers of our own: nobody can choose them.

use std::hash::{BuildHasherDefault, Hasher};

/// Makes them.
pub(crate) type PlainState = BuildHasherDefault<Plain>;

/// One multiplication a word.
#[derive(Debug, Default)]
pub(crate) struct Plain(u64);

impl Hasher for Plain {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        // The upper bits tell neighbours in a table apart, and the lower ones its places.
        let product = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = product ^ (product >> 32);
    }
}
