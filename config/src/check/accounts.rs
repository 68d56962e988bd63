//! Checks of accounts: unique names, one secret each, and a secret that is sufficient for the account's use.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use ipnet::{Ipv4Net, ipv4_mask_to_prefix};

use crate::load::written::Written;
use crate::nearest::did_you_mean;
use crate::setting::ACCOUNT;
use crate::{
    AccountConfig, AccountTls, ClientCertificate, ClientTlsMode, Config, Fault, HashForm,
    ListenerConfig, SessionMode,
};

/// Adds every fault of the configured accounts, and of the settings for learned ones.
pub(super) fn faults(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    learning(config, written, faults);
    unique(config, written, faults);
    for (index, account) in config.configured_accounts.iter().enumerate() {
        let looked_at = AccountCheck {
            config,
            written,
            index,
            account,
        };
        faults.extend(looked_at.faults());
    }
}

/// Warnings about settings that are allowed, but may be a mistake.
pub(super) fn warnings(config: &Config, written: &Written) -> Vec<Fault> {
    let accounts = config.configured_accounts.iter().enumerate();
    let looks = accounts.map(|(index, account)| AccountCheck {
        config,
        written,
        index,
        account,
    });
    looks.flat_map(|look| look.warnings()).collect()
}

fn learning(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    if config.accounts.learn && config.health.monitor_user.is_none() {
        let fault = written.fault("accounts.learn", "needs health.monitor_user");
        faults.push(fault.hint("an account that may read the servers' grant tables"));
    }
}

/// Finds accounts that occur twice. As with the servers, the case of letters does not count in hosts, but counts in
/// users.
fn unique(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    let mut names = HashMap::new();
    for (index, account) in config.configured_accounts.iter().enumerate() {
        let name = (&account.user, account.host.to_ascii_lowercase());
        if names.insert(name, index).is_some() {
            let key = Written::of(ACCOUNT.name, index, "user");
            let text = format!("{} is given twice", account.title());
            let hint = "accounts of one user differ in host";
            faults.push(written.fault(&key, text).hint(hint));
        }
    }
}

/// The check of one account.
struct AccountCheck<'a> {
    config: &'a Config,
    written: &'a Written,
    index: usize,
    account: &'a AccountConfig,
}

impl AccountCheck<'_> {
    fn faults(&self) -> Vec<Fault> {
        let rules = [
            self.nameless(),
            self.strange_network(),
            self.two_secrets(),
            self.strange_hash(),
            self.nothing_for_a_backend(),
            self.password_without_user(),
            self.nameless_backend_user(),
            self.tls_that_is_not_there(),
        ];
        rules.into_iter().flatten().collect()
    }

    fn warnings(&self) -> Vec<Fault> {
        [self.open_to_all(), self.open_backend()]
            .into_iter()
            .flatten()
            .collect()
    }

    fn fault(&self, key: &str, text: impl Into<String>) -> Fault {
        let key = Written::of(ACCOUNT.name, self.index, key);
        self.written.fault(&key, text)
    }

    fn nameless(&self) -> Option<Fault> {
        let fault = || self.fault("user", "must name a user");
        self.account.user.is_empty().then(fault)
    }

    /// A host with a slash is an IPv4 network, as with MySQL. No address matches it if it has bits that its mask
    /// does not cover.
    fn strange_network(&self) -> Option<Fault> {
        let (address, mask) = self.account.host.split_once('/')?;
        let Some(network) = network(address, mask) else {
            let text = format!("\"{}\" is no network", self.account.host);
            let hint = "\"10.0.0.0/8\" or \"10.0.0.0/255.0.0.0\"; IPv6 goes into account.networks";
            return Some(self.fault("host", text).hint(hint));
        };
        let text = format!("no address is in \"{}\"", self.account.host);
        let fault = || {
            self.fault("host", text)
                .hint(did_you_mean(&network.trunc().to_string()))
        };
        (network.trunc() != network).then(fault)
    }

    fn two_secrets(&self) -> Option<Fault> {
        let both = self.account.password.is_some() && self.account.hash.is_some();
        let fault = || self.fault("hash", "stands beside account.password");
        both.then(|| fault().hint("give one of the two"))
    }

    fn strange_hash(&self) -> Option<Fault> {
        self.account.hash.as_ref()?;
        if self.account.hash_form().is_some() {
            return None;
        }
        let text = "is no hash of mysql_native_password, caching_sha2_password or ed25519";
        let hint = "\"*\" and 40 hexadecimal digits, \"$A$005$…\" of 70 characters, or 43 of base \
                    64; a password goes into account.password";
        Some(self.fault("hash", text).hint(hint))
    }

    /// With ed25519 a server learns that a client knows the password, but gets no credential for a login to a backend.
    fn nothing_for_a_backend(&self) -> Option<Fault> {
        let account = self.account;
        let is_ed25519 = account.hash_form() == Some(HashForm::Ed25519);
        if !is_ed25519 || account.backend_user.is_some() || !self.is_pooled() {
            return None;
        }
        let text = "of ed25519 yields nothing with which the proxy could log in to a backend";
        let hint = "give account.password instead, or backend_user and backend_password, or \
                    routing.session = \"transparent\"";
        Some(self.fault("hash", text).hint(hint))
    }

    /// Whether a session of the account may share backend connections on some listener.
    fn is_pooled(&self) -> bool {
        let modes = |listener: Option<SessionMode>| {
            self.config
                .routing
                .mode(listener, self.account.routing.session)
                != SessionMode::Transparent
        };
        let of_listener = |listener: &ListenerConfig| modes(listener.mode());
        modes(None) || self.config.listeners.iter().any(of_listener)
    }

    fn password_without_user(&self) -> Option<Fault> {
        let account = self.account;
        let lost = account.backend_password.is_some() && account.backend_user.is_none();
        let fault = || self.fault("backend_password", "is of no use without backend_user");
        lost.then(fault)
    }

    fn nameless_backend_user(&self) -> Option<Fault> {
        let is_empty = self.account.backend_user.as_deref() == Some("");
        let fault = || self.fault("backend_user", "must name a user");
        is_empty.then(fault)
    }

    fn tls_that_is_not_there(&self) -> Option<Fault> {
        let tls = &self.config.client_tls;
        let demand = self.account.tls;
        if demand != AccountTls::None && tls.mode == ClientTlsMode::Off {
            let text = format!("\"{demand}\" cannot be had with client_tls.mode = \"off\"");
            return Some(self.fault("tls", text));
        }
        let unasked = tls.client_certificate == ClientCertificate::NotAsked;
        if demand == AccountTls::X509 && unasked {
            let text =
                "\"x509\" needs client_tls.client_certificate = \"optional\" or \"required\"";
            return Some(self.fault("tls", text));
        }
        None
    }

    fn open_to_all(&self) -> Option<Fault> {
        let account = self.account;
        let password = account.password.as_ref().map_or("", |it| it.expose());
        if account.hash.is_some() || !password.is_empty() {
            return None;
        }
        let text = format!("{} has no password", account.title());
        let hint = "give account.password or account.hash";
        Some(self.fault("user", text).hint(hint))
    }

    fn open_backend(&self) -> Option<Fault> {
        let account = self.account;
        let user = account.backend_user.as_ref()?;
        if account.backend_password.is_some() {
            return None;
        }
        let text = format!("\"{user}\" logs in to backends without a password");
        Some(
            self.fault("backend_user", text)
                .hint("give account.backend_password"),
        )
    }
}

/// An IPv4 network from an address and a mask, or the mask's length, which must not be 0.
fn network(address: &str, mask: &str) -> Option<Ipv4Net> {
    let length = match mask.parse::<Ipv4Addr>() {
        Ok(mask) => ipv4_mask_to_prefix(mask).ok()?,
        Err(_) if mask.bytes().all(|byte| byte.is_ascii_digit()) => mask.parse().ok()?,
        Err(_) => return None,
    };
    let network = Ipv4Net::new(address.parse().ok()?, length).ok()?;
    (length > 0).then_some(network)
}
