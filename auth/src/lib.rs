//! Which clients may log in, and how they prove it: decisions over bytes and values, without a socket or a clock.
//!
//! ```text
//!   a client logs in to the proxy                     the proxy logs in to a backend
//!
//!   Directory ─ who is this? ──────► Account          Credential ─┐
//!                                      │ verifiers                ├─► Challenge: what to answer
//!   response ─► ServerAuthentication ◄─┘              its words ──┘
//!                  └─► Accepted: a Credential ──────────────────────────► (the other side)
//! ```
//!
//! Both sides of every password plugin are here once: [`Challenge`] answers a backend, [`ServerAuthentication`]
//! examines a client as the servers do. [`Directory`] holds accounts and finds the account that a
//! server would find. [`configured`] makes accounts from the configuration, [`learned`] from rows of the
//! grant tables, and [`Accounts`] is the snapshot of both. [`Keyring`] holds proven credentials. [`HostErrors`]
//! counts the failed logins of hosts. [`Throttle`] says how long the answer to a client that guesses is delayed.
//!
//! Secrets are wiped when they are dropped, compared in constant time, and printed as `…`.

#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)
)]

mod account;
mod accounts;
mod answer;
mod caching_sha2;
mod channel;
mod configured;
mod denial;
mod digest;
mod directory;
mod ed25519;
mod host;
mod host_errors;
mod identity;
pub mod key_exchange;
mod keyring;
pub mod learned;
mod native;
mod parsec;
pub mod plugin;
mod privacy;
mod scramble;
mod secret;
mod secure_transport;
mod server_authentication;
#[allow(clippy::indexing_slicing)] // of arrays of its own, whose lengths are constants
mod sha_crypt;
mod throttle;
mod verifier;

pub use account::{
    Account, AccountPooling, AccountRouting, BackendLogin, Certificate, Circumstances, Conditions,
    Expiry, LoginMethod, PassThrough, PinRules, TlsRequirement, TlsSession, Treatment,
};
pub use accounts::{Accounts, Found, Learned};
pub use answer::{Answer, Challenge};
pub use caching_sha2::{CachingSha2Hash, FastEntry};
pub use channel::{Channel, NotPrivate, ServerKey};
pub use configured::{AccountFault, FaultyAccount, configured};
pub use denial::Denial;
pub use directory::Directory;
pub use ed25519::Ed25519Key;
pub use host::{Dialect, HostPattern, Names, Origin, Rules};
pub use host_errors::HostErrors;
pub use identity::{AccountId, KnownAccount, Source};
pub use key_exchange::{KeyExchangeError, OwnKey};
pub use keyring::{Keyring, SharedKeyring};
pub use native::NativeHash;
pub use plugin::Plugin;
pub use privacy::Privacy;
pub use scramble::Scramble;
pub use secret::{Credential, NativeStage1, Password};
pub use secure_transport::SecureTransport;
pub use server_authentication::{Candidate, Passed, ServerAuthentication, Shown, Verdict, Work};
pub use throttle::{SharedThrottle, Throttle, ThrottleLimits};
pub use verifier::{MalformedHash, Verifier};
