//! The scripts of an account that has its own.

use std::rc::Rc;

use super::facts::Facts;
use crate::worker::Worker;
use link::failure::Failure;
use link::packets::PacketStream;
use login::server_login::AdmittedLogin;
use script_host::host::Host;
use script_host::login_hooks::{LoggedInClient as LoggedIn, LoginHooks};
use scripted::pooled_stage::no_scripts_yet;

/// The scripts of the account that has logged in, if it has its own, instead of the listener's.
pub(super) fn own_script(
    worker: &Worker,
    client: &PacketStream,
    admission: &AdmittedLogin,
    script: Option<(LoginHooks, Rc<Host>)>,
    facts: &Facts,
) -> Result<Option<(LoginHooks, Rc<Host>)>, Failure> {
    let Some(files) = &admission.account.script else {
        return Ok(script);
    };
    let Some(host) = worker.script_host() else {
        return match files.is_empty() {
            true => Ok(script),
            false => Err(no_scripts_yet()),
        };
    };
    // The listener's learn of its end.
    drop(script);
    let newcomer = LoggedIn {
        remote: &facts.client,
        local: client.local_address(),
        user: &admission.user,
        schema: admission.schema.as_deref().unwrap_or_default(),
        greeting: &admission.greeting,
    };
    let hooks = LoginHooks::of_account(&host, files, &newcomer)?;
    Ok(hooks.map(|hooks| (hooks, host)))
}
