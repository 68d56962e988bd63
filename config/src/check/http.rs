//! Checks of the HTTP port: a valid token.

use crate::load::written::Written;
use crate::{Config, Fault};

/// The shortest token, in bytes: a shorter token could be guessed.
const TOKEN_BYTES_MIN: usize = 16;

/// Adds every fault of the HTTP port's settings.
pub(super) fn faults(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    let Some(token) = &config.http.token else {
        return;
    };
    let token = token.expose();
    if token.len() < TOKEN_BYTES_MIN {
        let text = format!("must have {TOKEN_BYTES_MIN} bytes or more");
        let fault = written.fault("http.token", text);
        faults.push(fault.hint("openssl rand -hex 32"));
    } else if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let text = "must be of visible ASCII characters, without spaces";
        faults.push(written.fault("http.token", text));
    }
}
