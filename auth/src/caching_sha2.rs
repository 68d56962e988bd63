//! caching_sha2_password: the stored hash, the fast path, and the client's answer to a scramble
//! (`sql/auth/sha2_password.cc`).

use std::fmt;

use zeroize::Zeroizing;

use crate::digest::{sha256, xor};
use crate::secret::{Password, is_same};
use crate::sha_crypt::{DIGEST_CHARACTERS, digest_text};

/// The longest password of the plugin, in bytes (`CACHING_SHA2_PASSWORD_MAX_PASSWORD_LENGTH`). It
/// limits what an unknown client can make the proxy compute.
pub(crate) const PASSWORD_BYTES_MAX: usize = 256;
/// Bytes of a client's answer to the scramble.
pub(crate) const ANSWER_BYTES: usize = 32;

const SALT_BYTES: usize = 20;
const PREFIX: &[u8] = b"$A$";

/// The stored hash: `$A$`, thousands of rounds as three hexadecimal digits, `$`, 20 bytes of salt
/// and 43 characters of crypt's digest.
#[derive(Clone, PartialEq, Eq)]
pub struct CachingSha2Hash {
    rounds: u32,
    salt: [u8; SALT_BYTES],
    digest: [u8; DIGEST_CHARACTERS],
}

impl CachingSha2Hash {
    /// Reads what `authentication_string` holds.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (thousands, text) = text.strip_prefix(PREFIX)?.split_first_chunk::<3>()?;
        let (salt, digest) = text.strip_prefix(b"$")?.split_first_chunk::<SALT_BYTES>()?;
        let thousands = std::str::from_utf8(thousands).ok()?;
        let rounds = u32::from_str_radix(thousands, 16)
            .ok()?
            .checked_mul(1_000)?;
        Some(Self {
            rounds: Some(rounds).filter(|rounds| *rounds > 0)?,
            salt: *salt,
            digest: digest.try_into().ok()?,
        })
    }

    /// The hash of `password`, with a salt of 20 random bytes. Takes milliseconds.
    pub fn of(password: &[u8], salt: [u8; SALT_BYTES], rounds: u32) -> Self {
        let salt = *crate::Scramble::of_random(salt).as_bytes();
        Self {
            rounds,
            salt,
            digest: *digest_text(password, &salt, rounds),
        }
    }

    /// A hash that no known password has, made of 63 random bytes.
    pub(crate) fn unknown(salt: [u8; SALT_BYTES], digest: [u8; DIGEST_CHARACTERS]) -> Self {
        Self {
            rounds: 5_000,
            salt,
            digest,
        }
    }

    /// Whether it is the hash of `password`. Takes milliseconds, for a right one and a wrong one.
    pub fn is_of(&self, password: &[u8]) -> bool {
        password.len() <= PASSWORD_BYTES_MAX
            && is_same(
                digest_text(password, &self.salt, self.rounds).as_slice(),
                &self.digest,
            )
    }

    pub(crate) fn fingerprint_bytes(&self) -> [&[u8]; 2] {
        [&self.salt, &self.digest]
    }
}

impl fmt::Debug for CachingSha2Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// `SHA256(SHA256(password))`: a server remembers it of a password that was right, so that the next
/// login needs only the scramble.
#[derive(Clone, PartialEq, Eq)]
pub struct FastEntry([u8; 32]);

impl FastEntry {
    /// The entry of `password`.
    pub fn of(password: &[u8]) -> Self {
        let stage1 = Zeroizing::new(sha256(&[password]));
        Self(sha256(&[&*stage1]))
    }

    /// Whether `answer` is the right answer to `scramble` for the password.
    pub fn is_answered(&self, scramble: &[u8], answer: &[u8]) -> bool {
        let Ok(answer) = <[u8; ANSWER_BYTES]>::try_from(answer) else {
            return false;
        };
        let stage1 = Zeroizing::new(xor(answer, &sha256(&[&self.0, scramble])));
        is_same(&sha256(&[&*stage1]), &self.0)
    }
}

impl fmt::Debug for FastEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The client's answer to `scramble`.
pub(crate) fn answer(scramble: &[u8], password: &Password) -> [u8; ANSWER_BYTES] {
    let stage1 = Zeroizing::new(sha256(&[password.expose()]));
    let pad = sha256(&[&sha256(&[&*stage1]), scramble]);
    xor(*stage1, &pad)
}

#[cfg(test)]
mod tests {
    use mysql_common::scramble::scramble_sha256;

    use super::*;

    const SCRAMBLE: &[u8] = b"abcdefghijklmnopqrst";

    fn bytes(hex: &str) -> Vec<u8> {
        let pairs = hex.as_bytes().chunks(2);
        let pairs = pairs.map(|pair| std::str::from_utf8(pair).unwrap());
        pairs
            .map(|pair| u8::from_str_radix(pair, 16).unwrap())
            .collect()
    }

    #[test]
    fn an_answer_equals_that_of_another_implementation_and_is_verified() {
        for password in [
            b"x".as_slice(),
            b"secret",
            "pässwörd".as_bytes(),
            &[b'a'; 300],
        ] {
            let ours = answer(SCRAMBLE, &Password::new(password));
            assert_eq!(Some(ours), scramble_sha256(SCRAMBLE, password));
            let entry = FastEntry::of(password);
            assert!(entry.is_answered(SCRAMBLE, &ours));
            assert!(!entry.is_answered(b"tsrqponmlkjihgfedcba", &ours));
            assert!(!entry.is_answered(SCRAMBLE, &ours[..31]));
            assert!(!FastEntry::of(b"another").is_answered(SCRAMBLE, &ours));
        }
    }

    /// `HEX(authentication_string)` of accounts made on MySQL 9.7 (10,000 rounds) with
    /// `IDENTIFIED WITH caching_sha2_password BY`, and of one made on MariaDB 11.8 (5,000 rounds).
    #[test]
    fn the_servers_own_hashes_are_known() {
        let long = "abcdefghijklmnopqrstuvwxyz0123456789-".repeat(3);
        for (password, stored) in [
            (
                "x",
                "244124303041246A4C7A321A512B4F1D61266A5C392A426F26734166553675776556546F6D6155625777492F2F4F4E5378346B38374936776636316869786E765A6956517241",
            ),
            (
                &long[..110],
                "24412430304124253C0D124718045C3B7D797060655D714563793A5043564B7566683636666973665646387A4A6A524849796C6357483631664E44756E415971587A7A594E30",
            ),
            (
                "pässwörd",
                "2441243030412406556239336774313F530E236376630C400E7264333672564666324530415648764C617241366849526247357546465277526E64475A455A6F4A4345534B41",
            ),
            (
                "secret",
                "24412430304124784613396A377B4B25752E5B613C57217B3427467330432F6136423337444C6344585247557477304B6432576553745748596946467355705531794A2F5930",
            ),
        ] {
            let hash = CachingSha2Hash::parse(&bytes(stored)).unwrap();
            assert!(hash.is_of(password.as_bytes()), "{password}");
            assert!(!hash.is_of(b"wrong"));
            assert!(!hash.is_of(b""));
        }
        let stored = b"$A$005$6U`~m'-h:xRA.'Ts?w30ME1jCujyU035ycW63y4kHwMGnpthGV4gRracJPEqMp9";
        let hash = CachingSha2Hash::parse(stored).unwrap();
        assert!(hash.is_of(b"a s3cret with spaces"));
    }

    #[test]
    fn malformed_hashes_are_refused() {
        let stored = b"$A$005$6U`~m'-h:xRA.'Ts?w30ME1jCujyU035ycW63y4kHwMGnpthGV4gRracJPEqMp9";
        for end in 0..stored.len() {
            assert_eq!(CachingSha2Hash::parse(&stored[..end]), None);
        }
        assert_eq!(
            CachingSha2Hash::parse(&[stored.as_slice(), b"x"].concat()),
            None
        );
        let without_rounds = [b"$A$000".as_slice(), &stored[6..]].concat();
        assert_eq!(CachingSha2Hash::parse(&without_rounds), None);
    }

    #[test]
    fn a_hash_made_here_is_known_again() {
        let hash = CachingSha2Hash::of(b"secret", [0; 20], 5_000);
        assert!(hash.is_of(b"secret"));
        assert!(!hash.is_of(&[b'x'; PASSWORD_BYTES_MAX + 1]));
    }
}
