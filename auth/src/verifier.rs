//! The verifiers of accounts, and the check of each plugin.

use std::fmt;

use crate::caching_sha2::{self, CachingSha2Hash, FastEntry};
use crate::ed25519::{self, Ed25519Key};
use crate::native::{self, NativeHash};
use crate::secret::{Credential, NativeStage1, Password, is_same};
use crate::{Plugin, Scramble};

/// What a client's answers are checked against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verifier {
    /// mysql_native_password's hash.
    Native(NativeHash),
    /// caching_sha2_password's hash.
    CachingSha2(CachingSha2Hash),
    /// ed25519's public key. It proves the client, but yields no credential for a backend.
    Ed25519(Ed25519Key),
    /// The password itself: every plugin can check it.
    Password(Password),
    /// No password, in the plugin's own form (ed25519 has none).
    Empty(Plugin),
    /// No client passes. From outside this looks like a wrong password, because the steps are those of the
    /// verifier inside.
    Never(Box<Verifier>),
}

/// An `authentication_string` that its plugin cannot read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the hash is not one of {}", .0.name())]
pub struct MalformedHash(pub Plugin);

impl Plugin {
    fn name(self) -> impl fmt::Display {
        String::from_utf8_lossy(self.client_name())
    }
}

impl Verifier {
    /// Reads an `authentication_string`: a native `*…`, a caching_sha2 `$A$…`, ed25519's base 64.
    ///
    /// # Errors
    /// When it is not of the plugin's form.
    pub fn parse(plugin: Plugin, text: &[u8]) -> Result<Self, MalformedHash> {
        match plugin {
            Plugin::Native | Plugin::CachingSha2 if text.is_empty() => Some(Self::Empty(plugin)),
            Plugin::Native => NativeHash::parse(text).map(Self::Native),
            Plugin::CachingSha2 => CachingSha2Hash::parse(text).map(Self::CachingSha2),
            Plugin::Ed25519 => Ed25519Key::parse(text).map(Self::Ed25519),
        }
        .ok_or(MalformedHash(plugin))
    }

    /// A verifier that never passes, of the same plugin, with an unknown secret made of 32 random bytes.
    pub(crate) fn unknown(&self, random: [u8; 32]) -> Self {
        if let Self::Never(inner) = self {
            return inner.unknown(random);
        }
        let more = |number: u8| crate::digest::sha256(&[&random, &[number]]);
        let unknown = match self.plugin(None, Plugin::Native) {
            _ if matches!(self, Self::Password(_)) => Self::Password(Password::new(random)),
            Plugin::Native => Self::Native(NativeHash::new(first(&more(0)))),
            Plugin::CachingSha2 => {
                let mut digest = [0; 43];
                let (head, tail) = digest.split_at_mut(32);
                head.copy_from_slice(&more(1));
                tail.copy_from_slice(&first::<11>(&more(2)));
                let salt = *Scramble::of_random(first(&more(0))).as_bytes();
                Self::CachingSha2(CachingSha2Hash::unknown(salt, digest))
            }
            // Made from a password, because not every 32 bytes are a key.
            Plugin::Ed25519 => Self::Ed25519(Ed25519Key::of(&more(0))),
        };
        Self::Never(Box::new(unknown))
    }

    /// The plugin that examines a client. `client`: the plugin that the client uses, if the proxy knows it.
    /// `greeting`: the plugin that the greeting named.
    pub(crate) fn plugin(&self, client: Option<Plugin>, greeting: Plugin) -> Plugin {
        match self {
            Self::Native(_) => Plugin::Native,
            Self::CachingSha2(_) => Plugin::CachingSha2,
            Self::Ed25519(_) => Plugin::Ed25519,
            Self::Empty(plugin) => *plugin,
            Self::Password(_) => match client {
                Some(client) if client.takes_greeting_of(greeting) => client,
                _ => greeting,
            },
            Self::Never(inner) => inner.plugin(client, greeting),
        }
    }

    /// mysql_native_password: whether the account has no password.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Empty(_) => true,
            Self::Password(password) => password.is_empty(),
            _ => false,
        }
    }

    /// mysql_native_password: the credential that a right answer yields.
    pub(crate) fn check_native(&self, scramble: &[u8], answer: &[u8; 20]) -> Option<Credential> {
        match self {
            Self::Native(hash) => {
                let stage1: NativeStage1 = hash.reveal(scramble, answer)?;
                Some(Credential::NativeStage1(stage1))
            }
            Self::Password(password) => {
                let right = native::answer(scramble, &native::stage1(password.expose()));
                (is_same(&right, answer) & !password.is_empty())
                    .then(|| Credential::Password(password.clone()))
            }
            Self::Never(inner) => inner.check_native(scramble, answer).and(None),
            Self::CachingSha2(_) | Self::Ed25519(_) | Self::Empty(_) => None,
        }
    }

    /// ed25519: whether an answer is right, and the credential that it yields.
    pub(crate) fn check_signature(
        &self,
        nonce: &[u8],
        answer: &[u8],
    ) -> Option<Option<Credential>> {
        match self {
            Self::Ed25519(key) => key.has_signed(nonce, answer).then_some(None),
            Self::Password(password) => {
                let right = ed25519::answer(nonce, password.expose());
                is_same(&right, answer).then(|| Some(Credential::Password(password.clone())))
            }
            Self::Never(inner) => inner.check_signature(nonce, answer).and(None),
            Self::Native(_) | Self::CachingSha2(_) | Self::Empty(_) => None,
        }
    }

    /// caching_sha2_password's fast path, which needs a known password: the account's, or `held`, the
    /// password that was proven before.
    pub(crate) fn check_fast(
        &self,
        held: Option<&Password>,
        scramble: &[u8],
        answer: &[u8],
    ) -> Option<Credential> {
        let known = match self {
            Self::Password(password) => password,
            Self::CachingSha2(_) => held?,
            Self::Never(inner) => return inner.check_fast(None, scramble, answer).and(None),
            Self::Native(_) | Self::Ed25519(_) | Self::Empty(_) => return None,
        };
        let is_right = FastEntry::of(known.expose()).is_answered(scramble, answer);
        (is_right & !known.is_empty()).then(|| Credential::Password(known.clone()))
    }

    /// caching_sha2_password's full authentication: whether this is the password. It takes
    /// milliseconds.
    pub(crate) fn is_password(&self, password: &Password) -> bool {
        match self {
            Self::CachingSha2(hash) => hash.is_of(password.expose()),
            Self::Password(right) => {
                password.expose().len() <= caching_sha2::PASSWORD_BYTES_MAX && right == password
            }
            Self::Never(inner) => inner.is_password(password) & false,
            Self::Native(_) | Self::Ed25519(_) | Self::Empty(_) => false,
        }
    }

    /// The bytes that identify the verifier, for a fingerprint.
    pub(crate) fn fingerprint_bytes(&self) -> Vec<&[u8]> {
        match self {
            Self::Native(hash) => vec![b"native", hash.as_bytes()],
            Self::CachingSha2(hash) => [b"sha2".as_slice()]
                .into_iter()
                .chain(hash.fingerprint_bytes())
                .collect(),
            Self::Ed25519(key) => vec![b"ed25519", key.as_bytes()],
            Self::Password(password) => vec![b"password", password.expose()],
            Self::Empty(plugin) => vec![b"empty", plugin.client_name()],
            Self::Never(inner) => inner.fingerprint_bytes(),
        }
    }
}

fn first<const N: usize>(bytes: &[u8; 32]) -> [u8; N] {
    let mut head = [0; N];
    for (to, from) in head.iter_mut().zip(bytes) {
        *to = *from;
    }
    head
}
