//! Operations on eight bytes at once, for short words without a loop over their bytes.
//!
//! Eight bytes are a `u64`, the first byte lowest. A sum of two bytes below 0x80 carries into no other.

use crate::bytes::Letters;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x80 * ONES;

/// Returns the eight bytes from `at` on, with zeros after the end.
#[inline]
pub(crate) fn eight_at(text: &[u8], at: usize) -> u64 {
    match text.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => last_ones(text, at),
    }
}

#[cold]
fn last_ones(text: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(text.get(at..).unwrap_or_default()) {
        *to = *from;
    }
    u64::from_le_bytes(bytes)
}

/// Returns the first `count` of eight bytes, with zeros after them.
#[inline]
pub(crate) const fn first_of(eight: u64, count: usize) -> u64 {
    if count >= 8 {
        eight
    } else {
        eight & ((1 << (8 * count)) - 1)
    }
}

/// Returns how many of eight bytes, from the first on, may be inside a word.
#[inline]
pub(crate) fn word_bytes(mut eight: u64, letters: &Letters) -> usize {
    let mut count = 0;
    // The shift brings in zeros, and a word contains no zero.
    while letters.is_word(eight as u8) {
        eight >>= 8;
        count += 1;
    }
    count
}

/// Returns the first eight bytes, if there are eight.
#[inline]
pub(crate) fn eight_of(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|eight| u64::from_le_bytes(*eight))
}

/// Returns eight bytes with ASCII letters in upper case.
#[inline]
pub(crate) const fn upper_case(eight: u64) -> u64 {
    eight ^ (between(eight, b'a', b'z') >> 2)
}

/// Returns the high bit of each byte that is in `first..=last`, which must be ASCII; no other bit is set.
#[inline]
pub(crate) const fn between(eight: u64, first: u8, last: u8) -> u64 {
    let low = eight & !HIGH;
    let inside = (low + (0x80 - first) as u64 * ONES) & !(low + (0x7f - last) as u64 * ONES);
    inside & !eight & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Charset, Server};

    #[test]
    fn every_byte_is_found_at_each_position() {
        let letters = Charset::LATIN1.letters(Server::Unknown);
        for byte in 0..=255u8 {
            for at in 0..8 {
                let mut bytes = *b"aZ09_$zA";
                bytes[at] = byte;
                let eight = eight_at(&bytes, 0);
                assert_eq!(
                    word_bytes(eight, letters),
                    if letters.is_word(byte) { 8 } else { at }
                );
                let upper = upper_case(eight).to_le_bytes();
                assert_eq!(upper, bytes.map(|byte| byte.to_ascii_uppercase()));
            }
        }
    }

    #[test]
    fn bytes_after_the_end_of_a_text_read_as_zeros() {
        assert_eq!(eight_at(b"xab", 1), u64::from(b'a') | u64::from(b'b') << 8);
        assert_eq!((eight_at(b"", 0), eight_at(b"a", 2)), (0, 0));
        assert_eq!(eight_at(b"x12345678", 1), u64::from_le_bytes(*b"12345678"));
        assert_eq!(first_of(u64::MAX, 0), 0);
        assert_eq!(first_of(u64::MAX, 3), 0xff_ffff);
        assert_eq!(first_of(u64::MAX, 9), u64::MAX);
    }
}
