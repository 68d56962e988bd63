//! An account: who, from where, verified by what, and under which conditions.

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
    /// The user's name; empty: anybody's.
    pub user: String,
    /// From where.
    pub host: HostPattern,
    /// Where it is known from.
    pub source: Source,
    /// How the client proves that it is this user.
    pub login_method: LoginMethod,
    /// The schema to begin with where the client names none.
    pub schema: Option<String>,
    /// On which conditions a client that has proven itself gets in.
    pub conditions: Conditions,
    /// The role that is set at login.
    pub default_role: Option<String>,
    /// As whom its sessions are logged in to backends, if not as themselves.
    pub backend: Option<BackendLogin>,
    /// Where its sessions' statements go.
    pub routing: AccountRouting,
    /// How its sessions keep their backend connections.
    pub pooling: AccountPooling,
    /// Whether its clients may ask the proxy about itself, if it says so itself.
    pub explains: Option<bool>,
    /// Whether its clients may send the commands of replication.
    pub replicates: bool,
    /// The scripts that its sessions run, if it says so itself.
    pub script: Option<Vec<PathBuf>>,
    /// Whose way of writing hints its statements may use, if it says so itself.
    pub hints: Option<Vec<HintStyle>>,
}

/// On which conditions a client gets in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    /// What is demanded of the client's connection.
    pub tls: TlsRequirement,
    /// From which networks a client may come, besides the host pattern; empty: from all.
    pub networks: Vec<IpNet>,
    /// Nobody gets in, even with the right password.
    pub locked: bool,
    /// When the password is too old.
    pub expiry: Expiry,
    /// How many connections there may be at once; none: as many as there are.
    pub user_connections_max: Option<u32>,
}

/// What an account says of where its sessions' statements go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountRouting {
    /// Which cluster its sessions go to, if it says so itself.
    pub cluster: Option<String>,
    /// Which roles they may use, if it says so itself.
    pub replicas: Option<ReplicaUse>,
    /// Which of their statements may use shared lanes, if it says so itself.
    pub lanes: Option<LaneUse>,
    /// What their reads see of earlier writes, if it says so itself.
    pub consistency: Option<Consistency>,
    /// Whether their transactions may begin on a replica, if it says so itself.
    pub optimistic_transactions: Option<bool>,
}

/// What an account says of its sessions' backend connections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountPooling {
    /// For how long its sessions keep a backend connection, if it says so itself.
    pub mode: Option<SessionMode>,
    /// How long its transactions may be idle, if it says so itself; zero: for ever.
    pub timeout_idle_transaction: Option<Duration>,
    /// What keeps its sessions on their backend connections, and what does not.
    pub pin_rules: PinRules,
}

/// What an account says of pins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PinRules {
    /// What keeps its sessions on their backend connections besides what has to.
    pub pins: BTreeSet<PinRule>,
    /// What is taken to leave nothing behind.
    pub unpins: BTreeSet<UnpinRule>,
}

/// A backend login of an account's own, of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendLogin {
    /// The user there.
    pub user: String,
    /// Its password there.
    pub password: Password,
}

/// How a client proves who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginMethod {
    /// Examined here: any of these will do.
    Examined(Arc<[Verifier]>),
    /// Examined by the backend, through us.
    PassedThrough(PassThrough),
}

/// Why an account's login has to pass through.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PassThrough {
    /// Its plugin is one whose proof cannot be checked here, or yields nothing for a backend.
    #[error("plugin {0}")]
    Plugin(String),
    /// It wants more than one factor.
    #[error("more than one factor")]
    Factors,
    /// The server counts its failed logins and locks it after some.
    #[error("failed logins are counted by the server")]
    CountsFailures,
    /// Its password has expired: the server either refuses, or lets it do nothing but change it.
    #[error("the password has expired")]
    Expired,
    /// Its row in the grant table is not understood.
    #[error("{0}")]
    Unreadable(MalformedRow),
    /// The server lets it have no connection.
    #[error("no connection is allowed")]
    NoConnection,
}

/// What is to be done with a client of an account at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Treatment {
    /// Begin a [`crate::ServerAuthentication`] with these.
    Examine(Arc<[Verifier]>),
    /// Let the backend do it.
    PassThrough(PassThrough),
}

/// When a password expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expiry {
    /// Never.
    #[default]
    Never,
    /// It has.
    Expired,
    /// At this time since 1970.
    At(Duration),
}

/// What an account demands of its client's connection (`REQUIRE …`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TlsRequirement {
    /// Nothing.
    #[default]
    None,
    /// TLS.
    Any,
    /// TLS with a valid certificate of the client's.
    X509,
    /// TLS with these.
    Specified {
        /// Whether a valid certificate is demanded, even if nothing is said of it: MySQL does.
        has_certificate: bool,
        /// The cipher in use.
        cipher: Option<String>,
        /// Who signed the client's certificate.
        issuer: Option<String>,
        /// Whom it names.
        subject: Option<String>,
    },
}

/// What is known of a client's TLS.
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

/// All that conditions are held against.
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
    /// An account that anybody from anywhere may use who passes `verifiers`, without conditions.
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

    /// What is to be done with a client who says to be this user, at a time since 1970.
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

    /// Whether the conditions are met, to be asked when the exam is passed: the servers too tell
    /// nobody of a condition who does not know the password.
    ///
    /// # Errors
    /// What the client is told.
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
            // A Unix socket is this machine, which no network is farther from.
            None => true,
        };
        let is_met = self.conditions.tls.is_met(circumstances.tls.as_ref());
        // The servers too look at TLS before they look at the lock.
        match (is_near || self.conditions.networks.is_empty()) && is_met {
            false => Err(denied),
            true if self.conditions.locked => Err(Denial::Locked),
            true => Ok(()),
        }
    }

    /// The name that a client of this account goes by, which gave `given` at its login: an anonymous account
    /// has none of its own.
    pub fn user_of<'a>(&'a self, given: &'a [u8]) -> &'a [u8] {
        match self.user.as_bytes() {
            [] => given,
            user => user,
        }
    }

    /// The user that its sessions are on a backend; empty for an anonymous account's, which log in by the
    /// names that their clients gave.
    pub fn backend_user(&self) -> &str {
        match &self.backend {
            Some(login) => &login.user,
            None => &self.user,
        }
    }

    /// What logs it in to a backend, where that is known before any client has proven it.
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

    /// Tells accounts apart by name, source and all that a backend login may depend on. Keyed, so that
    /// it tells nothing of a password to whoever gets to see it.
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
        // Each by its own digest: where one part ends and the next begins counts as well.
        let digests: Vec<[u8; 32]> = parts.iter().map(|part| sha256(&[secret, part])).collect();
        sha256(&[secret, &digests.concat()])
    }

    /// As servers write an account's name.
    pub fn name(&self) -> String {
        format!("'{}'@'{}'", self.user, self.host.as_str())
    }

    /// Whether a client must be known by its host's name to be found out.
    pub(crate) fn needs_host_name(&self, names: Names) -> bool {
        names == Names::Resolved && self.host.needs_host_name()
    }
}

impl TlsRequirement {
    /// Whether a connection meets it (`acl_check_ssl`).
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
    fn a_lock_and_a_strange_network_keep_out() {
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
    fn an_expired_password_is_the_servers_affair() {
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
