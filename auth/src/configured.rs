//! Accounts of the configuration's `[[account]]` tables.

use config::{AccountConfig, AccountTls, HashForm};

use crate::accounts::CONFIGURED_RULES;
use crate::{
    Account, AccountPooling, AccountRouting, BackendLogin, Conditions, Directory, HostPattern,
    LoginMethod, MalformedHash, PassThrough, Password, PinRules, Plugin, TlsRequirement, Verifier,
};

/// An `[[account]]` that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("account {account}: {fault}")]
pub struct FaultyAccount {
    /// As `'user'@'host'`.
    pub account: String,
    /// What is wrong with it.
    pub fault: AccountFault,
}

/// What is wrong with an `[[account]]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AccountFault {
    /// No plugin has a hash of this form.
    #[error("its hash is none of mysql_native_password, caching_sha2_password or ed25519")]
    StrangeHash,
    /// The hash has a plugin's form, but is invalid.
    #[error("{0}")]
    Hash(#[from] MalformedHash),
    /// The host has a slash, but is no network.
    #[error(
        "its host is no network: an IPv4 address with a mask (10.0.0.0/255.0.0.0) or its length, 1 to 32 (10.0.0.0/8); for IPv6 use networks"
    )]
    Network,
    /// The host is a network that no address matches: there are bits to the right of the mask.
    #[error("no address is in its host's network: bits to the right of its mask are not zero")]
    EmptyNetwork,
    /// Its host is a name.
    #[error(
        "its host is a name, and the proxy looks up no names: give an address, a network (10.0.0.0/8), or a pattern of addresses (10.0.%)"
    )]
    HostName,
}

/// The directory of the configured accounts; `secret` as for [`Directory::new`].
///
/// # Errors
/// The accounts that cannot be used.
pub fn configured(
    accounts: &[AccountConfig],
    secret: [u8; 32],
) -> Result<Directory, Vec<FaultyAccount>> {
    let (mut built, mut faulty) = (Vec::new(), Vec::new());
    for config in accounts {
        match account(config) {
            Ok(account) => built.push(account),
            Err(fault) => faulty.push(FaultyAccount {
                account: config.title(),
                fault,
            }),
        }
    }
    match faulty.is_empty() {
        true => Ok(Directory::new(CONFIGURED_RULES, built, secret)),
        false => Err(faulty),
    }
}

fn account(config: &AccountConfig) -> Result<Account, AccountFault> {
    Ok(Account {
        login_method: login_method(config)?,
        schema: config.schema.clone(),
        conditions: Conditions {
            tls: match config.tls {
                AccountTls::None => TlsRequirement::None,
                AccountTls::Required => TlsRequirement::Any,
                AccountTls::X509 => TlsRequirement::X509,
            },
            networks: config.networks.clone(),
            user_connections_max: config.connections_max,
            ..Conditions::default()
        },
        backend: backend(config),
        routing: AccountRouting {
            cluster: config.routing.cluster.clone(),
            replicas: config.routing.replicas,
            lanes: config.routing.lanes,
            consistency: config.routing.consistency,
            optimistic_transactions: config.routing.optimistic_transactions,
        },
        pooling: AccountPooling {
            mode: config.routing.session,
            timeout_idle_transaction: config.timeout_idle_transaction,
            pin_rules: PinRules {
                pins: config.pin.iter().copied().collect(),
                unpins: config.unpin.iter().copied().collect(),
            },
        },
        explains: config.explain,
        replicates: config.replication,
        script: config.routing.script.clone(),
        hints: config.hints.clone(),
        ..Account::new(&config.user, host(config)?, Vec::new())
    })
}

/// An ed25519 hash proves a client, but yields no credential for a backend. Without another backend login the
/// backend itself must examine the client.
fn login_method(config: &AccountConfig) -> Result<LoginMethod, AccountFault> {
    let verifier = verifier(config)?;
    let is_dead_end = matches!(verifier, Verifier::Ed25519(_)) && config.backend_user.is_none();
    Ok(match is_dead_end {
        true => LoginMethod::PassedThrough(PassThrough::Plugin("ed25519".to_owned())),
        false => LoginMethod::Examined([verifier].into()),
    })
}

fn verifier(config: &AccountConfig) -> Result<Verifier, AccountFault> {
    let Some(hash) = &config.hash else {
        let password = config.password.as_ref().map_or("", |it| it.expose());
        return Ok(Verifier::Password(Password::new(password)));
    };
    let plugin = match config.hash_form().ok_or(AccountFault::StrangeHash)? {
        HashForm::Native => Plugin::Native,
        HashForm::CachingSha2 => Plugin::CachingSha2,
        HashForm::Ed25519 => Plugin::Ed25519,
    };
    Ok(Verifier::parse(plugin, hash.expose().as_bytes())?)
}

fn host(config: &AccountConfig) -> Result<HostPattern, AccountFault> {
    let host = HostPattern::new(&config.host, CONFIGURED_RULES.dialect);
    match (config.host.contains('/'), host.network()) {
        _ if host.needs_host_name() => Err(AccountFault::HostName),
        (true, None) => Err(AccountFault::Network),
        (true, Some((bits, mask))) if bits & !mask != 0 => Err(AccountFault::EmptyNetwork),
        _ => Ok(host),
    }
}

fn backend(config: &AccountConfig) -> Option<BackendLogin> {
    let password = config.backend_password.as_ref();
    Some(BackendLogin {
        user: config.backend_user.clone()?,
        password: Password::new(password.map_or("", |it| it.expose())),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use config::{PinRule, RoutingOverride, Secret, SessionMode, UnpinRule};

    use super::*;
    use crate::{Credential, NativeHash, Origin, Treatment};

    fn app() -> AccountConfig {
        AccountConfig {
            user: "app".to_owned(),
            ..AccountConfig::default()
        }
    }

    fn with_hash(hash: &str) -> AccountConfig {
        AccountConfig {
            hash: Some(Secret::new(hash)),
            ..app()
        }
    }

    fn at(host: &str) -> AccountConfig {
        AccountConfig {
            host: host.to_owned(),
            ..app()
        }
    }

    fn fault(config: AccountConfig) -> AccountFault {
        let faulty = configured(&[app(), config], [0; 32]).unwrap_err();
        assert_eq!(faulty.len(), 1);
        faulty[0].fault
    }

    const NATIVE: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
    const SHA2: &str = "$A$005$6U`~m'-h:xRA.'Ts?w30ME1jCujyU035ycW63y4kHwMGnpthGV4gRracJPEqMp9";
    const ED25519: &str = "T9LWm4UVPJyvQCr8JrJTIFp6GA0fQavX1oFdR4U9JoI";

    #[test]
    fn an_account_has_all_values_of_its_configuration() {
        let config = AccountConfig {
            host: "10.%".to_owned(),
            password: Some(Secret::new("secret")),
            schema: Some("shop".to_owned()),
            networks: vec!["10.1.0.0/16".parse().unwrap()],
            tls: AccountTls::X509,
            connections_max: Some(7),
            timeout_idle_transaction: Some(std::time::Duration::from_secs(9)),
            backend_user: Some("pool".to_owned()),
            backend_password: Some(Secret::new("other")),
            routing: RoutingOverride {
                session: Some(SessionMode::Transaction),
                ..RoutingOverride::default()
            },
            pin: vec![PinRule::Warnings, PinRule::Warnings],
            unpin: vec![UnpinRule::Routines],
            ..app()
        };
        let directory = configured(&[config], [0; 32]).unwrap();
        let origin = Origin::tcp([10, 1, 2, 3].into(), None);
        let account = directory.find(b"app", &origin).unwrap();
        assert_eq!(account.name(), "'app'@'10.%'");
        assert_eq!(account.schema.as_deref(), Some("shop"));
        assert_eq!(account.conditions.networks.len(), 1);
        assert_eq!(account.conditions.tls, TlsRequirement::X509);
        assert_eq!(account.conditions.user_connections_max, Some(7));
        let limit = account.pooling.timeout_idle_transaction;
        assert_eq!(limit, Some(std::time::Duration::from_secs(9)));
        assert_eq!(account.backend_user(), "pool");
        let credential = Credential::Password(Password::new("other"));
        assert_eq!(account.backend_credential(), Some(credential));
        assert_eq!(account.pooling.mode, Some(SessionMode::Transaction));
        assert_eq!(
            account.pooling.pin_rules.pins,
            BTreeSet::from([PinRule::Warnings])
        );
        assert_eq!(
            account.pooling.pin_rules.unpins,
            BTreeSet::from([UnpinRule::Routines])
        );
        let secret = Verifier::Password(Password::new("secret"));
        assert_eq!(account.login_method, LoginMethod::Examined([secret].into()));
    }

    #[test]
    fn each_form_of_hash_is_read_and_selects_its_plugin() {
        let found = |config: AccountConfig| {
            let directory = configured(&[config], [0; 32]).unwrap();
            let account = directory.accounts().next().unwrap();
            (
                account.treatment(Duration::ZERO),
                account.backend_credential(),
            )
        };
        let native = Verifier::Native(NativeHash::parse(NATIVE.as_bytes()).unwrap());
        let examine = |verifier| Treatment::Examine([verifier].into());
        assert_eq!(found(with_hash(NATIVE)), (examine(native), None));
        let sha2 = Verifier::parse(Plugin::CachingSha2, SHA2.as_bytes()).unwrap();
        assert_eq!(found(with_hash(SHA2)), (examine(sha2), None));

        let dead_end = Treatment::PassThrough(PassThrough::Plugin("ed25519".to_owned()));
        assert_eq!(found(with_hash(ED25519)), (dead_end, None));
        let with_backend = AccountConfig {
            backend_user: Some("pool".to_owned()),
            ..with_hash(ED25519)
        };
        let ed25519 = Verifier::parse(Plugin::Ed25519, ED25519.as_bytes()).unwrap();
        let empty = Credential::Password(Password::new(""));
        assert_eq!(found(with_backend), (examine(ed25519), Some(empty)));
    }

    #[test]
    fn without_password_and_hash_there_is_no_password() {
        let directory = configured(&[app()], [0; 32]).unwrap();
        let account = directory.find(b"app", &Origin::unix()).unwrap();
        let empty = Credential::Password(Password::new(""));
        assert_eq!(account.backend_credential(), Some(empty));
    }

    #[test]
    fn unusable_accounts_are_reported_with_the_reason() {
        assert_eq!(fault(with_hash("secret")), AccountFault::StrangeHash);
        let no_key = ED25519.replace("JoI", "JoJ");
        assert_eq!(
            fault(with_hash(&no_key)),
            AccountFault::Hash(MalformedHash(Plugin::Ed25519)),
            "two bits too many"
        );
        for host in [
            "10.0.0.0/33",
            "10.0.0.0/0",
            "10.0.0/8",
            "fd00::/8",
            "10.%/8",
        ] {
            assert_eq!(fault(at(host)), AccountFault::Network, "{host}");
        }
        assert_eq!(fault(at("10.1.2.3/8")), AccountFault::EmptyNetwork);
        let all = configured(&[at("10.1.2.3/8"), with_hash("x")], [0; 32]).unwrap_err();
        let text = "account 'app'@'10.1.2.3/8': no address is in its host's network: bits to the \
                    right of its mask are not zero";
        assert_eq!(all[0].to_string(), text);
        assert_eq!(all.len(), 2, "every fault is told");
    }

    #[test]
    fn networks_are_hosts_by_mask_and_by_length() {
        for host in ["10.0.0.0/255.0.0.0", "10.0.0.0/8"] {
            let directory = configured(&[at(host)], [0; 32]).unwrap();
            let find =
                |address: [u8; 4]| directory.find(b"app", &Origin::tcp(address.into(), None));
            assert!(find([10, 1, 2, 3]).is_some());
            assert!(find([11, 1, 2, 3]).is_none());
        }
    }
}
