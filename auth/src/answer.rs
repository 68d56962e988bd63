//! The client's side: the answers to a backend's password plugin.

use system::Entropy;
use wire::auth::{CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD, SHA256_PASSWORD};
use wire::greeting::SCRAMBLE_BYTES;
use zeroize::Zeroizing;

use crate::plugin::{
    CLIENT_ED25519, DIALOG, FAST_AUTHENTICATION_DONE, FULL_AUTHENTICATION, MYSQL_CLEAR_PASSWORD,
    PARSEC, REQUEST_KEY_CACHING_SHA2, REQUEST_KEY_SHA256,
};
use crate::{
    Channel, Credential, NotPrivate, Password, Privacy, ServerKey, caching_sha2, ed25519,
    key_exchange, native, parsec,
};

/// A payload for the backend, which may hold a password in clear.
pub type Answer = Zeroizing<Vec<u8>>;

/// dialog: the upper bits of a question's first byte are its kind. This kind asks for a password (the
/// input is not shown).
const DIALOG_PASSWORD: u8 = 2;

/// A plugin's challenge.
///
/// If no answer can be given, the answer is empty: the server then refuses with its own error, and
/// does not count a broken handshake against this host.
#[derive(Debug, Clone)]
pub struct Challenge {
    /// The plugin's name.
    pub plugin: Vec<u8>,
    /// The data that the plugin sent.
    pub scramble: Vec<u8>,
}

impl Challenge {
    /// The challenge that a greeting holds.
    pub fn greeted(greeting: &wire::Greeting) -> Self {
        Self {
            plugin: greeting.plugin.clone(),
            scramble: greeting.scramble.clone(),
        }
    }

    /// The challenge of an auth switch. The plugins of MySQL end their scramble with a NUL. The plugins
    /// of MariaDB send 32 bytes, and the last byte may happen to be zero.
    pub fn switched(plugin: &[u8], data: &[u8]) -> Self {
        let scramble = match data {
            [scramble @ .., 0] if scramble.len() == SCRAMBLE_BYTES => scramble,
            data => data,
        };
        Self {
            plugin: plugin.to_vec(),
            scramble: scramble.to_vec(),
        }
    }

    /// The plugin's first answer.
    ///
    /// # Errors
    /// The channel is not private enough for the password.
    pub fn answer(
        &self,
        credential: &Credential,
        channel: Channel<'_>,
    ) -> Result<Answer, NotPrivate> {
        match credential {
            Credential::Password(password) => self.answer_with(password, channel),
            Credential::NativeStage1(stage1) if self.plugin == MYSQL_NATIVE_PASSWORD => {
                Ok(answer_of(native::answer(&self.scramble, stage1)))
            }
            Credential::NativeStage1(_) => Ok(Answer::default()),
        }
    }

    fn answer_with(&self, password: &Password, channel: Channel<'_>) -> Result<Answer, NotPrivate> {
        let privacy = channel.privacy;
        Ok(match &*self.plugin {
            CLIENT_ED25519 => answer_of(ed25519::answer(&self.scramble, password.expose())),
            MYSQL_NATIVE_PASSWORD if password.is_empty() => Answer::default(),
            MYSQL_NATIVE_PASSWORD => {
                let stage1 = native::stage1(password.expose());
                answer_of(native::answer(&self.scramble, &stage1))
            }
            CACHING_SHA2_PASSWORD | SHA256_PASSWORD if password.is_empty() => in_clear(password),
            CACHING_SHA2_PASSWORD => answer_of(caching_sha2::answer(&self.scramble, password)),
            SHA256_PASSWORD | MYSQL_CLEAR_PASSWORD if privacy.lets_pass(&self.plugin) => {
                in_clear(password)
            }
            SHA256_PASSWORD => self.encrypted(password, channel, REQUEST_KEY_SHA256)?,
            DIALOG => reply(&self.scramble, password, privacy),
            _ => Answer::default(),
        })
    }

    /// The password encrypted for a known key, or the request for the server's key.
    fn encrypted(
        &self,
        password: &Password,
        channel: Channel<'_>,
        request: u8,
    ) -> Result<Answer, NotPrivate> {
        match channel.server_key() {
            ServerKey::Refused => Err(NotPrivate),
            ServerKey::Asked => Ok(answer_of([request])),
            ServerKey::Known(key) => Ok(self.encrypted_for(password, key)),
        }
    }

    fn encrypted_for(&self, password: &Password, key: &[u8]) -> Answer {
        let encrypted = key_exchange::encrypt(&in_clear(password), &self.scramble, key);
        Answer::new(encrypted.unwrap_or_default())
    }

    /// The answer to the plugin's next packet, if the plugin wants an answer. For parsec the answer contains random
    /// bytes.
    ///
    /// # Errors
    /// The channel is not private enough for the password.
    pub fn answer_to(
        &self,
        data: &[u8],
        credential: &Credential,
        channel: Channel<'_>,
        entropy: &Entropy,
    ) -> Result<Option<Answer>, NotPrivate> {
        if (&*self.plugin, data) == (CACHING_SHA2_PASSWORD, &[FAST_AUTHENTICATION_DONE]) {
            return Ok(None);
        }
        let Credential::Password(password) = credential else {
            return Ok(Some(Answer::default()));
        };
        let privacy = channel.privacy;
        Ok(Some(match (&*self.plugin, data) {
            (CACHING_SHA2_PASSWORD, [FULL_AUTHENTICATION]) => {
                match privacy.lets_pass(CACHING_SHA2_PASSWORD) {
                    true => in_clear(password),
                    false => self.encrypted(password, channel, REQUEST_KEY_CACHING_SHA2)?,
                }
            }
            (CACHING_SHA2_PASSWORD | SHA256_PASSWORD, key) => match channel.server_key() {
                ServerKey::Asked => self.encrypted_for(password, key),
                // The proxy has not asked for a key.
                ServerKey::Refused | ServerKey::Known(_) => Answer::default(),
            },
            (PARSEC, salt) => {
                let signed = parsec::answer(entropy, &self.scramble, salt, password.expose());
                Answer::new(signed.unwrap_or_default())
            }
            (DIALOG, question) => reply(question, password, privacy),
            _ => Answer::default(),
        }))
    }
}

fn answer_of<const N: usize>(bytes: [u8; N]) -> Answer {
    Answer::new(bytes.to_vec())
}

fn in_clear(password: &Password) -> Answer {
    Answer::new([password.expose(), &[0]].concat())
}

/// dialog's questions are for people; the proxy can answer only the question for the password.
fn reply(question: &[u8], password: &Password, privacy: Privacy) -> Answer {
    match question {
        [kind, ..] if kind >> 1 == DIALOG_PASSWORD && privacy.lets_pass(DIALOG) => {
            in_clear(password)
        }
        _ => Answer::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OwnKey;

    fn challenge(plugin: &[u8]) -> Challenge {
        Challenge {
            plugin: plugin.to_vec(),
            scramble: (1..=32).collect(),
        }
    }

    /// A connection on which the client requests the server's key.
    fn asking(privacy: Privacy) -> Channel<'static> {
        let key = ServerKey::Asked;
        Channel { privacy, key }
    }

    fn entropy() -> Entropy {
        Entropy::seeded(1)
    }

    fn secret() -> Credential {
        Credential::Password(Password::new("secret"))
    }

    fn stage1() -> Credential {
        Credential::NativeStage1(native::stage1(b"secret"))
    }

    #[test]
    fn no_cleartext_password_is_sent_over_an_open_connection() {
        let shows = |bytes: &[u8]| bytes.windows(6).any(|window| window == b"secret");
        for plugin in [
            b"mysql_native_password".as_slice(),
            b"caching_sha2_password",
            b"sha256_password",
            b"mysql_clear_password",
            b"client_ed25519",
            b"parsec",
            b"dialog",
            b"never heard of",
        ] {
            let challenge = challenge(plugin);
            let answer = challenge.answer(&secret(), asking(Privacy::Open));
            assert!(!shows(&answer.unwrap()));
            let answer = challenge.answer(&secret(), Channel::keyless(Privacy::Open));
            assert!(!shows(&answer.unwrap_or_default()));
            for data in [
                b"\x04".as_slice(),
                b"P\0salt",
                b"not a key",
                b"Password: ",
                b"\x05",
            ] {
                let answer =
                    challenge.answer_to(data, &secret(), asking(Privacy::Open), &entropy());
                assert!(!shows(&answer.unwrap().unwrap_or_default()));
            }
        }
    }

    #[test]
    fn a_server_gets_no_password_by_a_key_of_its_own() {
        let own = OwnKey::default();
        let key = own.public_pem().unwrap();
        let channel = Channel::keyless(Privacy::Open);
        let caching = challenge(b"caching_sha2_password");
        let asked = caching.answer_to(&[FULL_AUTHENTICATION], &secret(), channel, &entropy());
        assert_eq!(asked, Err(NotPrivate));
        let sha256 = challenge(b"sha256_password");
        assert_eq!(sha256.answer(&secret(), channel), Err(NotPrivate));
        let other = OwnKey::default();
        let known = Channel {
            privacy: Privacy::Open,
            key: ServerKey::Known(other.public_pem().unwrap()),
        };
        for challenge in [caching, sha256] {
            for channel in [channel, known] {
                let presented = challenge.answer_to(key, &secret(), channel, &entropy());
                assert_eq!(*presented.unwrap().unwrap(), b"");
            }
        }
    }

    #[test]
    fn a_known_key_is_used_at_once() {
        let own = OwnKey::default();
        let channel = Channel {
            privacy: Privacy::Open,
            key: ServerKey::Known(own.public_pem().unwrap()),
        };
        let caching = challenge(b"caching_sha2_password");
        let answer = caching.answer_to(&[FULL_AUTHENTICATION], &secret(), channel, &entropy());
        let clear = own.decrypt(&answer.unwrap().unwrap(), &caching.scramble);
        assert_eq!(*clear.unwrap(), b"secret\0");
        let sha256 = challenge(b"sha256_password");
        let answer = sha256.answer(&secret(), channel).unwrap();
        let clear = own.decrypt(&answer, &sha256.scramble);
        assert_eq!(*clear.unwrap(), b"secret\0");
    }

    #[test]
    fn full_authentication_sends_the_password_over_a_secure_connection() {
        let challenge = challenge(b"caching_sha2_password");
        for privacy in [Privacy::Local, Privacy::Tls] {
            let answer = challenge.answer_to(
                &[FULL_AUTHENTICATION],
                &secret(),
                asking(privacy),
                &entropy(),
            );
            assert_eq!(*answer.unwrap().unwrap(), b"secret\0");
        }
        let answer = challenge.answer_to(
            &[FULL_AUTHENTICATION],
            &secret(),
            asking(Privacy::Open),
            &entropy(),
        );
        assert_eq!(*answer.unwrap().unwrap(), [REQUEST_KEY_CACHING_SHA2]);
        let nothing = challenge.answer_to(
            &[FAST_AUTHENTICATION_DONE],
            &secret(),
            asking(Privacy::Open),
            &entropy(),
        );
        assert_eq!(nothing, Ok(None));
    }

    #[test]
    fn sha256_password_sends_the_password_over_tls_only() {
        let challenge = challenge(b"sha256_password");
        assert_eq!(
            *challenge.answer(&secret(), asking(Privacy::Tls)).unwrap(),
            b"secret\0"
        );
        for privacy in [Privacy::Open, Privacy::Local] {
            let answer = challenge.answer(&secret(), asking(privacy));
            assert_eq!(*answer.unwrap(), [REQUEST_KEY_SHA256]);
        }
    }

    #[test]
    fn a_key_is_answered_with_the_password_encrypted_for_it() {
        let own = OwnKey::default();
        for plugin in [b"caching_sha2_password".as_slice(), b"sha256_password"] {
            let challenge = challenge(plugin);
            let key = own.public_pem().unwrap();
            let answer = challenge
                .answer_to(key, &secret(), asking(Privacy::Open), &entropy())
                .unwrap();
            let clear = own.decrypt(&answer.unwrap(), &challenge.scramble).unwrap();
            assert_eq!(*clear, b"secret\0");
        }
    }

    #[test]
    fn a_clear_password_and_a_dialog_are_answered_in_private() {
        let clear = challenge(b"mysql_clear_password");
        assert_eq!(
            *clear.answer(&secret(), asking(Privacy::Local)).unwrap(),
            b"secret\0"
        );
        let dialog = Challenge::switched(b"dialog", b"\x04Password: ");
        assert_eq!(
            *dialog.answer(&secret(), asking(Privacy::Tls)).unwrap(),
            b"secret\0"
        );
        let last = dialog.answer_to(
            b"\x05Password: ",
            &secret(),
            asking(Privacy::Tls),
            &entropy(),
        );
        assert_eq!(*last.unwrap().unwrap(), b"secret\0");
        let ordinary = dialog.answer_to(
            b"\x02Your name? ",
            &secret(),
            asking(Privacy::Tls),
            &entropy(),
        );
        assert_eq!(*ordinary.unwrap().unwrap(), b"");
    }

    #[test]
    fn the_first_stage_hash_answers_only_mysql_native_password() {
        let native = challenge(b"mysql_native_password");
        assert_eq!(
            native.answer(&stage1(), asking(Privacy::Open)),
            native.answer(&secret(), asking(Privacy::Open))
        );
        for plugin in [
            b"caching_sha2_password".as_slice(),
            b"client_ed25519",
            b"dialog",
        ] {
            assert_eq!(
                *challenge(plugin)
                    .answer(&stage1(), asking(Privacy::Tls))
                    .unwrap(),
                b""
            );
            let next =
                challenge(plugin).answer_to(&[4], &stage1(), asking(Privacy::Tls), &entropy());
            assert_eq!(*next.unwrap().unwrap(), b"");
        }
    }

    #[test]
    fn an_empty_password_is_encoded_as_each_plugin_expects() {
        let empty = Credential::Password(Password::new(""));
        let answer = |plugin: &[u8]| {
            let answer = challenge(plugin).answer(&empty, asking(Privacy::Open));
            answer.unwrap().to_vec()
        };
        assert_eq!(answer(b"mysql_native_password"), b"");
        assert_eq!(answer(b"caching_sha2_password"), [0]);
        assert_eq!(answer(b"sha256_password"), [0]);
        assert_eq!(answer(b"client_ed25519").len(), 64);
    }

    #[test]
    fn a_scramble_loses_its_closing_nul_but_not_a_last_byte_that_is_zero() {
        let scramble =
            Challenge::switched(b"mysql_native_password", b"abcdefghijklmnopqrst\0").scramble;
        assert_eq!(scramble, b"abcdefghijklmnopqrst");
        assert_eq!(Challenge::switched(b"parsec", &[0; 32]).scramble, [0; 32]);
    }

    #[test]
    fn a_malformed_key_or_salt_gets_an_empty_answer() {
        for (plugin, data) in [
            (b"caching_sha2_password".as_slice(), b"no key".as_slice()),
            (b"parsec", b"X\0salt"),
            (b"parsec", b"P\xffsalt"),
            (b"parsec", b""),
            (b"dialog", b""),
        ] {
            let answer =
                challenge(plugin).answer_to(data, &secret(), asking(Privacy::Tls), &entropy());
            assert_eq!(*answer.unwrap().unwrap(), b"");
        }
    }
}
