//! What the authentication plugins want to hear, for an account whose password is known.

use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use mysql_common::scramble::{
    create_response_for_ed25519, create_response_for_parsec, scramble_native, scramble_sha256,
};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject;
use wire::auth::{CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD, SHA256_PASSWORD};
use wire::greeting::SCRAMBLE_BYTES;

use crate::connection::Channel;

/// caching_sha2_password, server: the scramble was right and known.
const FAST_AUTHENTICATION_DONE: u8 = 0x03;
/// caching_sha2_password, server: send the password itself.
const FULL_AUTHENTICATION: u8 = 0x04;
/// caching_sha2_password, client: send the public key.
const REQUEST_KEY_CACHING_SHA2: u8 = 0x02;
/// sha256_password, client: send the public key.
const REQUEST_KEY_SHA256: u8 = 0x01;
/// parsec, server: the key derivation that its salt is for, PBKDF2.
const PARSEC_PBKDF2: u8 = b'P';
/// parsec: the iterations are 1024 times a power of two; the server allows exponents up to 3.
const PARSEC_EXPONENT_MAX: u8 = 3;
const PARSEC_ITERATIONS: u32 = 1024;

/// A plugin's question.
///
/// Each answer that cannot be given is empty: the server then refuses in its own words, and
/// counts no broken handshake against this host.
#[derive(Debug, Clone)]
pub(crate) struct Challenge {
    /// The plugin's name.
    pub plugin: Vec<u8>,
    /// What it sent along.
    pub scramble: Vec<u8>,
}

impl Challenge {
    /// The challenge of an auth switch. The plugins of MySQL end their scramble with a NUL; those
    /// of MariaDB send 32 bytes, of which the last may be zero as any other.
    pub(crate) fn switched(plugin: &[u8], data: &[u8]) -> Challenge {
        let scramble = match data {
            [scramble @ .., 0] if scramble.len() == SCRAMBLE_BYTES => scramble,
            data => data,
        };
        Challenge {
            plugin: plugin.to_vec(),
            scramble: scramble.to_vec(),
        }
    }

    /// The plugin's first answer.
    pub(crate) fn answer(&self, password: &[u8], channel: Channel) -> Vec<u8> {
        match &*self.plugin {
            MYSQL_NATIVE_PASSWORD => bytes_of(scramble_native(&self.scramble, password)),
            CACHING_SHA2_PASSWORD | SHA256_PASSWORD if password.is_empty() => vec![0],
            CACHING_SHA2_PASSWORD => bytes_of(scramble_sha256(&self.scramble, password)),
            // Unlike caching_sha2_password it trusts no Unix socket (`my_vio_is_encrypted`).
            SHA256_PASSWORD if channel == Channel::Tls => in_clear(password),
            SHA256_PASSWORD => vec![REQUEST_KEY_SHA256],
            b"mysql_clear_password" if channel != Channel::Plain => in_clear(password),
            b"client_ed25519" => create_response_for_ed25519(password, &self.scramble).to_vec(),
            _ => Vec::new(),
        }
    }

    /// The answer to what the plugin says next, when it wants one.
    pub(crate) fn answer_to(
        &self,
        data: &[u8],
        password: &[u8],
        channel: Channel,
    ) -> Option<Vec<u8>> {
        match (&*self.plugin, data) {
            (CACHING_SHA2_PASSWORD, [FAST_AUTHENTICATION_DONE]) => None,
            (CACHING_SHA2_PASSWORD, [FULL_AUTHENTICATION]) if channel != Channel::Plain => {
                Some(in_clear(password))
            }
            (CACHING_SHA2_PASSWORD, [FULL_AUTHENTICATION]) => Some(vec![REQUEST_KEY_CACHING_SHA2]),
            (CACHING_SHA2_PASSWORD | SHA256_PASSWORD, key) => {
                Some(encrypted(password, &self.scramble, key).unwrap_or_default())
            }
            (b"parsec", salt) => Some(self.answer_to_salt(salt, password).unwrap_or_default()),
            _ => Some(Vec::new()),
        }
    }

    /// MariaDB's parsec: key derivation, exponent of its iterations, salt.
    fn answer_to_salt(&self, salt: &[u8], password: &[u8]) -> Option<Vec<u8>> {
        let scramble = self.scramble.first_chunk::<32>()?;
        let [PARSEC_PBKDF2, exponent @ 0..=PARSEC_EXPONENT_MAX, salt @ ..] = salt else {
            return None;
        };
        let iterations = PARSEC_ITERATIONS << exponent;
        Some(create_response_for_parsec(password, scramble, iterations, salt).to_vec())
    }
}

fn bytes_of<const N: usize>(scrambled: Option<[u8; N]>) -> Vec<u8> {
    scrambled.map(Vec::from).unwrap_or_default()
}

fn in_clear(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}

/// RSA-OAEP (SHA-1) over the password, xor'ed with the scramble, as `sha2_password.cc` has it.
fn encrypted(password: &[u8], scramble: &[u8], key_pem: &[u8]) -> Option<Vec<u8>> {
    let der = SubjectPublicKeyInfoDer::from_pem_slice(key_pem).ok()?;
    let key = PublicEncryptingKey::from_der(&der).ok()?;
    let key = OaepPublicEncryptingKey::new(key).ok()?;
    let clear: Vec<u8> = in_clear(password)
        .iter()
        .zip(scramble.iter().cycle())
        .map(|(byte, pad)| byte ^ pad)
        .collect();
    let mut buffer = vec![0; key.ciphertext_size()];
    let encrypted = key.encrypt(&OAEP_SHA1_MGF1SHA1, &clear, &mut buffer, None);
    encrypted.ok().map(|bytes| bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge(plugin: &[u8]) -> Challenge {
        Challenge {
            plugin: plugin.to_vec(),
            scramble: (1..=32).collect(),
        }
    }

    #[test]
    fn a_password_never_passes_in_clear_over_an_insecure_connection() {
        let secret: &[u8] = b"secret";
        let shows = |bytes: &[u8]| bytes.windows(secret.len()).any(|window| window == secret);
        for plugin in [
            b"mysql_native_password".as_slice(),
            b"caching_sha2_password",
            b"sha256_password",
            b"mysql_clear_password",
            b"client_ed25519",
            b"parsec",
            b"dialog",
        ] {
            let challenge = challenge(plugin);
            assert!(!shows(&challenge.answer(secret, Channel::Plain)));
            for data in [b"\x04".as_slice(), b"P\0salt", b"not a key", b"Password: "] {
                let answer = challenge.answer_to(data, secret, Channel::Plain);
                assert!(!shows(&answer.unwrap_or_default()));
            }
        }
    }

    #[test]
    fn full_authentication_sends_the_password_when_nobody_can_listen() {
        let challenge = challenge(b"caching_sha2_password");
        let answer = challenge.answer_to(&[FULL_AUTHENTICATION], b"secret", Channel::Unix);
        assert_eq!(answer.unwrap(), b"secret\0");
        let answer = challenge.answer_to(&[FULL_AUTHENTICATION], b"secret", Channel::Plain);
        assert_eq!(answer.unwrap(), [REQUEST_KEY_CACHING_SHA2]);
    }

    #[test]
    fn sha256_password_sends_the_password_over_tls_only() {
        let challenge = challenge(b"sha256_password");
        assert_eq!(challenge.answer(b"secret", Channel::Tls), b"secret\0");
        for channel in [Channel::Plain, Channel::Unix] {
            assert_eq!(challenge.answer(b"secret", channel), [REQUEST_KEY_SHA256]);
        }
    }

    #[test]
    fn a_scramble_loses_its_closing_nul_but_not_a_last_byte_that_is_zero() {
        let scramble =
            Challenge::switched(b"mysql_native_password", b"abcdefghijklmnopqrst\0").scramble;
        assert_eq!(scramble, b"abcdefghijklmnopqrst");
        assert_eq!(Challenge::switched(b"parsec", &[0; 32]).scramble, [0; 32]);
    }

    #[test]
    fn rubbish_for_a_key_or_a_salt_is_answered_with_nothing() {
        for (plugin, data) in [
            (b"caching_sha2_password".as_slice(), b"no key".as_slice()),
            (b"parsec", b"X\0salt"),
            (b"parsec", b"P\xffsalt"),
            (b"parsec", b""),
        ] {
            let answer = challenge(plugin).answer_to(data, b"secret", Channel::Plain);
            assert_eq!(answer.unwrap(), b"");
        }
    }
}
