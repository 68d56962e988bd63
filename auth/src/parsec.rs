//! The client's side of MariaDB's parsec: a key derived from the password and the account's salt signs
//! both sides' random bytes (`plugin/auth_parsec`).

use std::num::NonZeroU32;

use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA512};
use aws_lc_rs::signature::Ed25519KeyPair;
use system::Entropy;
use zeroize::Zeroizing;

/// The byte that stands for the key derivation PBKDF2.
const PBKDF2: u8 = b'P';
/// The iterations are 1024 times a power of two; the server allows exponents up to 3.
const EXPONENT_MAX: u8 = 3;
const ITERATIONS: u32 = 1024;
/// Random bytes of each side.
const NONCE_BYTES: usize = 32;

/// The answer to a salt packet: the proxy's own random bytes and the signature. `None` if no server
/// sends a packet like this.
pub(crate) fn answer(
    entropy: &Entropy,
    scramble: &[u8],
    salt_packet: &[u8],
    password: &[u8],
) -> Option<Vec<u8>> {
    let nonce = entropy.bytes().ok()?;
    answer_with(nonce, scramble, salt_packet, password)
}

fn answer_with(
    nonce: [u8; NONCE_BYTES],
    scramble: &[u8],
    salt_packet: &[u8],
    password: &[u8],
) -> Option<Vec<u8>> {
    let scramble = scramble.first_chunk::<NONCE_BYTES>()?;
    let [PBKDF2, exponent @ 0..=EXPONENT_MAX, salt @ ..] = salt_packet else {
        return None;
    };
    let iterations = NonZeroU32::new(ITERATIONS << exponent)?;
    let mut seed = Zeroizing::new([0; 32]);
    pbkdf2::derive(PBKDF2_HMAC_SHA512, iterations, salt, password, &mut *seed);
    let key = Ed25519KeyPair::from_seed_unchecked(&*seed).ok()?;
    let signature = key.sign(&[scramble.as_slice(), &nonce].concat());
    Some([nonce.as_slice(), signature.as_ref()].concat())
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD_NO_PAD;

    use super::*;

    fn entropy() -> Entropy {
        Entropy::seeded(1)
    }

    /// `authentication_string` of an account of MariaDB 11.8: derivation, salt and public key.
    #[test]
    fn the_server_would_verify_the_answer() {
        let stored = "P0:JAYxEWhjLZiFjI4CasU7yNHu:QU+IveJg6bTm3FRuNEnXEl/8jrqGnF9uM7jGh9arjxY";
        let (_, rest) = stored.split_once(':').unwrap();
        let (salt, public) = rest.split_once(':').unwrap();
        let salt = STANDARD_NO_PAD.decode(salt).unwrap();
        let packet = [b"P\0".as_slice(), &salt].concat();
        let scramble = [3; NONCE_BYTES];
        let answer = answer(&entropy(), &scramble, &packet, b"a s3cret with spaces").unwrap();
        let (nonce, signature) = answer.split_at(NONCE_BYTES);
        let message = [scramble.as_slice(), nonce].concat();
        let public = STANDARD_NO_PAD.decode(public).unwrap();
        let public = UnparsedPublicKey::new(&ED25519, public);
        assert!(public.verify(&message, signature).is_ok());
    }

    #[test]
    fn the_signature_equals_that_of_another_implementation() {
        let (scramble, salt) = ([3; NONCE_BYTES], b"salt of some length");
        let theirs =
            mysql_common::scramble::create_response_for_parsec(b"secret", &scramble, 2048, salt);
        let (nonce, _) = theirs.split_first_chunk::<NONCE_BYTES>().unwrap();
        let packet = [b"P\x01".as_slice(), salt].concat();
        let ours = answer_with(*nonce, &scramble, &packet, b"secret").unwrap();
        assert_eq!(ours, theirs);
    }

    #[test]
    fn malformed_salt_packets_are_not_answered() {
        for packet in [b"".as_slice(), b"P", b"X\0salt", b"P\x04salt", b"P\xffsalt"] {
            assert_eq!(
                answer(&entropy(), &[3; NONCE_BYTES], packet, b"secret"),
                None
            );
        }
        assert_eq!(answer(&entropy(), &[3; 20], b"P\0salt", b"secret"), None);
    }
}
