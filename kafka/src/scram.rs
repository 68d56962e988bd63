//! SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677): proves the password without sending it, and checks that
//! the broker knows it, too.

use std::num::NonZeroU32;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::{digest, hmac, pbkdf2};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use system::Entropy;
use zeroize::Zeroizing;

/// The minimum number of rounds, from the RFC.
const ROUNDS_MIN: u32 = 4096;
/// The maximum number of rounds. More would keep the processor busy for seconds. Kafka's own limit is 16,384.
const ROUNDS_MAX: u32 = 1 << 20;

/// The header "n,," in base64: no channel binding.
const NO_BINDING: &str = "biws";

/// The reason why the exchange fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScramError {
    /// The operating system provides no random numbers.
    #[error("the system has no random numbers")]
    Random,
    /// A message of the broker is invalid.
    #[error("the broker's message of the login has no {0}")]
    Message(&'static str),
    /// The broker asks for too few or too many rounds.
    #[error(
        "the broker asks for {0} rounds of the password's hash; {ROUNDS_MIN} to {ROUNDS_MAX} are possible"
    )]
    Rounds(u32),
    /// The broker's proof is wrong.
    #[error("the broker does not prove that it knows the user's password")]
    Proof,
}

/// The hash of the mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScramHash {
    Sha256,
    Sha512,
}

impl ScramHash {
    fn digest(self) -> &'static digest::Algorithm {
        match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha512 => &digest::SHA512,
        }
    }

    fn hmac(self) -> hmac::Algorithm {
        match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha512 => hmac::HMAC_SHA512,
        }
    }

    fn pbkdf2(self) -> pbkdf2::Algorithm {
        match self {
            Self::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Self::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        }
    }
}

/// The client's side of an exchange.
pub struct Scram<'a> {
    hash: ScramHash,
    password: &'a str,
    /// The first message, without its header.
    first: String,
    nonce: String,
}

/// The proof that the broker must send in its last message.
pub struct ExpectedProof(Vec<u8>);

impl<'a> Scram<'a> {
    /// # Errors
    /// The operating system provides no random numbers.
    pub fn new(
        hash: ScramHash,
        user: &str,
        password: &'a str,
        entropy: &Entropy,
    ) -> Result<Self, ScramError> {
        let nonce = entropy.bytes::<32>().map_err(|_| ScramError::Random)?;
        Ok(Self::with_nonce(
            hash,
            user,
            password,
            STANDARD.encode(nonce),
        ))
    }

    fn with_nonce(hash: ScramHash, user: &str, password: &'a str, nonce: String) -> Self {
        let user = user.replace('=', "=3D").replace(',', "=2C");
        Self {
            hash,
            password,
            first: format!("n={user},r={nonce}"),
            nonce,
        }
    }

    /// Returns the client's first message.
    pub fn first(&self) -> String {
        format!("n,,{}", self.first)
    }

    /// Returns the client's answer to the broker's first message, and the proof that the broker must send then.
    ///
    /// # Errors
    /// The message is invalid, or asks for too few or too many rounds.
    pub fn answer(&self, message: &[u8]) -> Result<(String, ExpectedProof), ScramError> {
        let message = std::str::from_utf8(message).map_err(|_| ScramError::Message("text"))?;
        let nonce = field(message, "r=")?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(ScramError::Message("nonce that continues the client's"));
        }
        let salt = STANDARD.decode(field(message, "s=")?);
        let salt = salt.map_err(|_| ScramError::Message("salt"))?;
        let rounds: u32 = field(message, "i=")?
            .parse()
            .map_err(|_| ScramError::Message("number of rounds"))?;
        let possible =
            NonZeroU32::new(rounds).filter(|it| (ROUNDS_MIN..=ROUNDS_MAX).contains(&it.get()));
        let rounds = possible.ok_or(ScramError::Rounds(rounds))?;

        let mut salted = Zeroizing::new(vec![0; self.hash.digest().output_len()]);
        let algorithm = self.hash.pbkdf2();
        pbkdf2::derive(
            algorithm,
            rounds,
            &salt,
            self.password.as_bytes(),
            &mut salted,
        );
        let key = self.mac(&salted, b"Client Key");
        let without_proof = format!("c={NO_BINDING},r={nonce}");
        let signed = format!("{},{message},{without_proof}", self.first);
        let stored = digest::digest(self.hash.digest(), key.as_ref());
        let signature = self.mac(stored.as_ref(), signed.as_bytes());
        let pairs = key.as_ref().iter().zip(signature.as_ref());
        let proof: Vec<u8> = pairs.map(|(key, signature)| key ^ signature).collect();
        let of_broker = self.mac(&salted, b"Server Key");
        let expected = self.mac(of_broker.as_ref(), signed.as_bytes());
        Ok((
            format!("{without_proof},p={}", STANDARD.encode(proof)),
            ExpectedProof(expected.as_ref().to_vec()),
        ))
    }

    fn mac(&self, key: &[u8], bytes: &[u8]) -> hmac::Tag {
        hmac::sign(&hmac::Key::new(self.hash.hmac(), key), bytes)
    }
}

impl ExpectedProof {
    /// Checks the broker's last message.
    ///
    /// # Errors
    /// The broker does not know the password.
    pub fn check(&self, message: &[u8]) -> Result<(), ScramError> {
        let message = std::str::from_utf8(message).map_err(|_| ScramError::Message("text"))?;
        let proof = STANDARD.decode(field(message, "v=")?);
        let proof = proof.map_err(|_| ScramError::Proof)?;
        verify_slices_are_equal(&proof, &self.0).map_err(|_| ScramError::Proof)
    }
}

/// The value of a field.
fn field<'a>(message: &'a str, name: &'static str) -> Result<&'a str, ScramError> {
    let mut fields = message.split(',').filter_map(|it| it.strip_prefix(name));
    fields.next().ok_or(ScramError::Message(match name {
        "r=" => "nonce",
        "s=" => "salt",
        "i=" => "number of rounds",
        _ => "proof",
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
    const FIRST: &str =
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    fn exchange() -> Scram<'static> {
        Scram::with_nonce(ScramHash::Sha256, "user", "pencil", NONCE.to_owned())
    }

    /// RFC 7677, section 3.
    #[test]
    fn the_scram_exchange_equals_that_of_rfc_7677() {
        let exchange = exchange();
        assert_eq!(exchange.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let (last, expected) = exchange.answer(FIRST.as_bytes()).unwrap();
        assert_eq!(
            last,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        let proof = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
        assert_eq!(expected.check(proof.as_bytes()), Ok(()));
        for wrong in ["v=6rri", "v=", "v=é"] {
            assert_eq!(expected.check(wrong.as_bytes()), Err(ScramError::Proof));
        }
        let none = expected.check(b"e=other-error");
        assert_eq!(none, Err(ScramError::Message("proof")));
    }

    #[test]
    fn messages_of_a_broker_that_lies_are_refused() {
        let answer = |message: &str| exchange().answer(message.as_bytes()).err().unwrap();
        let nonce = ScramError::Message("nonce that continues the client's");
        assert_eq!(answer(&FIRST.replace("r=rO", "r=xO")), nonce);
        assert_eq!(answer(&format!("r={NONCE},s=QQ==,i=4096")), nonce);
        assert_eq!(answer(""), ScramError::Message("nonce"));
        assert_eq!(
            answer(&FIRST.replace("s=W", "s=*")),
            ScramError::Message("salt")
        );
        assert_eq!(
            answer(&FIRST.replace("i=4096", "i=1")),
            ScramError::Rounds(1)
        );
        let most = FIRST.replace("i=4096", "i=4294967295");
        assert_eq!(answer(&most), ScramError::Rounds(u32::MAX));
        let more = FIRST.replace("i=4096", "i=4294967296");
        assert_eq!(answer(&more), ScramError::Message("number of rounds"));
        let text = exchange().answer(&[0xff]).err();
        assert_eq!(text, Some(ScramError::Message("text")));
    }

    #[test]
    fn scram_user_names_escape_equals_signs_and_commas() {
        let exchange = Scram::with_nonce(ScramHash::Sha512, "a=b,c", "", "n".to_owned());
        assert_eq!(exchange.first(), "n,,n=a=3Db=2Cc,r=n");
    }
}
