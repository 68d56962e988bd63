//! Checks of redirects: whether the proxy knows the target, and which settings the redirected clients bypass.

use crate::load::written::Written;
use crate::setting::LISTENER;
use crate::{Config, Fault, ListenerConfig, Redirect, SessionMode};

/// Adds every fault of the listeners whose clients are redirected.
pub(super) fn faults(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    for (index, listener) in config.listeners.iter().enumerate() {
        let Some(redirect) = &listener.redirect else {
            continue;
        };
        let key = Written::of(LISTENER.name, index, "redirect");
        if *redirect == Redirect::Backend && is_pooled(config, listener) {
            let text = "\"backend\" needs sessions with a backend of their own, and this listener's are pooled";
            let hint = "routing.session = \"transparent\", or the address of another proxy";
            faults.push(written.fault(&key, text).hint(hint));
        }
        if !config.scripts_of(listener).is_empty() || config.accounts_run_scripts() {
            let text = "leads clients past the scripts of this listener's sessions";
            let hint = "routing.script = [] of the listener, and no script of an account";
            faults.push(written.fault(&key, text).hint(hint));
        }
    }
}

/// Whether sessions of a listener may be pooled, and then have no backend of their own.
fn is_pooled(config: &Config, listener: &ListenerConfig) -> bool {
    let knows_accounts = config.accounts.learn || !config.configured_accounts.is_empty();
    knows_accounts && listener.mode() != Some(SessionMode::Transparent)
}
