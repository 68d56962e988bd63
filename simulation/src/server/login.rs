//! The greeting and the login, also the one of COM_CHANGE_USER.

use std::rc::Rc;

use auth::{Challenge, Channel, Credential, Password, Privacy, Scramble};
use wire::auth::put_auth_switch;
use wire::change_user::ChangeUser;
use wire::{Capabilities, Greeting, HandshakeResponse, StatusFlags};

use super::error::{SqlError, SqlResult};
use super::family::Family;
use super::model::Server;
use super::options::Rights;
use super::session::LoggedIn;

/// A client's proof that it knows the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The account has no password, or the answer is right.
    Right,
    /// The answer is not right.
    Wrong,
    /// The client has answered by another plugin.
    OtherPlugin,
}

/// What a client says of itself.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The user.
    pub user: String,
    /// The answer to the scramble.
    pub answer: Vec<u8>,
    /// The plugin that made it.
    pub plugin: Option<Vec<u8>>,
    /// The schema to begin with.
    pub schema: Option<String>,
    /// What the client can do.
    pub capabilities: Capabilities,
    /// The collation of its character set.
    pub collation: u16,
}

impl Family {
    /// The plugin of all accounts.
    pub const fn plugin(self) -> &'static [u8] {
        match self {
            Self::MariaDb => wire::auth::MYSQL_NATIVE_PASSWORD,
            Self::MySql => wire::auth::CACHING_SHA2_PASSWORD,
        }
    }

    /// What a server of the family can do, as far as the model has it.
    pub fn capabilities(self) -> Capabilities {
        use Capabilities as C;
        let common = C::FOUND_ROWS
            | C::LONG_FLAG
            | C::CONNECT_WITH_DB
            | C::LOCAL_FILES
            | C::NO_SCHEMA
            | C::ODBC
            | C::IGNORE_SPACE
            | C::PROTOCOL_41
            | C::INTERACTIVE
            | C::IGNORE_SIGPIPE
            | C::TRANSACTIONS
            | C::RESERVED
            | C::SECURE_CONNECTION
            | C::MULTI_STATEMENTS
            | C::MULTI_RESULTS
            | C::PS_MULTI_RESULTS
            | C::PLUGIN_AUTH
            | C::CONNECT_ATTRS
            | C::PLUGIN_AUTH_LENENC_CLIENT_DATA
            | C::CAN_HANDLE_EXPIRED_PASSWORDS
            | C::SESSION_TRACK
            | C::DEPRECATE_EOF;
        match self {
            Self::MariaDb => common,
            Self::MySql => common | C::LONG_PASSWORD | C::QUERY_ATTRIBUTES | C::REMEMBER_OPTIONS,
        }
    }
}

impl Server {
    /// A scramble, drawn from the seed.
    pub(super) fn scramble(&self) -> Scramble {
        let number = self.state.salts.get() + 1;
        self.state.salts.set(number);
        let mut bytes = [0; 20];
        let mut state = self.options.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in &mut bytes {
            // splitmix64
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            *byte = (mixed >> 56) as u8;
        }
        Scramble::of_random(bytes)
    }

    /// What the server says first.
    pub(super) fn greeting(&self, thread_id: u32, scramble: &Scramble) -> Greeting {
        let family = self.family();
        Greeting {
            version: family.greeted_version().as_bytes().to_vec(),
            thread_id,
            scramble: scramble.as_bytes().to_vec(),
            capabilities: family.capabilities(),
            collation: family.collation_id() as u8,
            status: StatusFlags::AUTOCOMMIT,
            plugin: family.plugin().to_vec(),
        }
    }

    /// Looks at a client's proof.
    pub(super) fn examine(&self, candidate: &Candidate, scramble: &[u8]) -> Proof {
        let plugin = self.family().plugin();
        let Some((_, password, _)) = self.account(&candidate.user) else {
            return Proof::Wrong;
        };
        if candidate.plugin.as_deref().is_some_and(|it| it != plugin) {
            return Proof::OtherPlugin;
        }
        let answer = &candidate.answer[..];
        let is_right = match password.is_empty() {
            true => answer.is_empty() || answer == b"\0",
            false => is_answer(plugin, scramble, password, answer),
        };
        match is_right {
            true => Proof::Right,
            false => Proof::Wrong,
        }
    }

    /// `@@max_connections`.
    pub(super) fn seats(&self) -> usize {
        usize::try_from(self.global("max_connections").to_int()).unwrap_or(0)
    }

    fn account(&self, user: &str) -> Option<&(String, String, Rights)> {
        self.options.accounts.iter().find(|it| it.0 == user)
    }

    /// What becomes of a client that has proven its account.
    ///
    /// # Errors
    /// 1040, 1049.
    pub(super) fn admit(&self, candidate: &Candidate) -> SqlResult<LoggedIn> {
        let family = self.family();
        let (user, rights) = match self.account(&candidate.user) {
            Some((user, _, rights)) => (user, *rights),
            None => return Err(self.denied(candidate)),
        };
        let seats = self.seats() + usize::from(rights == Rights::Administrator);
        if self.connections() > seats {
            return Err(family.too_many_connections());
        }
        Ok(LoggedIn {
            user: Rc::from(user.as_str()),
            rights,
            capabilities: candidate.capabilities & family.capabilities(),
            collation: candidate.collation,
        })
    }

    /// ER_ACCESS_DENIED_ERROR.
    pub(super) fn denied(&self, candidate: &Candidate) -> SqlError {
        let has_none = candidate.answer.is_empty() || candidate.answer == b"\0";
        let uses = if has_none { "NO" } else { "YES" };
        let text = format!(
            "Access denied for user '{}'@'127.0.0.1' (using password: {uses})",
            candidate.user
        );
        SqlError::new(self.family(), 1045, text)
    }

    /// The request to answer by the account's plugin.
    pub(super) fn switch(&self, scramble: &Scramble) -> Vec<u8> {
        let mut payload = Vec::new();
        let data = [scramble.as_bytes(), &b"\0"[..]].concat();
        put_auth_switch(&mut payload, self.family().plugin(), &data);
        payload
    }
}

/// Whether an answer is what a client says that knows the password.
fn is_answer(plugin: &[u8], scramble: &[u8], password: &str, answer: &[u8]) -> bool {
    let data = [scramble, &b"\0"[..]].concat();
    let challenge = Challenge::switched(plugin, &data);
    let channel = Channel::keyless(Privacy::Open);
    let credential = Credential::Password(Password::new(password.as_bytes()));
    let right = challenge.answer(&credential, channel);
    right.is_ok_and(|right| **right == *answer)
}

impl Candidate {
    /// What a handshake response says.
    pub fn of_response(response: &HandshakeResponse<'_>) -> Self {
        Self {
            user: String::from_utf8_lossy(response.user).into_owned(),
            answer: response.auth_response.to_vec(),
            plugin: response.plugin.map(<[u8]>::to_vec),
            schema: response.schema.and_then(name),
            capabilities: response.head.capabilities,
            collation: response.head.collation.into(),
        }
    }

    /// What a COM_CHANGE_USER says, on a connection that can do this.
    pub fn of_change(change: &ChangeUser<'_>, before: &LoggedIn) -> Self {
        Self {
            user: String::from_utf8_lossy(change.user).into_owned(),
            answer: change.auth_response.to_vec(),
            plugin: change.plugin.map(<[u8]>::to_vec),
            schema: change.schema.and_then(name),
            capabilities: before.capabilities,
            collation: change.collation.unwrap_or(before.collation),
        }
    }
}

fn name(bytes: &[u8]) -> Option<String> {
    let name = String::from_utf8_lossy(bytes).into_owned();
    (!name.is_empty()).then_some(name)
}
