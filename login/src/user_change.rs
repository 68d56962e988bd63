//! COM_CHANGE_USER in a session that is not pooled: whether the client may become the other user.
//! The backend checks the password.

use std::path::PathBuf;

use net::Endpoint;

use crate::examine::origin_of;
use crate::login_env::LoginEnv;
use crate::script_coverage::stay_covered;
use crate::tls_guard::{Claimant, may_become};
use link::failure::Failure;
use link::transport::Transport;

/// A client that wants to become another user.
pub struct UserChange<'a> {
    /// The address of the client.
    pub remote: &'a Endpoint,
    /// The connection of the client.
    pub transport: &'a Transport,
    /// The command's argument.
    pub argument: &'a [u8],
    /// The scripts that its session runs.
    pub running: &'a [PathBuf],
}

impl UserChange<'_> {
    /// Checks whether the client may become the other user.
    ///
    /// # Errors
    /// The other user's account has other scripts, or requires TLS that the client lacks; the error for the client.
    pub fn check(&self, env: &LoginEnv) -> Result<(), Failure> {
        let user = self.argument.split(|byte| *byte == 0).next();
        let user = user.unwrap_or_default();
        let answer_bytes = self.argument.get(user.len() + 1).copied();
        stay_covered(env, user, self.remote, self.running)?;
        let tls = self.transport.tls();
        let claimant = Claimant {
            user,
            there: user,
            origin: &origin_of(self.remote),
            privacy: self.transport.privacy(),
            tls: tls.as_ref(),
            password_used: answer_bytes.unwrap_or_default() > 0,
        };
        may_become(env, &claimant)
    }
}
