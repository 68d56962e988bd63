//! The server's side: the proxy examines a client by the account's own plugin, as the servers do.
//!
//! ```text
//!   greeting sent ── response ──► begin
//!                                   │ by the right plugin?
//!                     no ┌──────────┴───────────┐ yes
//!                 auth switch                   │
//!                        ▼                      ▼
//!                     Answer ── payload ──►  judged ──► Accepted, Denied, the next plugin's switch
//!                                               │ caching_sha2_password, not known by the scramble
//!                                             0x04
//!                                               ▼
//!                                           Password ── in clear (private) ─► Work ──► Accepted,
//!                                            ▲  │ 0x02: Work, our key          ▲       Denied …
//!                                            │  └────────► Ciphertext ─────────┘
//!                                            └ each state takes one payload of the client's
//! ```
//!
//! An unknown user is examined by [`crate::Directory::decoy`]. Its verifiers go through the same
//! steps and never pass.

use std::sync::Arc;

use wire::auth::put_auth_switch;

use crate::caching_sha2::ANSWER_BYTES;
use crate::digest::sha256;
use crate::key_exchange::{CIPHERTEXT_BYTES, OwnKey};
use crate::plugin::{
    FAST_AUTHENTICATION_DONE, FULL_AUTHENTICATION, MORE_DATA, REQUEST_KEY_CACHING_SHA2,
};
use crate::{Credential, Denial, Password, Plugin, Privacy, Scramble, Verifier};

/// The parts of the client's handshake response (or COM_CHANGE_USER) that concern authentication.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The plugin that the client answers with; `None` without PLUGIN_AUTH.
    pub plugin: Option<&'a [u8]>,
    /// Its answer to the greeting's scramble.
    pub answer: &'a [u8],
    /// How private the client's connection is.
    pub privacy: Privacy,
}

/// The result of a client's payload.
#[derive(Debug)]
#[must_use]
pub enum Verdict {
    /// Send this payload, and give the client's next payload to [`ServerAuthentication::receive`].
    Send {
        /// A whole payload, without packet header.
        payload: Vec<u8>,
        /// The state that awaits the answer.
        exam: ServerAuthentication,
    },
    /// A computation that takes milliseconds: run it where it does not delay other sessions.
    Work(Work),
    /// The client has proven the account.
    Accepted(Passed),
    /// The client is refused. Its proof may be checked against other verifiers.
    Denied(Denial, Option<Shown>),
}

/// The proof of a client whose login failed. If the account has changed meanwhile, the proof is checked
/// again without asking the client.
#[derive(Debug)]
pub struct Shown {
    paper: Box<Paper>,
    proof: Proof,
}

#[derive(Debug)]
enum Proof {
    /// The answer to the challenge in [`Paper`].
    Answer(Vec<u8>),
    Password(Password),
}

/// The result of a successful authentication.
#[derive(Debug)]
pub struct Passed {
    /// A payload to send before the OK (caching_sha2_password's "fast authentication done").
    pub payload: Option<Vec<u8>>,
    /// The credential for a backend login of the same account; `None` if the proof yields none
    /// (ed25519 by its public key).
    pub credential: Option<Credential>,
    /// Whether a password was tried; a server says so if it refuses later on.
    pub password_used: bool,
}

/// The authentication of one client, which awaits the client's next payload.
#[derive(Debug)]
pub struct ServerAuthentication {
    paper: Paper,
    awaits: Awaits,
}

/// The data that all states of an authentication share.
#[derive(Debug)]
struct Paper {
    /// The account's verifiers, any one of which suffices. Verifiers of the same plugin stand side by side.
    verifiers: Arc<[Verifier]>,
    /// The index of the first verifier that the client is examined by now.
    at: usize,
    held: Option<Password>,
    plugin: Plugin,
    /// The challenge that the client got for this plugin.
    challenge: Vec<u8>,
    greeting: Plugin,
    scramble: Scramble,
    privacy: Privacy,
    /// The random bytes that the next challenge is made of.
    fresh: [u8; 32],
    password_used: bool,
}

/// The content of the client's next payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaits {
    /// The plugin's answer to its challenge.
    Answer,
    /// The password, or the request for the proxy's key.
    Password,
    /// The password, encrypted for the proxy's key.
    Ciphertext,
}

/// A computation of milliseconds: a hash of many rounds, a private key's use, its making.
#[derive(Debug)]
pub struct Work {
    paper: Paper,
    task: Task,
}

#[derive(Debug)]
enum Task {
    OfferKey,
    Decrypt(Vec<u8>),
    Check(Password),
}

impl ServerAuthentication {
    /// Begins with the client's response to a greeting that named `greeting` and held `scramble`.
    ///
    /// `verifiers` are the account's: they are tried in order, and any one suffices. `held` is the
    /// account's password if it was proven before. `fresh` are 32 random bytes, from which the next
    /// challenge is made if the client must be asked by another plugin.
    pub fn begin(
        greeting: Plugin,
        scramble: &Scramble,
        verifiers: Arc<[Verifier]>,
        held: Option<Password>,
        candidate: Candidate<'_>,
        fresh: [u8; 32],
    ) -> Verdict {
        let of_client = match candidate.plugin {
            Some(name) => Plugin::of_client_name(name),
            // Clients without PLUGIN_AUTH are from a time when this was the only plugin.
            None => Some(Plugin::Native),
        };
        let Some(first) = verifiers.first() else {
            let denial = Denial::Access {
                password_used: !candidate.answer.is_empty(),
            };
            return Verdict::Denied(denial, None);
        };
        let plugin = first.plugin(of_client, greeting);
        let paper = Paper {
            plugin,
            at: 0,
            held,
            challenge: scramble.as_bytes().to_vec(),
            greeting,
            scramble: *scramble,
            privacy: candidate.privacy,
            fresh,
            password_used: !candidate.answer.is_empty(),
            verifiers,
        };
        match of_client {
            Some(of_client) if of_client == plugin && plugin.takes_greeting_of(greeting) => {
                paper.judge(candidate.answer)
            }
            _ if candidate.plugin.is_none() => Verdict::Denied(Denial::ClientTooOld, None),
            _ => paper.switch(),
        }
    }

    /// Takes the client's next payload.
    pub fn receive(self, payload: &[u8]) -> Verdict {
        let paper = self.paper;
        let work = match self.awaits {
            Awaits::Answer => return paper.judge(payload),
            Awaits::Password if paper.privacy.lets_pass(paper.plugin.client_name()) => {
                // The last byte counts as the NUL, whatever its value (`plaintext_password(pkt, pkt_len - 1)`).
                match payload.split_last() {
                    Some((_, password)) => Task::Check(Password::new(password)),
                    None => return paper.fail(None),
                }
            }
            Awaits::Password if payload == [REQUEST_KEY_CACHING_SHA2] => Task::OfferKey,
            Awaits::Password | Awaits::Ciphertext if payload.len() == CIPHERTEXT_BYTES => {
                Task::Decrypt(payload.to_vec())
            }
            Awaits::Password | Awaits::Ciphertext => return paper.fail(None),
        };
        Verdict::Work(Work { paper, task: work })
    }
}

impl Work {
    /// Runs the computation. `own_key` is the proxy's key. Making the key takes some tenths of a second, once.
    pub fn run(self, own_key: &OwnKey) -> Verdict {
        let paper = self.paper;
        match self.task {
            Task::Check(password) => paper.judge_password(password),
            Task::OfferKey => match own_key.public_pem() {
                Ok(pem) => paper.send_plugin_data(pem, Awaits::Ciphertext),
                Err(_) => paper.fail(None),
            },
            Task::Decrypt(ciphertext) => match own_key.decrypt(&ciphertext, &paper.challenge) {
                // Up to the NUL, as the servers do here.
                Ok(clear) => match clear.split(|byte| *byte == 0).next() {
                    Some([]) | None => paper.fail(None),
                    Some(password) => paper.judge_password(Password::new(password)),
                },
                Err(_) => paper.fail(None),
            },
        }
    }
}

impl Shown {
    /// Checks the proof against other verifiers, as far as they are of the plugin that the client was examined
    /// by. The client is not asked again.
    pub fn judge(self, verifiers: &[Verifier]) -> Verdict {
        let Self { mut paper, proof } = self;
        let (plugin, greeting) = (paper.plugin, paper.greeting);
        let same = |it: &&Verifier| it.plugin(Some(plugin), greeting) == plugin;
        paper.verifiers = verifiers.iter().filter(same).cloned().collect();
        paper.at = 0;
        match proof {
            Proof::Answer(answer) => paper.judge(&answer),
            Proof::Password(password) => Verdict::Work(Work {
                paper: *paper,
                task: Task::Check(password),
            }),
        }
    }
}

impl Paper {
    /// Checks the client's first answer to the plugin.
    fn judge(mut self, answer: &[u8]) -> Verdict {
        self.password_used = match self.plugin {
            Plugin::Native => !answer.is_empty(),
            Plugin::CachingSha2 => !is_empty_password(answer),
            Plugin::Ed25519 => true,
        };
        match self.plugin {
            Plugin::Native => self.judge_native(answer),
            Plugin::CachingSha2 => self.judge_scrambled(answer),
            Plugin::Ed25519 => {
                let check = |it: &Verifier| it.check_signature(&self.challenge, answer);
                match self.first_of(check) {
                    Some(credential) => self.accept(None, credential),
                    None => self.fail(Some(Proof::Answer(answer.to_vec()))),
                }
            }
        }
    }

    fn judge_native(self, answer: &[u8]) -> Verdict {
        let credential = match <&[u8; 20]>::try_from(answer) {
            Ok(answer) => self.first_of(|it| it.check_native(&self.challenge, answer)),
            Err(_) if answer.is_empty() => self.if_empty(),
            // Only broken or probing clients send such an answer.
            Err(_) => return Verdict::Denied(Denial::Handshake, None),
        };
        match credential {
            Some(credential) => self.accept(None, Some(credential)),
            None => self.fail(Some(Proof::Answer(answer.to_vec()))),
        }
    }

    fn judge_scrambled(self, answer: &[u8]) -> Verdict {
        if is_empty_password(answer) {
            return match self.if_empty() {
                Some(credential) => self.accept(None, Some(credential)),
                None => self.fail(Some(Proof::Answer(answer.to_vec()))),
            };
        }
        if answer.len() != ANSWER_BYTES {
            return self.fail(None);
        }
        let held = self.held.as_ref();
        match self.first_of(|it| it.check_fast(held, &self.challenge, answer)) {
            Some(credential) => {
                let done = vec![MORE_DATA, FAST_AUTHENTICATION_DONE];
                self.accept(Some(done), Some(credential))
            }
            None => self.send_plugin_data(&[FULL_AUTHENTICATION], Awaits::Password),
        }
    }

    fn judge_password(self, password: Password) -> Verdict {
        // All verifiers are asked, so that the time does not reveal which one matched.
        let asked = self.group().iter();
        let is_right = asked.fold(false, |is_right, it| it.is_password(&password) | is_right);
        match is_right {
            true => self.accept(None, Some(Credential::Password(password))),
            false => self.fail(Some(Proof::Password(password))),
        }
    }

    fn if_empty(&self) -> Option<Credential> {
        let is_empty = self.group().iter().any(Verifier::is_empty);
        is_empty.then(|| Credential::Password(Password::new("")))
    }

    /// The verifiers that check the same answer: the next verifiers of the plugin that the client was asked by.
    fn group(&self) -> &[Verifier] {
        let rest = self.verifiers.get(self.at..).unwrap_or_default();
        let same = |it: &&Verifier| it.plugin(Some(self.plugin), self.greeting) == self.plugin;
        let count = rest.iter().take_while(same).count();
        rest.get(..count).unwrap_or_default()
    }

    fn first_of<T>(&self, check: impl Fn(&Verifier) -> Option<T>) -> Option<T> {
        let found = self.group().iter().map(check);
        found.fold(None, |first, next| first.or(next))
    }

    /// The proof failed for this plugin. Goes on with the account's next plugin, if it has one.
    fn fail(mut self, proof: Option<Proof>) -> Verdict {
        self.at += self.group().len().max(1);
        match self.verifiers.get(self.at) {
            Some(next) => {
                self.plugin = next.plugin(None, self.greeting);
                self.switch()
            }
            None => {
                let denial = Denial::Access {
                    password_used: self.password_used,
                };
                let paper = Box::new(self);
                let shown = proof.map(|proof| Shown { paper, proof });
                Verdict::Denied(denial, shown)
            }
        }
    }

    fn accept(self, payload: Option<Vec<u8>>, credential: Option<Credential>) -> Verdict {
        Verdict::Accepted(Passed {
            payload,
            credential,
            password_used: self.password_used,
        })
    }

    /// Asks the client by another plugin. As the servers do, it uses the greeting's scramble again if that
    /// is a challenge for the plugin.
    fn switch(mut self) -> Verdict {
        let [random @ .., _, _, _, _, _, _, _, _, _, _, _, _] = self.fresh;
        self.challenge = match self.plugin {
            Plugin::Ed25519 => self.fresh.to_vec(),
            plugin if plugin.takes_greeting_of(self.greeting) => self.scramble.as_bytes().to_vec(),
            Plugin::Native | Plugin::CachingSha2 => Scramble::of_random(random).as_bytes().to_vec(),
        };
        self.fresh = sha256(&[b"the next challenge", &self.fresh]);
        let mut payload = Vec::new();
        put_auth_switch(&mut payload, self.plugin.client_name(), &self.challenge);
        // MariaDB's plugins know the challenge's length, MySQL's plugins end it with a NUL.
        if self.plugin != Plugin::Ed25519 {
            payload.push(0);
        }
        self.send(payload, Awaits::Answer)
    }

    /// Sends plugin data.
    fn send_plugin_data(self, data: &[u8], awaits: Awaits) -> Verdict {
        self.send([&[MORE_DATA], data].concat(), awaits)
    }

    fn send(self, payload: Vec<u8>, awaits: Awaits) -> Verdict {
        let exam = ServerAuthentication {
            paper: self,
            awaits,
        };
        Verdict::Send { payload, exam }
    }
}

/// Whether the answer is caching_sha2_password's "no password".
fn is_empty_password(answer: &[u8]) -> bool {
    matches!(answer, [] | [0])
}

#[cfg(test)]
mod tests;
