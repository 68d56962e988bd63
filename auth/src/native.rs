//! mysql_native_password: `SHA1(password) xor SHA1(scramble ‖ SHA1(SHA1(password)))`
//! (`sql/auth/password.cc`: `scramble`, `check_scramble`).

use std::fmt;

use crate::digest::{sha1, xor};
use crate::secret::{NativeStage1, is_same};

/// `SHA1(SHA1(password))`, which grant tables show as `*` and 40 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct NativeHash([u8; 20]);

impl NativeHash {
    /// The hash of a password.
    pub fn of(password: &[u8]) -> Self {
        Self::of_stage1(&stage1(password))
    }

    pub(crate) fn new(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// Reads `*` and 40 hexadecimal digits.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let digits = text.strip_prefix(b"*").filter(|it| it.len() == 40)?;
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).ok()?;
            *byte = u8::from_str_radix(pair, 16).ok()?;
        }
        digits
            .iter()
            .all(u8::is_ascii_hexdigit)
            .then_some(Self(bytes))
    }

    fn of_stage1(stage1: &NativeStage1) -> Self {
        Self(sha1(&[stage1.expose()]))
    }

    /// The stage-1 hash that a right answer to `scramble` reveals; `None` for a wrong answer.
    pub(crate) fn reveal(&self, scramble: &[u8], answer: &[u8; 20]) -> Option<NativeStage1> {
        let stage1 = NativeStage1::new(xor(*answer, &sha1(&[scramble, &self.0])));
        is_same(&Self::of_stage1(&stage1).0, &self.0).then_some(stage1)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for NativeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// `SHA1(password)`.
pub(crate) fn stage1(password: &[u8]) -> NativeStage1 {
    NativeStage1::new(sha1(&[password]))
}

/// The client's answer to `scramble`.
pub(crate) fn answer(scramble: &[u8], stage1: &NativeStage1) -> [u8; 20] {
    let hash = NativeHash::of_stage1(stage1);
    xor(sha1(&[scramble, &hash.0]), stage1.expose())
}

#[cfg(test)]
mod tests {
    use mysql_common::scramble::scramble_native;

    use super::*;

    const SCRAMBLE: &[u8] = b"abcdefghijklmnopqrst";

    #[test]
    fn an_answer_equals_that_of_another_implementation() {
        for password in [
            b"x".as_slice(),
            b"secret",
            "pässwörd".as_bytes(),
            &[b'a'; 300],
        ] {
            let ours = answer(SCRAMBLE, &stage1(password));
            assert_eq!(Some(ours), scramble_native(SCRAMBLE, password));
        }
    }

    #[test]
    fn a_hash_equals_the_one_that_servers_store() {
        for (password, stored) in [
            ("secret", "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7"),
            (
                "a s3cret with spaces",
                "*188764E99D2C374D6EB24B1D617F8997EA25DCBB",
            ),
        ] {
            let parsed = NativeHash::parse(stored.as_bytes());
            assert_eq!(parsed, Some(NativeHash::of(password.as_bytes())));
        }
        for stored in [
            "",
            "invalid",
            "*14E6",
            "*+4E65567ABDB5135D0CFD9A70B3032C179A49EE7",
        ] {
            assert_eq!(NativeHash::parse(stored.as_bytes()), None, "{stored}");
        }
    }

    #[test]
    fn a_correct_answer_reveals_the_secret_for_other_scrambles() {
        let hash = NativeHash::of(b"secret");
        let first = scramble_native(SCRAMBLE, b"secret").unwrap();
        let revealed = hash.reveal(SCRAMBLE, &first).unwrap();
        let other = b"tsrqponmlkjihgfedcba";
        let second = answer(other, &revealed);
        assert_eq!(Some(second), scramble_native(other, b"secret"));
        assert_eq!(hash.reveal(other, &first), None);
    }
}
