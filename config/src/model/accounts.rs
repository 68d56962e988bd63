//! Accounts whose logins the proxy answers itself: configured one by one, or learned from the servers.

use std::time::Duration;

use ipnet::IpNet;

use super::hints::HintStyle;
use super::routing::RoutingOverride;
use super::units::{DAY, SECOND};
use crate::define::{choices, settings};
use crate::{Secret, Traits};

settings! {
    /// Logins that the proxy answers itself. It does so as soon as there is an `[[account]]`, or
    /// `learn` is true; otherwise every login passes through to a backend. See
    /// [Accounts](accounts.md).
    pub struct AccountsConfig in [accounts], "Accounts" {
        /// Whether accounts are loaded from the servers' grant tables, with `health.monitor_user`. It needs
        /// SELECT on `mysql.user` (MySQL) or `mysql.global_priv` (MariaDB). Configured accounts come first: a
        /// client that matches an `[[account]]` is that account.
        learn: bool = false, Traits::RELOAD;

        /// Time between two looks at all of the grant tables. Besides, the proxy asks for the accounts of a
        /// user by name when a login is refused. It also does so when the user logs in and was last asked for
        /// 2 s ago or earlier. So a changed password, `DROP USER` and `ACCOUNT LOCK` count from the next
        /// login on, 2 s later at most. Each user is asked for once a second at most. A login waits 1 s for
        /// the answer at most. Without an answer, what is known holds.
        learn_interval: Duration = Duration::from_secs(30), Traits::RELOAD.within(SECOND, DAY);

        /// Whether pooled sessions of a learned account end when the account is no longer in the grant tables. The
        /// servers let running sessions of a dropped account go on.
        end_dropped_sessions: bool = false, Traits::RELOAD;

        /// Whether repeated failed logins are delayed. From the fourth failure of a user from one address on,
        /// the next login of that user from that address waits 100 ms, then twice as long each time. All
        /// logins from an address wait in the same way if more than 20 users have failed there, and no more
        /// logins have succeeded there than users have failed. A login waits 10 s at most, and never longer
        /// than half of `limits.timeout_login`. Failures are forgotten after 15 minutes.
        delay_failures: bool = true, Traits::RELOAD;

        /// How the proxy treats users that it does not know: those without an `[[account]]`, where none is
        /// learned either. A user that has an `[[account]]`, but none for its host, is refused always.
        others: OtherAccounts = OtherAccounts::Relay, Traits::RELOAD;

        /// Whether clients may ask the proxy about itself with `EXPLAIN ROUTE statement` and
        /// `EXPLAIN SESSION`: answers name backends and rules.
        explain: bool = false, Traits::RELOAD;
    }
}

settings! {
    /// Accounts whose logins the proxy answers, one `[[account]]` table for each, with `password`
    /// or `hash`. The servers know them as well: what an account may do is theirs to say.
    pub struct AccountConfig in [[account]], "Configured accounts" {
        /// The user's name.
        user: String = String::new(), Traits::RELOAD.required();

        /// From which hosts, as in the servers' grant tables: an address, a name, either with `%`
        /// and `_` as wildcards, or a network as `10.0.0.0/255.0.0.0` or `10.0.0.0/8`. Of several
        /// accounts of one user the one with the most specific host counts.
        host: String = "%".to_owned(), Traits::RELOAD;

        /// The password. `"file:PATH"` reads it from a file, `"env:NAME"` from the environment. It
        /// is never shown. Without `password` and `hash` the account has no password.
        password: Option<Secret> = None, Traits::RELOAD;

        /// The password's hash instead of it, as the servers hold it: `*` and 40 hexadecimal digits
        /// (`mysql_native_password`), `$A$005$…` (`caching_sha2_password`) or 43 characters of base
        /// 64 (`ed25519`). It may be written in hexadecimal, `0x24412430…`, as MySQL shows it under
        /// `print_identified_with_as_hex`. `"file:PATH"` and `"env:NAME"` are read as well. It is
        /// never shown.
        hash: Option<Secret> = None, Traits::RELOAD;

        /// The schema to begin with, where the client names none.
        schema: Option<String> = None, Traits::RELOAD;

        /// Networks from which its clients may come, besides what `host` says. None: from all.
        networks: Vec<IpNet> = Vec::new(), Traits::RELOAD;

        /// Requirements for its clients' connections.
        tls: AccountTls = AccountTls::None, Traits::RELOAD;

        /// Sessions it may have at once, over all workers. One more is refused.
        connections_max: Option<u32> = None,
            Traits::RELOAD.within(1, 10_000_000).nothing("no limit");

        /// How long its transactions may be idle, at least a second. 0: for ever.
        timeout_idle_transaction: Option<Duration> = None, Traits::RELOAD.within(0, 365 * DAY)
            .default_text("what the listener or `limits.timeout_idle_transaction` says");

        /// The user as whom the proxy logs in to backends for it, if that is another.
        backend_user: Option<String> = None, Traits::RELOAD;

        /// Password of `backend_user`, given as `password` is.
        backend_password: Option<Secret> = None, Traits::RELOAD;

        /// Whether its clients may say `EXPLAIN ROUTE` and `EXPLAIN SESSION`.
        explain: Option<bool> = None, Traits::RELOAD.default_text("what `accounts.explain` says");

        /// Whether its clients may send the commands of replication and of cloning: their sessions are relayed unread
        /// from there on. A rule that might refuse, answer or rewrite one of their statements forbids it.
        replication: bool = false, Traits::RELOAD;

        /// State that keeps one of its sessions on its backend connection to the end once it occurs, although
        /// it could be restored on another.
        pin: Vec<PinRule> = Vec::new(), Traits::RELOAD;

        /// Pins that the account does not have: the proxy assumes that nothing is left behind, although it
        /// cannot see that. When it does leave something behind, a later session may find it: name here only
        /// what is known.
        unpin: Vec<UnpinRule> = Vec::new(), Traits::RELOAD;

        /// Whose way of writing hints its statements may use; `[]` for none.
        hints: Option<Vec<HintStyle>> = None,
            Traits::RELOAD.default_text("what `hints.accepted` says");
    }
    /// What it says of routing.
    table routing: RoutingOverride = Traits::RELOAD, "what the listener or `[routing]` says" {
        cluster replicas consistency optimistic_transactions session lanes script
    }
}

choices! {
    /// What becomes of users that the proxy does not know.
    pub enum OtherAccounts {
        /// A backend answers their logins, and their sessions are transparent: no rule sees them.
        Relay = "relay",
        /// Error 1045.
        Refuse = "refuse",
    }
}

choices! {
    /// What is demanded of clients' connections.
    pub enum AccountTls {
        /// Nothing.
        None = "none",
        /// TLS.
        Required = "required",
        /// TLS with a certificate of the client's that was checked; needs
        /// `client_tls.client_certificate`.
        X509 = "x509",
    }
}

choices! {
    /// What pins a session by rule.
    pub enum PinRule {
        /// A user variable, `@name`, is set.
        UserVariables = "user_variables",
        /// A session variable is set, as with `SET sql_mode = …`. The character set, the schema and
        /// autocommit do not count.
        Variables = "variables",
        /// A statement is prepared, over the protocol or with `PREPARE`.
        PreparedStatements = "prepared_statements",
        /// A statement leaves warnings or errors that `SHOW WARNINGS` would show.
        Warnings = "warnings",
    }
}

choices! {
    /// What does not pin a session by rule.
    pub enum UnpinRule {
        /// A `CALL`, or a stored function.
        Routines = "routines",
        /// The server tells of changed session state that no statement explains.
        State = "state",
    }
}

/// Which plugin's hash a text is, by its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashForm {
    /// `mysql_native_password`: `*` and 40 hexadecimal digits.
    Native,
    /// `caching_sha2_password`: `$A$`, three hexadecimal digits that are not zero, `$`, 20 characters of salt and 43
    /// of digest.
    CachingSha2,
    /// `ed25519`: 43 characters of base 64.
    Ed25519,
}

impl HashForm {
    /// The form of a text; none, when it is no hash that the proxy knows.
    pub fn of(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        match bytes {
            [b'*', digits @ ..] if digits.len() == 40 => digits
                .iter()
                .all(u8::is_ascii_hexdigit)
                .then_some(Self::Native),
            [b'$', b'A', b'$', a, b, c, b'$', rest @ ..] if rest.len() == 63 => {
                let rounds = [a, b, c];
                let is_number = rounds.into_iter().all(u8::is_ascii_hexdigit);
                (is_number && rounds != [&b'0'; 3]).then_some(Self::CachingSha2)
            }
            _ if bytes.len() == 43 => bytes.iter().all(is_base64).then_some(Self::Ed25519),
            _ => None,
        }
    }
}

impl AccountConfig {
    /// `'user'@'host'`, as the servers write it.
    pub fn title(&self) -> String {
        format!("'{}'@'{}'", self.user, self.host)
    }

    /// Which plugin's hash [`hash`](Self::hash) is; none without one.
    pub fn hash_form(&self) -> Option<HashForm> {
        HashForm::of(self.hash.as_ref()?.expose())
    }
}
