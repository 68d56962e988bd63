//! `client_tls.mode = "as_account"`: the proxy refuses a client whose connection does not meet the requirements of the
//! servers, as far as the proxy knows their accounts. A server would check the proxy's TLS and not the client's.

use std::sync::Arc;

use auth::{Accounts, Candidate, Denial, Dialect, Origin, Privacy, Scramble, ServerAuthentication};
use config::ClientTlsMode;
use net::tls::Facts;
use wire::{Greeting, HandshakeResponse};

use crate::examine::{examine, random, tls_session};
use crate::fresh_accounts::{AGE_MAX, accounts_of, learned_anew};
use crate::login_env::LoginEnv;
use crate::login_throttle;
use backend::greeting::{dialect_of, plugin_of};
use backend::settings::Settings;
use link::failure::{Failure, FailureKind};
use link::packets::PacketStream;

/// The properties of a client without its password.
#[derive(Clone, Copy)]
pub struct Claimant<'a> {
    /// The user that the client names.
    pub user: &'a [u8],
    /// The user name with which its session logs in to a server.
    pub there: &'a [u8],
    /// The client's host.
    pub origin: &'a Origin,
    /// How private the connection of the client is.
    pub privacy: Privacy,
    /// The TLS of the client, if it has any.
    pub tls: Option<&'a Facts>,
    /// Whether the client has used a password.
    pub password_used: bool,
}

/// The requirement that is not met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmet {
    /// A requirement of the servers for all clients.
    Transport(Denial),
    /// A requirement of the client's account. A server refuses such a client with the error of a wrong password.
    Account,
}

impl Unmet {
    /// Returns the error for a client that has used a password, or has not.
    pub fn denial(self, password_used: bool) -> Denial {
        match self {
            Self::Transport(denial) => denial,
            Self::Account => Denial::Access { password_used },
        }
    }
}

/// Returns the requirement that a client does not meet; `None` if it meets all known requirements.
pub fn unmet(settings: &Settings, accounts: &Accounts, claimant: &Claimant<'_>) -> Option<Unmet> {
    if settings.config.client_tls.mode != ClientTlsMode::AsAccount {
        return None;
    }
    let Claimant {
        user,
        there,
        origin,
        privacy,
        tls,
        password_used,
    } = *claimant;
    if privacy == Privacy::Open
        && let Some(denial) = accounts.secure_transport().denial(password_used)
    {
        return Some(Unmet::Transport(denial));
    }
    let tls = tls.map(tls_session);
    let mut demands = accounts.tls_requirements(user, there, origin);
    let is_unmet = demands.any(|demand| !demand.is_met(tls.as_ref()));
    is_unmet.then_some(Unmet::Account)
}

/// Waits for the servers' accounts, if the proxy learns them and does not know them yet, or has not
/// asked for the user's accounts recently.
pub async fn await_accounts(env: &LoginEnv, settings: &Settings, user: &[u8]) {
    if settings.config.client_tls.mode != ClientTlsMode::AsAccount {
        return;
    }
    let (learns, are_known) = {
        let accounts = env.accounts.borrow();
        (accounts.learns(), accounts.learned().is_some())
    };
    if are_known {
        accounts_of(env, user, AGE_MAX).await;
    } else if learns {
        learned_anew(env, user).await;
    }
}

/// Whether the first answer to a plugin contains a password.
pub fn is_password_used(answer: &[u8]) -> bool {
    !matches!(answer, [] | [0])
}

/// The check of a login that a backend authenticates.
pub struct Guard<'a> {
    /// The environment of the worker.
    pub env: &'a LoginEnv,
    /// The settings of the session.
    pub settings: &'a Settings,
    /// The client's host.
    pub origin: &'a Origin,
}

impl Guard<'_> {
    /// Checks a client that has answered the backend's greeting, and refuses it if it does not meet the requirements.
    ///
    /// # Errors
    /// The error for the client.
    pub async fn admit(
        &self,
        client: &mut PacketStream,
        greeting: &Greeting,
        response: &HandshakeResponse<'_>,
    ) -> Result<(), Failure> {
        let (env, settings, origin) = (self.env, self.settings, self.origin);
        let user = response.user;
        await_accounts(env, settings, user).await;
        let accounts = Arc::clone(&env.accounts.borrow());
        let facts = client.tls();
        let claimant = Claimant {
            user,
            there: user,
            origin,
            privacy: client.privacy(),
            tls: facts.as_ref(),
            password_used: is_password_used(response.auth_response),
        };
        let denial = match unmet(settings, &accounts, &claimant) {
            None => return Ok(()),
            Some(Unmet::Transport(denial)) => denial,
            Some(Unmet::Account) => self.examine(&accounts, client, greeting, response).await?,
        };
        login_throttle::after_failure(env, settings, origin, user).await;
        Err(denied(env, denial, dialect_of(greeting), &claimant))
    }

    /// Runs an authentication that every client fails, because a client must not learn which accounts require TLS.
    async fn examine(
        &self,
        accounts: &Accounts,
        client: &mut PacketStream,
        greeting: &Greeting,
        response: &HandshakeResponse<'_>,
    ) -> Result<Denial, Failure> {
        let mut scramble = [0; wire::greeting::SCRAMBLE_BYTES];
        for (to, from) in scramble.iter_mut().zip(&greeting.scramble) {
            *to = *from;
        }
        let candidate = Candidate {
            plugin: response.plugin,
            answer: response.auth_response,
            privacy: client.privacy(),
        };
        let verdict = ServerAuthentication::begin(
            plugin_of(greeting),
            &Scramble::of_random(scramble),
            accounts.in_vain(response.user, self.origin),
            None,
            candidate,
            random(&self.env.pool.system.entropy),
        );
        Ok(
            match examine(&self.env.shared.own_key, client, verdict).await? {
                Ok(passed) => Denial::Access {
                    password_used: passed.password_used,
                },
                Err(failed) => failed.denial,
            },
        )
    }
}

/// Checks a client that is to become another user, by its login or in a session that is not pooled.
///
/// # Errors
/// The error for the client.
pub fn may_become(env: &LoginEnv, claimant: &Claimant<'_>) -> Result<(), Failure> {
    let settings = Arc::clone(&env.pool.settings.borrow());
    let accounts = Arc::clone(&env.accounts.borrow());
    match unmet(&settings, &accounts, claimant) {
        None => Ok(()),
        Some(unmet) => {
            let denial = unmet.denial(claimant.password_used);
            let dialect = accounts.learned().map(|learned| learned.rules().dialect);
            let dialect = dialect.unwrap_or(Dialect::MySql);
            Err(denied(env, denial, dialect, claimant))
        }
    }
}

fn denied(env: &LoginEnv, denial: Denial, dialect: Dialect, claimant: &Claimant<'_>) -> Failure {
    let names = env.host_names.names(&env.accounts.borrow());
    let shown = claimant.origin.shown(names);
    let payload = denial.payload(dialect, claimant.user, &shown);
    let user = String::from_utf8_lossy(claimant.user);
    let cause = format!("{denial}, for user {user:?} from {shown} (client_tls.mode)");
    Failure::relaying(FailureKind::LoginDenied, cause, payload)
}
