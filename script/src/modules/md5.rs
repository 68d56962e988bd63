//! MD5 (RFC 1321), for `glib2.md5`. It is not used for secrets.

use std::fmt::Write as _;

/// The sines of 1, 2, 3 … as 32 bits of fraction; the RFC's table T.
fn constant(step: usize) -> u32 {
    (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32
}

const ROTATIONS: [[u32; 4]; 4] = [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
];

/// The digest as 32 hexadecimal digits.
pub(super) fn md5(text: &[u8]) -> String {
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let mut padded = text[text.len() / 64 * 64..].to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() - (text.len() % 64) <= 8 {
        padded.resize(padded.len() + 64, 0);
    }
    let bits = (text.len() as u64).wrapping_mul(8).to_le_bytes();
    let end = padded.len() - 8;
    padded[end..].copy_from_slice(&bits);
    let whole = text.chunks_exact(64);
    for block in whole.chain(padded.chunks_exact(64)) {
        add(&mut state, block);
    }
    let mut digits = String::with_capacity(32);
    for byte in state.into_iter().flat_map(u32::to_le_bytes) {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

fn add(state: &mut [u32; 4], block: &[u8]) {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    let [mut a, mut b, mut c, mut d] = *state;
    for step in 0..64 {
        let (mixed, word) = match step / 16 {
            0 => (b & c | !b & d, step),
            1 => (d & b | !d & c, 5 * step + 1),
            2 => (b ^ c ^ d, 3 * step + 5),
            _ => (c ^ (b | !d), 7 * step),
        };
        let sum = a
            .wrapping_add(mixed)
            .wrapping_add(constant(step))
            .wrapping_add(words[word % 16]);
        let rotation = ROTATIONS[step / 16][step % 4];
        (a, d, c, b) = (d, c, b, b.wrapping_add(sum.rotate_left(rotation)));
    }
    for (sum, part) in state.iter_mut().zip([a, b, c, d]) {
        *sum = sum.wrapping_add(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn md5_digests_equal_those_of_the_rfc() {
        for (text, digest) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a",
            ),
        ] {
            assert_eq!(md5(text.as_bytes()), digest, "{text}");
        }
    }

    /// From `md5sum`: the lengths at which the padding needs another block.
    #[test]
    fn md5_pads_texts_around_a_block_boundary() {
        for (length, digest) in [
            (55, "ef1772b6dff9a122358552954ad0df65"),
            (56, "3b0c8ac703f828b04c6c197006d17218"),
            (63, "b06521f39153d618550606be297466d5"),
            (64, "014842d480b571495a4a0363793f7367"),
        ] {
            assert_eq!(md5(&vec![b'a'; length]), digest, "{length}");
        }
    }
}
