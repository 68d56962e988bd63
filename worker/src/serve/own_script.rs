//! The scripts of an account that has scripts of its own.

use std::rc::Rc;

use super::facts::Facts;
use crate::worker::Worker;
use link::failure::Failure;
use link::packets::PacketStream;
use login::server_login::AdmittedLogin;
use script_host::host::Host;
use script_host::login_hooks::{LoggedInClient as LoggedIn, LoginHooks};
use scripted::pooled_stage::no_scripts_yet;

/// Returns the account's own scripts if it has any, instead of the listener's scripts.
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
    // The listener's scripts learn that their part has ended.
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
