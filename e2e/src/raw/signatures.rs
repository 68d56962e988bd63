//! The signatures of MariaDB's plugins: ed25519, whose private key is the password itself, and parsec, whose
//! private key is derived from it.

use std::num::NonZeroU32;

use aws_lc_rs::digest::{SHA512, digest};
use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA512};
use aws_lc_rs::signature::Ed25519KeyPair;
use curve25519_dalek::scalar::clamp_integer;
use curve25519_dalek::{EdwardsPoint, Scalar};

/// The answer to the 32 bytes of `client_ed25519`.
pub(super) fn ed25519(password: &str, nonce: &[u8]) -> Vec<u8> {
    let hash = |parts: &[&[u8]]| -> [u8; 64] {
        let hash = digest(&SHA512, &parts.concat());
        hash.as_ref().try_into().expect("64 bytes")
    };
    let secret = hash(&[password.as_bytes()]);
    let (low, prefix) = secret.split_at(32);
    let low = low.try_into().expect("32 bytes");
    let scalar = Scalar::from_bytes_mod_order(clamp_integer(low));
    let public = EdwardsPoint::mul_base(&scalar).compress();
    let blind = Scalar::from_bytes_mod_order_wide(&hash(&[prefix, nonce]));
    let point = EdwardsPoint::mul_base(&blind).compress();
    let challenge = hash(&[point.as_bytes(), public.as_bytes(), nonce]);
    let proof = Scalar::from_bytes_mod_order_wide(&challenge) * scalar + blind;
    [*point.as_bytes(), proof.to_bytes()].concat()
}

/// The answer to the salt that `parsec` sends behind its own 32 bytes.
pub(super) fn parsec(password: &str, nonce: &[u8], salt: &[u8]) -> Option<Vec<u8>> {
    let [b'P', exponent, salt @ ..] = salt else {
        return None;
    };
    let rounds = NonZeroU32::new(1024 << u32::from(*exponent))?;
    let mut seed = [0; 32];
    pbkdf2::derive(
        PBKDF2_HMAC_SHA512,
        rounds,
        salt,
        password.as_bytes(),
        &mut seed,
    );
    let key = Ed25519KeyPair::from_seed_unchecked(&seed).ok()?;
    let own = [7; 32];
    let signature = key.sign(&[nonce, &own].concat());
    Some([&own, signature.as_ref()].concat())
}
