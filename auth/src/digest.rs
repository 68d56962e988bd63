//! SHA-1, SHA-256 and SHA-512 over several parts, as arrays.

use aws_lc_rs::digest::{Algorithm, Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA512};

pub(crate) fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    hash(&SHA1_FOR_LEGACY_USE_ONLY, parts)
}

pub(crate) fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    hash(&SHA256, parts)
}

pub(crate) fn sha512(parts: &[&[u8]]) -> [u8; 64] {
    hash(&SHA512, parts)
}

fn hash<const N: usize>(algorithm: &'static Algorithm, parts: &[&[u8]]) -> [u8; N] {
    let mut context = Context::new(algorithm);
    for part in parts {
        context.update(part);
    }
    let digest = context.finish();
    digest
        .as_ref()
        .try_into()
        .expect("each function above names its algorithm's length")
}

/// `left` xor `right`, byte by byte.
pub(crate) fn xor<const N: usize>(mut left: [u8; N], right: &[u8; N]) -> [u8; N] {
    for (byte, pad) in left.iter_mut().zip(right) {
        *byte ^= pad;
    }
    left
}
