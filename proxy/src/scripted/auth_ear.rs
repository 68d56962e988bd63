//! What a script hears of a login that passes through: `read_auth_result`, for each of the backend's
//! packets.

use script::{Decision, FAILED, Hook, Session, err_payload};
use wire::reply::ERR;

use crate::dialogue::Ear;

/// A script that listens to a login.
pub(crate) struct AuthEar<'a> {
    script: &'a mut Session,
    /// The script has told the client an error: the session ends.
    pub has_refused: bool,
}

impl<'a> AuthEar<'a> {
    pub(crate) fn new(script: &'a mut Session) -> Self {
        Self {
            script,
            has_refused: false,
        }
    }
}

impl Ear for AuthEar<'_> {
    fn hears(&mut self, payload: &[u8]) -> Option<Vec<Vec<u8>>> {
        if !self.script.has(Hook::ReadAuthResult) {
            return None;
        }
        match self.script.read_auth_result(payload) {
            Decision::SendResult => {}
            _ => return None,
        }
        let payloads: Vec<Vec<u8>> = match self.script.response() {
            Some(payloads) => payloads.iter().map(<[u8]>::to_vec).collect(),
            None => vec![err_payload(FAILED)],
        };
        self.has_refused = payloads.iter().any(|it| it.first() == Some(&ERR));
        Some(payloads)
    }
}
