//! Ways around a rule that refuses, answers or rewrites: sessions that no rule sees. `--check` warns of each.

use config::{
    AccountConfig, Config, Fault, HashForm, OtherAccounts, SessionMode, WhenUnsure, Written,
};
use route::rules::{Rules, Then};

/// A warning for each way around a rule that is a boundary; none if there is no such rule.
pub fn boundary_gaps(config: &Config, written: &Written, rules: &Rules) -> Vec<Fault> {
    let is_boundary = |rule: &route::rules::Rule| {
        rule.when_unsure == WhenUnsure::Refuse && rule.then != Then::DryRun
    };
    let Some((_, rule)) = rules.iter().find(|(_, rule)| is_boundary(rule)) else {
        return Vec::new();
    };
    let look = BoundaryCheck {
        config,
        written,
        rule: &rule.name,
    };
    let mut ways = Vec::new();
    ways.extend(look.unknown_users());
    ways.extend(look.transparent_listeners());
    ways.extend(look.accounts());
    ways
}

struct BoundaryCheck<'a> {
    config: &'a Config,
    written: &'a Written,
    /// The name of the first rule that is a boundary.
    rule: &'a str,
}

impl BoundaryCheck<'_> {
    fn gap(&self, setting: &str, text: &str) -> Fault {
        let text = format!("{text}, past rule \"{}\"", self.rule);
        self.written.fault(setting, text)
    }

    /// Users that the proxy does not know.
    fn unknown_users(&self) -> Option<Fault> {
        let accounts = &self.config.accounts;
        if accounts.others == OtherAccounts::Refuse {
            return None;
        }
        let (text, hint) = match (accounts.learn, self.config.configured_accounts.is_empty()) {
            (false, true) => (
                "has no [[account]] beside it and accounts.learn is off: all logins pass through, and sessions are relayed \
                 unread",
                "give the users an [[account]] each",
            ),
            (false, false) => (
                "is \"relay\": the sessions of users without an [[account]] are relayed unread",
                "accounts.others = \"refuse\"",
            ),
            (true, _) => (
                "is \"relay\": the sessions of users whose accounts cannot be learned are relayed unread",
                "accounts.others = \"refuse\"",
            ),
        };
        Some(self.gap("accounts.others", text).hint(hint))
    }

    fn transparent_listeners(&self) -> Vec<Fault> {
        let listeners = self.config.listeners.iter().enumerate();
        let ways = listeners.filter_map(|(index, listener)| {
            let text = match listener.routing.session? {
                SessionMode::Transparent => "is \"transparent\": its sessions are relayed unread",
                SessionMode::Kernel => "is \"kernel\": the kernel passes its sessions' bytes",
                SessionMode::Transaction | SessionMode::Statement => return None,
            };
            let setting = Written::of("listener", index, "routing.session");
            Some(self.gap(&setting, text))
        });
        let all = self.config.routing.session == SessionMode::Transparent;
        let all = all.then(|| {
            self.gap("routing.session", "is \"transparent\": sessions are relayed unread, unless a listener or an account says otherwise")
        });
        ways.chain(all).collect()
    }

    fn accounts(&self) -> Vec<Fault> {
        let accounts = self.config.configured_accounts.iter().enumerate();
        accounts
            .filter_map(|(index, account)| self.account(index, account))
            .collect()
    }

    fn account(&self, index: usize, account: &AccountConfig) -> Option<Fault> {
        let key = |key| Written::of("account", index, key);
        if account.routing.session == Some(SessionMode::Transparent) {
            let text = "is \"transparent\": the account's sessions are relayed unread";
            return Some(self.gap(&key("routing.session"), text));
        }
        let is_dead_end =
            account.hash_form() == Some(HashForm::Ed25519) && account.backend_user.is_none();
        is_dead_end.then(|| {
            let text = "is of ed25519, and the account has no backend_user: a backend answers its logins, and its \
                        sessions are relayed unread";
            self.gap(&key("hash"), text)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write as _;

    use super::super::checked;
    use super::*;

    const RULE: &str = "[[rule]]\nname = \"no\"\ntables = \"t\"\nrefuse = \"no\"\n";

    fn warned(text: &str) -> Vec<String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "{text}\n[[backend]]\naddress = \"127.0.0.1:1\"\n").unwrap();
        let loaded = Config::load(Some(file.path()), &[]).unwrap();
        let warnings = checked(loaded).unwrap().warnings;
        let ways = warnings.iter().map(ToString::to_string);
        ways.filter(|it| it.contains("past rule")).collect()
    }

    #[test]
    fn each_gap_of_a_rule_is_reported() {
        let account = "[[account]]\nuser = \"app\"\npassword = \"x\"\n";
        for (text, count) in [
            (RULE.to_owned(), 1),
            (account.to_owned(), 0),
            (format!("{account}{RULE}"), 1),
            (
                format!("[accounts]\nothers = \"refuse\"\n{account}{RULE}"),
                0,
            ),
            (
                format!(
                    "[accounts]\nothers = \"refuse\"\n{account}routing.session = \"transparent\"\n{RULE}"
                ),
                1,
            ),
            (
                format!(
                    "[accounts]\nothers = \"refuse\"\n[routing]\nsession = \"transparent\"\n{account}{RULE}"
                ),
                1,
            ),
            (
                format!("[accounts]\nlearn = true\n[health]\nmonitor_user = \"m\"\n{RULE}"),
                1,
            ),
            (format!("{account}{RULE}when_unsure = \"pass\"\n"), 0),
        ] {
            let ways = warned(&text);
            assert_eq!(ways.len(), count, "{text}\n{ways:#?}");
        }
    }
}
