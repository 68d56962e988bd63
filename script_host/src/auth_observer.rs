//! Shows a script the packets of a login that passes through: `read_auth_result` runs for each packet of
//! the backend's.

use script::{Decision, Hook, Session};
use wire::errors;
use wire::reply::{ERR, OK};

use link::dialogue::{LoginObserver, Relayed};

/// The reason, for the log.
pub const RESET: &str = "the script has given the connection away before the login was done";

/// A script that observes a login.
pub struct AuthObserver<'a> {
    script: &'a mut Session,
    /// The connection that logs in, if scripts can move it.
    server_id: Option<u64>,
}

impl<'a> AuthObserver<'a> {
    /// Observes the login of a connection that scripts call `server_id`.
    pub fn new(script: &'a mut Session, server_id: Option<u64>) -> Self {
        Self { script, server_id }
    }

    /// Whether the script has given the connection away before it was logged in.
    fn is_reset(&self, payload: &[u8]) -> bool {
        let is_under_way = !matches!(payload.first(), Some(&(OK | ERR)));
        is_under_way && self.server_id.is_some() && self.script.server_id() != self.server_id
    }
}

impl LoginObserver for AuthObserver<'_> {
    fn observe(&mut self, payload: &[u8]) -> Relayed {
        if !self.script.has(Hook::ReadAuthResult) {
            return Relayed::AsItIs;
        }
        let decision = self.script.read_auth_result(payload);
        if self.is_reset(payload) {
            let payload = errors::connection_moved().payload();
            return Relayed::Last(vec![payload], RESET);
        }
        if decision != Decision::SendResult {
            return Relayed::AsItIs;
        }
        let payloads: Vec<Vec<u8>> = match self.script.response() {
            Some(payloads) => payloads.iter().map(<[u8]>::to_vec).collect(),
            None => vec![errors::response_unusable().payload()],
        };
        match payloads.iter().any(|it| it.first() == Some(&ERR)) {
            true => Relayed::Last(payloads, "read_auth_result has answered the client"),
            false => Relayed::Instead(payloads),
        }
    }
}
