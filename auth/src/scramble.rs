//! The 20 random bytes by which a server challenges a client.

use wire::greeting::SCRAMBLE_BYTES;

/// A challenge, without the NUL that ends it on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scramble([u8; SCRAMBLE_BYTES]);

impl Scramble {
    /// Makes a challenge from random bytes: seven bits each, no NUL and no `$`
    /// (`generate_user_salt`). Bytes that meet these rules already stay unchanged.
    pub fn of_random(random: [u8; SCRAMBLE_BYTES]) -> Self {
        Self(random.map(|byte| match byte & 0x7f {
            byte @ (0 | b'$') => byte + 1,
            byte => byte,
        }))
    }

    /// The bytes, as [`wire::Greeting`] takes them.
    pub fn as_bytes(&self) -> &[u8; SCRAMBLE_BYTES] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_random_scramble_can_be_sent() {
        for first in 0..=255 {
            let [byte, ..] = *Scramble::of_random([first; 20]).as_bytes();
            assert!(byte != 0 && byte != b'$' && byte < 0x80);
            assert!(byte == first || first >= 0x80 || [0, b'$'].contains(&first));
        }
    }
}
