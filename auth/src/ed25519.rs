//! MariaDB's ed25519: the signature scheme of that name. But the private key is the hash of the password
//! itself, of any length; the scheme hashes a seed of 32 bytes (`plugin/auth_ed25519/ref10`).

use std::fmt;

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use curve25519_dalek::{EdwardsPoint, Scalar, scalar::clamp_integer};
use zeroize::Zeroizing;

use crate::digest::sha512;

/// Bytes of the client's answer.
pub(crate) const SIGNATURE_BYTES: usize = 64;

/// An account's public key, which grant tables hold as 43 characters of base 64.
#[derive(Clone, PartialEq, Eq)]
pub struct Ed25519Key([u8; 32]);

impl Ed25519Key {
    /// The key of a password.
    pub fn of(password: &[u8]) -> Self {
        Self(Secret::of(password).public)
    }

    /// Reads 43 characters of base 64.
    pub fn parse(text: &[u8]) -> Option<Self> {
        Some(Self(STANDARD_NO_PAD.decode(text).ok()?.try_into().ok()?))
    }

    /// Whether `answer` signs `nonce` with the private key.
    pub(crate) fn has_signed(&self, nonce: &[u8], answer: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0)
            .verify(nonce, answer)
            .is_ok()
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Ed25519Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The scheme's values that are derived from a password.
struct Secret {
    scalar: Zeroizing<Scalar>,
    prefix: Zeroizing<[u8; 32]>,
    public: [u8; 32],
}

impl Secret {
    fn of(password: &[u8]) -> Self {
        let hash = Zeroizing::new(sha512(&[password]));
        let (mut scalar, mut prefix) = ([0; 32], Zeroizing::new([0; 32]));
        let (low, high) = hash.split_at(32);
        scalar.copy_from_slice(low);
        prefix.copy_from_slice(high);
        let scalar = Zeroizing::new(Scalar::from_bytes_mod_order(clamp_integer(scalar)));
        let public = EdwardsPoint::mul_base(&scalar).compress().to_bytes();
        Self {
            scalar,
            prefix,
            public,
        }
    }
}

/// The client's answer to the server's 32 bytes: their signature (RFC 8032, 5.1.6).
pub(crate) fn answer(nonce: &[u8], password: &[u8]) -> [u8; SIGNATURE_BYTES] {
    let secret = Secret::of(password);
    let wide = |parts: &[&[u8]]| Scalar::from_bytes_mod_order_wide(&sha512(parts));
    let blind = Zeroizing::new(wide(&[&*secret.prefix, nonce]));
    let point = EdwardsPoint::mul_base(&blind).compress().to_bytes();
    let proof = wide(&[&point, &secret.public, nonce]) * *secret.scalar + *blind;
    let mut signature = [0; SIGNATURE_BYTES];
    signature[..32].copy_from_slice(&point);
    signature[32..].copy_from_slice(proof.as_bytes());
    signature
}

#[cfg(test)]
mod tests {
    use mysql_common::scramble::create_response_for_ed25519;

    use super::*;

    #[test]
    fn an_answer_equals_that_of_another_implementation_and_verifies() {
        let nonce = [9; 32];
        for password in [
            b"".as_slice(),
            b"x",
            b"secret",
            "pässwörd".as_bytes(),
            &[b'a'; 300],
        ] {
            let ours = answer(&nonce, password);
            assert_eq!(ours, create_response_for_ed25519(password, &nonce));
            let key = Ed25519Key::of(password);
            assert!(key.has_signed(&nonce, &ours));
            assert!(!key.has_signed(&[8; 32], &ours));
            assert!(!key.has_signed(&nonce, &ours[..63]));
            assert!(!Ed25519Key::of(b"another").has_signed(&nonce, &ours));
        }
    }

    /// `authentication_string` of accounts made on MariaDB 10.11 with
    /// `IDENTIFIED VIA ed25519 USING PASSWORD(…)`; the empty password's on 11.8.
    #[test]
    fn the_servers_own_keys_are_known() {
        for (password, stored) in [
            ("", "4LH+dBF+G5W2CKTyId8xR3SyDqZoQjUNUVNxx8aWbG4"),
            ("secret", "ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY"),
            (
                "a s3cret with spaces",
                "T9LWm4UVPJyvQCr8JrJTIFp6GA0fQavX1oFdR4U9JoI",
            ),
            (
                "abcdefghijklmnopqrstuvwxyz0123456789-abcdefghijklmnopqrstuvwxyz0123456789",
                "rFSt8Oy4Xpb2SM/2OdYdnTgVGpB6pyju1jg05QNvl/A",
            ),
        ] {
            let parsed = Ed25519Key::parse(stored.as_bytes());
            assert_eq!(parsed, Some(Ed25519Key::of(password.as_bytes())));
        }
        assert_eq!(Ed25519Key::parse(b""), None);
        assert_eq!(Ed25519Key::parse(b"invalid"), None);
    }
}
