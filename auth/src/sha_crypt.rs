//! crypt(3) with SHA-256, as caching_sha2_password stores passwords.
//!
//! Ulrich Drepper's "Unix crypt using SHA-256 and SHA-512", but with a salt of 20 bytes where crypt
//! stops at 16 (`crypt_genhash_impl.cc`: `my_crypt_genhash`).

use aws_lc_rs::digest::{SHA256, digest};
use zeroize::Zeroizing;

use crate::digest::sha256;

/// Characters of a digest.
pub(crate) const DIGEST_CHARACTERS: usize = 43;

const HASH_BYTES: usize = 32;
const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The digest's text. It takes a millisecond or more for 5,000 rounds, and grows with the square of the
/// password's length: callers must limit the length.
pub(crate) fn digest_text(
    password: &[u8],
    salt: &[u8],
    rounds: u32,
) -> Zeroizing<[u8; DIGEST_CHARACTERS]> {
    let mut mixed = Zeroizing::new(first_mix(password, salt));
    let password_sum = Zeroizing::new(sha256(&vec![password; password.len()]));
    let password_run = stretched(&password_sum, password.len());
    let salt_sum = sha256(&vec![salt; 16 + usize::from(mixed[0])]);
    let salt_run = stretched(&salt_sum, salt.len());
    let mut block = Zeroizing::new(Vec::with_capacity(
        HASH_BYTES + 2 * password_run.len() + salt_run.len(),
    ));
    for round in 0..rounds {
        let (head, tail): (&[u8], &[u8]) = match round % 2 {
            0 => (&*mixed, &password_run),
            _ => (&password_run, &*mixed),
        };
        block.clear();
        block.extend_from_slice(head);
        if round % 3 != 0 {
            block.extend_from_slice(&salt_run);
        }
        if round % 7 != 0 {
            block.extend_from_slice(&password_run);
        }
        block.extend_from_slice(tail);
        mixed.copy_from_slice(digest(&SHA256, &block).as_ref());
    }
    text_of(&mixed)
}

/// The hash of password and salt, mixed by the bits of the password's length.
fn first_mix(password: &[u8], salt: &[u8]) -> [u8; HASH_BYTES] {
    let other = Zeroizing::new(sha256(&[password, salt, password]));
    let other_run = stretched(&other, password.len());
    let mut parts: Vec<&[u8]> = vec![password, salt, &other_run];
    let mut bits = password.len();
    while bits > 0 {
        parts.push(if bits & 1 == 1 { &*other } else { password });
        bits >>= 1;
    }
    sha256(&parts)
}

/// `length` bytes: `hash` repeated.
fn stretched(hash: &[u8; HASH_BYTES], length: usize) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(hash.iter().copied().cycle().take(length).collect())
}

/// crypt's own base 64, with its own order of bytes.
fn text_of(hash: &[u8; HASH_BYTES]) -> Zeroizing<[u8; DIGEST_CHARACTERS]> {
    let mut text = Zeroizing::new([0; DIGEST_CHARACTERS]);
    let mut triple = (0, 10, 20);
    for four in text.chunks_mut(4).take(10) {
        let (a, b, c) = triple;
        put(four, u32::from_be_bytes([0, hash[a], hash[b], hash[c]]));
        triple = ((a + 21) % 30, (b + 21) % 30, (c + 21) % 30);
    }
    put(
        &mut text[40..],
        u32::from_be_bytes([0, 0, hash[31], hash[30]]),
    );
    text
}

/// Writes characters of six bits each, the lowest bits first.
fn put(characters: &mut [u8], mut bits: u32) {
    for character in characters {
        *character = ALPHABET[(bits & 63) as usize];
        bits >>= 6;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's own examples, where their salts are not cut.
    #[test]
    fn sha_crypt_digests_equal_those_of_the_specification() {
        let digest = digest_text(b"Hello world!", b"saltstring", 5_000);
        assert_eq!(&*digest, b"5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5");
        let digest = digest_text(b"Hello world!", b"saltstringsaltst", 10_000);
        assert_eq!(&*digest, b"3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA");
        let line =
            b"a very much longer text to encrypt.  This one even stretches over morethan one line.";
        let digest = digest_text(line, b"anotherlongsalts", 1_400);
        assert_eq!(&*digest, b"Rx.j8H.h8HjEDGomFU8bDkXm3XIUnzyxf12oP84Bnq1");
    }
}
