//! Checks of the admin port's users: each needs a unique name and a password.

use std::collections::HashSet;

use crate::load::written::Written;
use crate::setting::ADMIN_ACCOUNT;
use crate::{Config, Fault, Secret};

/// Adds every fault of the users of the admin port.
pub(super) fn faults(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    let admin = &config.admin;
    let is_empty = |password: &Option<Secret>| {
        let password = password.as_ref();
        password.is_none_or(|password| password.expose().is_empty())
    };
    let mut seen = HashSet::new();
    match &admin.username {
        Some(user) if user.is_empty() => {
            faults.push(written.fault("admin.username", "must name a user"));
        }
        Some(user) => {
            seen.insert(user.as_str());
            if is_empty(&admin.password) {
                let fault = written.fault("admin.username", "needs a password");
                faults.push(fault.hint("admin.password"));
            }
        }
        None if admin.password.is_some() => {
            let text = "is of no use without admin.username";
            faults.push(written.fault("admin.password", text));
        }
        None => {}
    }
    for (index, account) in config.admin_accounts.iter().enumerate() {
        let key = |key| Written::of(ADMIN_ACCOUNT.name, index, key);
        if account.user.is_empty() {
            faults.push(written.fault(&key("user"), "must name a user"));
        } else if !seen.insert(&account.user) {
            let text = format!("{} is given twice", account.user);
            faults.push(written.fault(&key("user"), text));
        }
        if written.has(&key("password")) && is_empty(&account.password) {
            faults.push(written.fault(&key("password"), "must not be empty"));
        }
    }
}
