//! An account: its user, its host, its verifiers, and its conditions.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use config::{Consistency, HintStyle, LaneUse, PinRule, ReplicaUse, SessionMode, UnpinRule};
use ipnet::IpNet;

use crate::digest::sha256;
use crate::learned::MalformedRow;
use crate::{Credential, Denial, HostPattern, Names, Origin, Password, Source, Verifier};

/// One account, of the configuration or of a server's grant table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The user's name; empty: an anonymous account, for any user.
    pub user: String,
    /// The hosts that the account is for.
    pub host: HostPattern,
    /// Where the proxy knows the account from.
    pub source: Source,
    /// How the client proves that it is this user.
    pub login_method: LoginMethod,
    /// The first schema, if the client names none.
    pub schema: Option<String>,
    /// The conditions under which a client that has proven the account may log in.
    pub conditions: Conditions,
    /// The role that is set at login.
    pub default_role: Option<String>,
    /// The login of its sessions to backends, if it is not the account's own.
    pub backend: Option<BackendLogin>,
    /// Where its sessions' statements go.
    pub routing: AccountRouting,
    /// How its sessions keep their backend connections.
    pub pooling: AccountPooling,
    /// Whether its clients may ask the proxy about itself; `None`: the account does not say.
    pub explains: Option<bool>,
    /// Whether its clients may send the commands of replication.
    pub replicates: bool,
    /// The scripts that its sessions run; `None`: the account does not say.
    pub script: Option<Vec<PathBuf>>,
    /// The styles of hints that its statements may use; `None`: the account does not say.
    pub hints: Option<Vec<HintStyle>>,
}

/// The conditions under which a client may log in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The TLS that the client's connection must have.
    pub tls: TlsRequirement,
    /// From which networks a client may come, besides the host pattern; empty: from all.
    pub networks: Vec<IpNet>,
    /// The account is locked: no client may log in, even with the right password.
    pub locked: bool,
    /// When the password expires.
    pub expiry: Expiry,
    /// How many connections the user may have at once; `None`: no limit.
    pub user_connections_max: Option<u32>,
}

/// An account's settings of where its sessions' statements go. `None` in a field: the account does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountRouting {
    /// The cluster that its sessions use.
    pub cluster: Option<String>,
    /// How its sessions may use replicas.
    pub replicas: Option<ReplicaUse>,
    /// Which of its sessions' statements may use lanes.
    pub lanes: Option<LaneUse>,
    /// What its sessions' reads see of earlier writes.
    pub consistency: Option<Consistency>,
    /// Whether its sessions' transactions may begin on a replica.
    pub optimistic_transactions: Option<bool>,
}

/// An account's settings of its sessions' backend connections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountPooling {
    /// For how long its sessions keep a backend connection; `None`: the account does not say.
    pub mode: Option<SessionMode>,
    /// How long its transactions may be idle; zero: no limit; `None`: the account does not say.
    pub timeout_idle_transaction: Option<Duration>,
    /// What pins its sessions to their backend connections, and what does not.
    pub pin_rules: PinRules,
}

/// An account's settings of pins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PinRules {
    /// What pins its sessions to their backend connections in addition to the necessary pins.
    pub pins: BTreeSet<PinRule>,
    /// What does not pin, because the configuration declares that it leaves no state behind.
    pub unpins: BTreeSet<UnpinRule>,
}

/// A backend login of an account's own, of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendLogin {
    /// The user on the backend.
    pub user: String,
    /// The user's password on the backend.
    pub password: Password,
}

/// How a client proves who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginMethod {
    /// The proxy examines the client: any one of these verifiers suffices.
    Examined(Arc<[Verifier]>),
    /// The backend examines the client, through the proxy.
    PassedThrough(PassThrough),
}

/// Why an account's login has to pass through.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PassThrough {
    /// The proxy cannot check the plugin's proof, or the proof yields no credential for a backend.
    #[error("plugin {0}")]
    Plugin(String),
    /// The account requires more than one factor.
    #[error("more than one factor")]
    Factors,
    /// The server counts the account's failed logins and locks the account after some.
    #[error("failed logins are counted by the server")]
    CountsFailures,
    /// The password has expired: the server either refuses the login, or allows nothing but a change of the password.
    #[error("the password has expired")]
    Expired,
    /// The proxy does not understand the account's row in the grant table.
    #[error("{0}")]
    Unreadable(MalformedRow),
    /// The server allows the account no connection.
    #[error("no connection is allowed")]
    NoConnection,
}

/// How a client of an account logs in now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Treatment {
    /// Begin a [`crate::ServerAuthentication`] with these verifiers.
    Examine(Arc<[Verifier]>),
    /// Let the backend examine the client.
    PassThrough(PassThrough),
}

/// When a password expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expiry {
    /// Never.
    #[default]
    Never,
    /// The password has expired.
    Expired,
    /// At this time since 1970.
    At(Duration),
}

/// The TLS that an account requires of its client's connection (`REQUIRE …`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TlsRequirement {
    /// Nothing.
    #[default]
    None,
    /// TLS.
    Any,
    /// TLS with a valid client certificate.
    X509,
    /// TLS with these properties.
    Specified {
        /// Whether a valid certificate is required even without issuer and subject: MySQL requires it.
        has_certificate: bool,
        /// The cipher in use.
        cipher: Option<String>,
        /// The issuer of the client's certificate.
        issuer: Option<String>,
        /// Whom it names.
        subject: Option<String>,
    },
}

/// The TLS of a client's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsSession<'a> {
    /// The cipher in use, by OpenSSL's name.
    pub cipher: &'a str,
    /// The client's certificate, if it sent one that was verified.
    pub certificate: Option<Certificate<'a>>,
}

/// A client's certificate, its names as OpenSSL writes them in one line: `/C=SE/O=…/CN=…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Certificate<'a> {
    /// Who signed it.
    pub issuer: &'a str,
    /// Whom it names.
    pub subject: &'a str,
}

/// All facts that conditions are checked against.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// Where the client comes from.
    pub origin: &'a Origin,
    /// Its TLS; none without.
    pub tls: Option<TlsSession<'a>>,
    /// Whether a password was tried, as [`crate::Passed`] says.
    pub password_used: bool,
}

impl Account {
    /// An account without conditions: every client that passes `verifiers` may use it.
    pub fn new(user: impl Into<String>, host: HostPattern, verifiers: Vec<Verifier>) -> Self {
        Self {
            user: user.into(),
            host,
            source: Source::Configured,
            login_method: LoginMethod::Examined(verifiers.into()),
            schema: None,
            conditions: Conditions::default(),
            default_role: None,
            backend: None,
            routing: AccountRouting::default(),
            pooling: AccountPooling::default(),
            explains: None,
            replicates: false,
            script: None,
            hints: None,
        }
    }

    /// How a client of this account logs in. `now`: the time since 1970.
    pub fn treatment(&self, now: Duration) -> Treatment {
        let has_expired = match self.conditions.expiry {
            Expiry::Never => false,
            Expiry::Expired => true,
            Expiry::At(time) => time <= now,
        };
        match &self.login_method {
            LoginMethod::PassedThrough(reason) => Treatment::PassThrough(reason.clone()),
            LoginMethod::Examined(_) if has_expired => Treatment::PassThrough(PassThrough::Expired),
            LoginMethod::Examined(verifiers) => Treatment::Examine(Arc::clone(verifiers)),
        }
    }

    /// Checks the conditions, after the client has proven the account: like the servers, the proxy reveals
    /// no condition to a client that does not know the password.
    ///
    /// # Errors
    /// The error for the client.
    pub fn admit(&self, circumstances: &Circumstances<'_>) -> Result<(), Denial> {
        let denied = Denial::Access {
            password_used: circumstances.password_used,
        };
        let is_near = match circumstances.origin.address() {
            Some(address) => self
                .conditions
                .networks
                .iter()
                .any(|network| network.contains(&address)),
            // A Unix socket is on this machine, which is in every network.
            None => true,
        };
        let is_met = self.conditions.tls.is_met(circumstances.tls.as_ref());
        // The servers, too, check TLS before the lock.
        match (is_near || self.conditions.networks.is_empty()) && is_met {
            false => Err(denied),
            true if self.conditions.locked => Err(Denial::Locked),
            true => Ok(()),
        }
    }

    /// The user name of a client of this account. `given`: the name in the client's login, which counts if the account
    /// is anonymous.
    pub fn user_of<'a>(&'a self, given: &'a [u8]) -> &'a [u8] {
        match self.user.as_bytes() {
            [] => given,
            user => user,
        }
    }

    /// The user of the account's sessions on a backend. It is empty for an anonymous account: its sessions log in with
    /// the names that their clients gave.
    pub fn backend_user(&self) -> &str {
        match &self.backend {
            Some(login) => &login.user,
            None => &self.user,
        }
    }

    /// The credential that logs the account in to a backend, if it is known before any client has proven the account.
    pub fn backend_credential(&self) -> Option<Credential> {
        if let Some(login) = &self.backend {
            return Some(Credential::Password(login.password.clone()));
        }
        let LoginMethod::Examined(verifiers) = &self.login_method else {
            return None;
        };
        verifiers.iter().find_map(|verifier| match verifier {
            Verifier::Password(password) => Some(Credential::Password(password.clone())),
            Verifier::Empty(_) => Some(Credential::Password(Password::new(""))),
            _ => None,
        })
    }

    /// A digest of name, source and everything that a backend login may depend on. It is keyed with a secret, so that
    /// it reveals nothing about a password.
    pub(crate) fn fingerprint(&self, secret: &[u8; 32]) -> [u8; 32] {
        let source: &[u8] = match self.source {
            Source::Configured => b"configured",
            Source::Learned => b"learned",
        };
        let mut parts = vec![source, self.user.as_bytes(), self.host.as_str().as_bytes()];
        if let LoginMethod::Examined(verifiers) = &self.login_method {
            parts.extend(verifiers.iter().flat_map(Verifier::fingerprint_bytes));
        }
        if let Some(login) = &self.backend {
            parts.extend([b"backend", login.user.as_bytes(), login.password.expose()]);
        }
        // Each part has its own digest, so that the limits between the parts count, too.
        let digests: Vec<[u8; 32]> = parts.iter().map(|part| sha256(&[secret, part])).collect();
        sha256(&[secret, &digests.concat()])
    }

    /// The account's name as servers write it.
    pub fn name(&self) -> String {
        format!("'{}'@'{}'", self.user, self.host.as_str())
    }

    /// Whether only a client's host name can decide if the account matches.
    pub(crate) fn needs_host_name(&self, names: Names) -> bool {
        names == Names::Resolved && self.host.needs_host_name()
    }
}

impl TlsRequirement {
    /// Whether a connection meets the requirement (`acl_check_ssl`).
    pub fn is_met(&self, tls: Option<&TlsSession<'_>>) -> bool {
        let Some(tls) = tls else {
            return *self == Self::None;
        };
        match self {
            Self::None | Self::Any => true,
            Self::X509 => tls.certificate.is_some(),
            Self::Specified {
                has_certificate,
                cipher,
                issuer,
                subject,
            } => {
                let is = |wanted: &Option<String>, found: Option<&str>| match wanted {
                    None => true,
                    Some(wanted) => found == Some(wanted.as_str()),
                };
                (tls.certificate.is_some() || !has_certificate)
                    && is(cipher, Some(tls.cipher))
                    && is(issuer, tls.certificate.map(|it| it.issuer))
                    && is(subject, tls.certificate.map(|it| it.subject))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, Password};

    fn account() -> Account {
        let host = HostPattern::new("%", Dialect::MySql);
        Account::new(
            "app",
            host,
            vec![Verifier::Password(Password::new("secret"))],
        )
    }

    const CERTIFICATE: Certificate<'static> = Certificate {
        issuer: "/CN=ca",
        subject: "/CN=client",
    };
    const TLS: TlsSession<'static> = TlsSession {
        cipher: "TLS_AES_256_GCM_SHA384",
        certificate: None,
    };

    fn admitted(account: &Account, tls: Option<TlsSession<'_>>) -> bool {
        let origin = Origin::tcp([10, 0, 0, 1].into(), None);
        let circumstances = Circumstances {
            origin: &origin,
            tls,
            password_used: true,
        };
        account.admit(&circumstances).is_ok()
    }

    #[test]
    fn tls_requirements_of_an_account_are_enforced() {
        let known = TlsSession {
            certificate: Some(CERTIFICATE),
            ..TLS
        };
        let only_cipher = |has_certificate| TlsRequirement::Specified {
            has_certificate,
            cipher: Some("TLS_AES_256_GCM_SHA384".to_owned()),
            issuer: None,
            subject: None,
        };
        let names = |issuer: &str, subject: &str| TlsRequirement::Specified {
            has_certificate: false,
            cipher: None,
            issuer: Some(issuer.to_owned()),
            subject: Some(subject.to_owned()),
        };
        for (requirement, without, with_tls, with_certificate) in [
            (TlsRequirement::None, true, true, true),
            (TlsRequirement::Any, false, true, true),
            (TlsRequirement::X509, false, false, true),
            (only_cipher(false), false, true, true),
            (only_cipher(true), false, false, true),
            (names("/CN=ca", "/CN=client"), false, false, true),
            (names("/CN=ca", "/CN=other"), false, false, false),
            (names("/CN=other", "/CN=client"), false, false, false),
        ] {
            let account = Account {
                conditions: Conditions {
                    tls: requirement.clone(),
                    ..Conditions::default()
                },
                ..account()
            };
            let found = [None, Some(TLS), Some(known)].map(|tls| admitted(&account, tls));
            assert_eq!(
                found,
                [without, with_tls, with_certificate],
                "{requirement:?}"
            );
        }
    }

    #[test]
    fn a_locked_account_and_a_foreign_network_are_refused() {
        assert!(admitted(&account(), None));
        let locked = Account {
            conditions: Conditions {
                locked: true,
                ..Conditions::default()
            },
            ..account()
        };
        assert!(!admitted(&locked, None));
        let near = |network: &str| Account {
            conditions: Conditions {
                networks: vec![network.parse().unwrap()],
                ..Conditions::default()
            },
            ..account()
        };
        assert!(admitted(&near("10.0.0.0/8"), None));
        assert!(!admitted(&near("192.168.0.0/16"), None));
    }

    #[test]
    fn a_login_with_an_expired_password_passes_through_to_the_server() {
        let at = Duration::from_secs(1_000);
        let aging = Account {
            conditions: Conditions {
                expiry: Expiry::At(at),
                ..Conditions::default()
            },
            ..account()
        };
        let just_before = at - Duration::from_nanos(1);
        assert!(matches!(
            aging.treatment(just_before),
            Treatment::Examine(_)
        ));
        assert_eq!(
            aging.treatment(at),
            Treatment::PassThrough(PassThrough::Expired)
        );
    }
}
