//! The password plugins' names and the bytes they exchange.

use wire::auth::{CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD};

/// MariaDB's ed25519 on the client's side; accounts call it `ed25519`.
pub const CLIENT_ED25519: &[u8] = b"client_ed25519";
/// MariaDB's default from 11.6 on.
pub const PARSEC: &[u8] = b"parsec";
/// Sends the password in clear: PAM and LDAP on MySQL.
pub const MYSQL_CLEAR_PASSWORD: &[u8] = b"mysql_clear_password";
/// Asks questions, also for the password: PAM on MariaDB.
pub const DIALOG: &[u8] = b"dialog";

/// caching_sha2_password, server: the scramble was right and known.
pub const FAST_AUTHENTICATION_DONE: u8 = 0x03;
/// caching_sha2_password, server: send the password itself.
pub const FULL_AUTHENTICATION: u8 = 0x04;
/// caching_sha2_password, client: send the public key.
pub const REQUEST_KEY_CACHING_SHA2: u8 = 0x02;
/// sha256_password, client: send the public key.
pub const REQUEST_KEY_SHA256: u8 = 0x01;
/// The first byte of plugin data from the server.
pub const MORE_DATA: u8 = 0x01;

/// A plugin by which a client can be examined without asking a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Plugin {
    /// `mysql_native_password`.
    Native,
    /// `caching_sha2_password`.
    CachingSha2,
    /// `client_ed25519`.
    Ed25519,
}

impl Plugin {
    /// The name of the client's side on the wire.
    pub fn client_name(self) -> &'static [u8] {
        match self {
            Self::Native => MYSQL_NATIVE_PASSWORD,
            Self::CachingSha2 => CACHING_SHA2_PASSWORD,
            Self::Ed25519 => CLIENT_ED25519,
        }
    }

    /// The plugin of a name from the wire.
    pub fn of_client_name(name: &[u8]) -> Option<Self> {
        [Self::Native, Self::CachingSha2, Self::Ed25519]
            .into_iter()
            .find(|plugin| plugin.client_name() == name)
    }

    /// Whether the scramble of a greeting that named `greeting` is a challenge for this plugin.
    ///
    /// mysql_native_password takes the scramble of every greeting, caching_sha2_password only that of a greeting that
    /// named it, and ed25519 signs 32 bytes, which no greeting has.
    pub(crate) fn takes_greeting_of(self, greeting: Self) -> bool {
        match self {
            Self::Native => true,
            Self::CachingSha2 => greeting == Self::CachingSha2,
            Self::Ed25519 => false,
        }
    }
}
