//! The RSA exchange with which `caching_sha2_password` and `sha256_password` send a password over a
//! connection that attackers may listen to.
//!
//! Over a private connection (TLS, Unix socket) the plugin sends the password and its NUL in clear. Over
//! any other connection it sends the same bytes, xor'ed with the scramble, encrypted with RSA-OAEP (SHA-1)
//! for a public key that the receiver sends in PEM (`sha2_password.cc`: `encrypt_RSA_public_key`,
//! `decrypt_RSA_private_key`).

use std::fmt;
use std::sync::OnceLock;

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey,
    PrivateDecryptingKey, PublicEncryptingKey,
};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject;
use zeroize::Zeroizing;

/// Bytes of a password that is encrypted for the proxy's key, which has the size of the servers' keys.
pub const CIPHERTEXT_BYTES: usize = 256;

/// Why the exchange failed; the text completes "key exchange: …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyExchangeError {
    /// The backend has sent no valid key.
    #[error("the backend's public key is not a PEM public key")]
    BackendKey,
    /// The password does not fit the backend's key.
    #[error("the password cannot be encrypted for the backend (longer than its key allows?)")]
    Encrypt,
    /// The client's password is not encrypted for the proxy's key.
    #[error(
        "the client's password is not encrypted for the proxy's key (it may hold the backend's public key; let it ask for the key, or use TLS)"
    )]
    Decrypt,
    /// The system has no randomness, or no memory.
    #[error("no RSA key could be made")]
    OwnKey,
}

/// The proxy's own key pair, made when first needed and kept in memory only.
#[derive(Default)]
pub struct OwnKey {
    pair: OnceLock<Option<KeyPair>>,
}

impl fmt::Debug for OwnKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

struct KeyPair {
    private: OaepPrivateDecryptingKey,
    public_pem: Vec<u8>,
}

impl OwnKey {
    /// The public half, as a server would send it. Makes the key if it is not made yet, which takes
    /// some tenths of a second.
    ///
    /// # Errors
    /// [`KeyExchangeError::OwnKey`]
    pub fn public_pem(&self) -> Result<&[u8], KeyExchangeError> {
        self.pair().map(|pair| pair.public_pem.as_slice())
    }

    /// The password, with its NUL, from the client's [`CIPHERTEXT_BYTES`]. Takes about a millisecond.
    ///
    /// # Errors
    /// [`KeyExchangeError::Decrypt`] for anything else.
    pub fn decrypt(
        &self,
        encrypted: &[u8],
        scramble: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, KeyExchangeError> {
        let private = &self.pair()?.private;
        let mut buffer = Zeroizing::new(vec![0; private.min_output_size()]);
        let clear = private
            .decrypt(&OAEP_SHA1_MGF1SHA1, encrypted, &mut buffer, None)
            .map_err(|_| KeyExchangeError::Decrypt)?;
        Ok(xor(clear, scramble))
    }

    fn pair(&self) -> Result<&KeyPair, KeyExchangeError> {
        self.pair
            .get_or_init(generate)
            .as_ref()
            .ok_or(KeyExchangeError::OwnKey)
    }
}

/// Makes the key. It takes some tenths of a second, once per process.
fn generate() -> Option<KeyPair> {
    let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).ok()?;
    let der: PublicKeyX509Der<'_> = private.public_key().as_der().ok()?;
    let public_pem = pem(der.as_ref());
    Some(KeyPair {
        private: OaepPrivateDecryptingKey::new(private).ok()?,
        public_pem,
    })
}

/// Whether a PEM text is a public key.
///
/// # Errors
/// [`KeyExchangeError::BackendKey`]
pub fn check(pem: &[u8]) -> Result<(), KeyExchangeError> {
    public_key(pem).map(drop)
}

fn public_key(pem: &[u8]) -> Result<OaepPublicEncryptingKey, KeyExchangeError> {
    const FAULTY: KeyExchangeError = KeyExchangeError::BackendKey;
    let der = SubjectPublicKeyInfoDer::from_pem_slice(pem).map_err(|_| FAULTY)?;
    let key = PublicEncryptingKey::from_der(&der).map_err(|_| FAULTY)?;
    OaepPublicEncryptingKey::new(key).map_err(|_| FAULTY)
}

/// Encrypts `password` (with its NUL) for the backend's public key.
///
/// # Errors
/// [`KeyExchangeError::BackendKey`], [`KeyExchangeError::Encrypt`]
pub fn encrypt(
    password: &[u8],
    scramble: &[u8],
    backend_pem: &[u8],
) -> Result<Vec<u8>, KeyExchangeError> {
    let key = public_key(backend_pem)?;
    let mut buffer = vec![0; key.ciphertext_size()];
    key.encrypt(
        &OAEP_SHA1_MGF1SHA1,
        &xor(password, scramble),
        &mut buffer,
        None,
    )
    .map(|encrypted| encrypted.to_vec())
    .map_err(|_| KeyExchangeError::Encrypt)
}

fn xor(bytes: &[u8], scramble: &[u8]) -> Zeroizing<Vec<u8>> {
    let xored = bytes
        .iter()
        .zip(scramble.iter().cycle())
        .map(|(byte, pad)| byte ^ pad);
    Zeroizing::new(xored.collect())
}

/// PEM text as OpenSSL writes it: lines of 64 characters.
fn pem(der: &[u8]) -> Vec<u8> {
    let mut text = b"-----BEGIN PUBLIC KEY-----\n".to_vec();
    for line in base64(der).as_bytes().chunks(64) {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text.extend_from_slice(b"-----END PUBLIC KEY-----\n");
    text
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_survives_the_way_through_the_key() {
        let own = OwnKey::default();
        let scramble = b"abcdefghijklmnopqrst";
        let encrypted = encrypt(b"secret\0", scramble, own.public_pem().unwrap()).unwrap();
        assert_eq!(*own.decrypt(&encrypted, scramble).unwrap(), b"secret\0");
        assert_eq!(encrypted.len(), CIPHERTEXT_BYTES);
        assert_ne!(
            *own.decrypt(&encrypted, b"another scramble 20b").unwrap(),
            b"secret\0"
        );
    }

    #[test]
    fn invalid_keys_and_ciphertexts_give_distinct_errors() {
        let own = OwnKey::default();
        assert_eq!(
            encrypt(b"x", b"y", b"no key"),
            Err(KeyExchangeError::BackendKey)
        );
        assert_eq!(
            own.decrypt(b"too short", b"y").err(),
            Some(KeyExchangeError::Decrypt)
        );
        let long = vec![b'x'; 4096];
        assert_eq!(
            encrypt(&long, b"y", own.public_pem().unwrap()),
            Err(KeyExchangeError::Encrypt)
        );
    }
}
