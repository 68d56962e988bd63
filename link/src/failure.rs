//! Why a session failed: which side is at fault, what went wrong, and what follows.
//!
//! Each kind of failure is one row of [`FailureKind::verdict`]: what the client is told, the level
//! of the log line, and whether the control plane learns of it.

use std::fmt;

use sql::Server;
use tracing::Level;
use wire::errors::ProxyError;
use wire::{ErrPacket, ErrorCode};

/// The side that is at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The client.
    Client,
    /// The backend.
    Backend,
    /// The proxy itself.
    Proxy,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Client => "client",
            Side::Backend => "backend",
            Side::Proxy => "proxy",
        })
    }
}

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The PROXY header is missing, malformed or not to be trusted.
    ProxyHeader,
    /// Logins from the client's host failed too often in a row.
    HostBlocked,
    /// The proxy has as many sessions as it may have.
    SessionsMax,
    /// Every backend has as many sessions as it may have.
    BackendsFull,
    /// No backend could be reached.
    NoBackend,
    /// The client broke off its login.
    LoginAbandoned,
    /// The client's login packets make no sense.
    LoginMalformed,
    /// The client took too long to log in.
    LoginTimeout,
    /// The client must use TLS and did not.
    TlsRequired,
    /// TLS with the client failed.
    ClientTls,
    /// TLS with the backend failed.
    BackendTls,
    /// The backend's login packets make no sense, or the backend closed during the login.
    BackendLogin,
    /// The backend refused the login; its ERR was relayed to the client.
    LoginRefused,
    /// The backend wants a password in full, but the connection is not private.
    FullAuthentication,
    /// The key exchange of a password plugin failed between client and backend.
    KeyExchange,
    /// The client broke the protocol.
    ClientProtocol,
    /// The client sent more than it may.
    PayloadTooLarge,
    /// The client disconnected in the middle of an exchange.
    ClientLeft,
    /// The client's connection broke between exchanges.
    ClientLost,
    /// The backend broke the protocol.
    BackendProtocol,
    /// The backend closed in the middle of an exchange.
    BackendLost,
    /// The backend was disabled, and the session's connection to it is closed.
    BackendDisabled,
    /// The session did nothing for too long.
    IdleTimeout,
    /// The session's transaction was idle for too long.
    IdleTransaction,
    /// The session was idle and kept a connection that sessions of other accounts wait for.
    KeptForOthers,
    /// The process keeps as many bytes as it may.
    MemoryFull,
    /// The proxy stops, and the session's statement did not end in time.
    Stopped,
    /// The proxy itself refused the login.
    LoginDenied,
    /// The account has as many sessions as it may.
    AccountSessionsMax,
    /// No pooled connection became free in time, or too many wait for one.
    PoolExhausted,
    /// The proxy could not bring a connection into the state that the session needs.
    StateNotRestored,
    /// The connection that a session held between two commands is gone.
    HeldBackendLost,
    /// The session is held at a replica, and its statement wants to write.
    HeldAtReplica,
    /// The reads that a transaction made on a replica give other results on the primary.
    ReadsChanged,
    /// The session was killed by another session.
    Killed,
    /// The session's statement was killed by another session before it was sent.
    StatementKilled,
    /// The session's script cannot run.
    ScriptFailed,
    /// The proxy cannot do what a script has decided.
    ScriptRefused,
    /// A script has ended the session; the client has received everything that the script wanted to say.
    ScriptEnded,
    /// The proxy stops while the session is idle: this is no failure, only the session's end.
    Drained,
}

/// The consequences of a failure.
#[derive(Debug, Clone, Copy)]
pub struct Verdict {
    /// The side that is at fault.
    pub side: Side,
    /// The error for the client, if it can still be told; `None`: the client is told nothing, or was told already.
    pub client_error: Option<ErrorCode>,
    /// The level of its log line.
    pub level: Level,
    /// The name in metrics and logs.
    pub label: &'static str,
}

impl FailureKind {
    /// Returns the sequence id of an ERR that ends a session between two commands. Many clients cannot handle
    /// a packet that they have not asked for. So the proxy sends none if the session's server would send
    /// none: servers close a connection silently. Only MySQL, from 8.0.24 on, reports that a session was idle
    /// for too long. The ERR about an idle transaction is not unasked: it answers the client's next command.
    pub fn unasked_sequence(self, server: Server) -> Option<u8> {
        match (self, server) {
            (Self::IdleTimeout, Server::MySql(version)) => (version >= 80_024).then_some(0),
            (kind, _) if kind.waits_for_a_command() => Some(1),
            (
                Self::Killed
                | Self::Stopped
                | Self::Drained
                | Self::IdleTimeout
                | Self::BackendDisabled
                | Self::HeldBackendLost,
                _,
            ) => None,
            _ => Some(0),
        }
    }

    /// Whether the client is told only after its next command. Many clients do not read a packet that they have not
    /// asked for.
    pub fn waits_for_a_command(self) -> bool {
        matches!(self, Self::IdleTransaction | Self::KeptForOthers)
    }

    /// Returns the verdict for this kind: the table of all failures.
    pub fn verdict(self) -> Verdict {
        use ErrorCode as Code;
        use Side::{Backend, Client, Proxy};
        let row = |side, told, level, label| Verdict {
            side,
            client_error: told,
            level,
            label,
        };
        match self {
            Self::ProxyHeader => row(Client, None, Level::WARN, "proxy_header"),
            Self::HostBlocked => row(
                Client,
                Some(Code::HOST_IS_BLOCKED),
                Level::INFO,
                "host_is_blocked",
            ),
            Self::SessionsMax => row(Proxy, Some(Code::CON_COUNT), Level::WARN, "sessions_max"),
            Self::BackendsFull => row(Proxy, Some(Code::CON_COUNT), Level::WARN, "backends_full"),
            Self::NoBackend => row(Backend, Some(Code::NO_BACKEND), Level::ERROR, "no_backend"),
            Self::LoginAbandoned => row(Client, None, Level::INFO, "login_abandoned"),
            Self::LoginMalformed => row(
                Client,
                Some(Code::HANDSHAKE),
                Level::WARN,
                "login_malformed",
            ),
            Self::LoginTimeout => row(
                Client,
                Some(Code::READ_INTERRUPTED),
                Level::WARN,
                "login_timeout",
            ),
            Self::TlsRequired => row(
                Client,
                Some(Code::SECURE_TRANSPORT_REQUIRED),
                Level::INFO,
                "tls_required",
            ),
            Self::ClientTls => row(Client, None, Level::INFO, "client_tls"),
            Self::BackendTls => row(Backend, Some(Code::NO_BACKEND), Level::ERROR, "backend_tls"),
            Self::BackendLogin => row(
                Backend,
                Some(Code::NO_BACKEND),
                Level::ERROR,
                "backend_login",
            ),
            Self::LoginRefused => row(Client, None, Level::INFO, "login_refused"),
            Self::FullAuthentication => row(
                Backend,
                Some(Code::NO_BACKEND),
                Level::ERROR,
                "full_authentication",
            ),
            Self::KeyExchange => row(Client, Some(Code::HANDSHAKE), Level::WARN, "key_exchange"),
            Self::ClientProtocol => row(
                Client,
                Some(Code::PACKETS_OUT_OF_ORDER),
                Level::WARN,
                "client_protocol",
            ),
            Self::PayloadTooLarge => row(
                Client,
                Some(Code::PACKET_TOO_LARGE),
                Level::WARN,
                "payload_too_large",
            ),
            Self::ClientLeft => row(Client, None, Level::INFO, "client_left"),
            Self::ClientLost => row(Client, None, Level::INFO, "client_lost"),
            Self::BackendProtocol => row(
                Backend,
                Some(Code::BACKEND_LOST),
                Level::ERROR,
                "backend_protocol",
            ),
            Self::BackendLost => row(
                Backend,
                Some(Code::BACKEND_LOST),
                Level::WARN,
                "backend_lost",
            ),
            Self::BackendDisabled => row(
                Proxy,
                Some(Code::BACKEND_LOST),
                Level::INFO,
                "backend_disabled",
            ),
            Self::IdleTimeout => row(
                Client,
                Some(Code::INTERACTION_TIMEOUT),
                Level::INFO,
                "idle_timeout",
            ),
            Self::IdleTransaction => row(
                Client,
                Some(Code::INTERACTION_TIMEOUT),
                Level::INFO,
                "idle_transaction",
            ),
            Self::KeptForOthers => row(
                Client,
                Some(Code::INTERACTION_TIMEOUT),
                Level::INFO,
                "kept_for_others",
            ),
            Self::MemoryFull => row(Proxy, Some(Code::OUT_OF_MEMORY), Level::WARN, "memory_full"),
            Self::Stopped => row(Proxy, Some(Code::SERVER_SHUTDOWN), Level::WARN, "stopped"),
            Self::LoginDenied => row(
                Client,
                Some(Code::ACCESS_DENIED),
                Level::INFO,
                "login_denied",
            ),
            Self::AccountSessionsMax => row(
                Client,
                Some(Code::TOO_MANY_USER_CONNECTIONS),
                Level::WARN,
                "account_sessions_max",
            ),
            Self::PoolExhausted => row(Proxy, Some(Code::CON_COUNT), Level::WARN, "pool_exhausted"),
            Self::StateNotRestored => row(
                Backend,
                Some(Code::BACKEND_LOST),
                Level::ERROR,
                "state_not_restored",
            ),
            Self::HeldBackendLost => row(
                Backend,
                Some(Code::BACKEND_LOST),
                Level::WARN,
                "held_backend_lost",
            ),
            Self::HeldAtReplica => row(
                Client,
                Some(Code::OPTION_PREVENTS_STATEMENT),
                Level::INFO,
                "held_at_replica",
            ),
            Self::ReadsChanged => row(
                Proxy,
                Some(Code::LOCK_DEADLOCK),
                Level::INFO,
                "reads_changed",
            ),
            Self::ScriptFailed => row(Proxy, Some(Code::UNKNOWN), Level::ERROR, "script_failed"),
            Self::ScriptRefused => row(Proxy, Some(Code::UNKNOWN), Level::WARN, "script_refused"),
            Self::ScriptEnded => row(Proxy, None, Level::INFO, "script_ended"),
            Self::Drained => row(Proxy, None, Level::DEBUG, "drained"),
            // Servers close a killed connection silently.
            Self::Killed => row(Client, None, Level::INFO, "killed"),
            Self::StatementKilled => row(
                Client,
                Some(Code::QUERY_INTERRUPTED),
                Level::INFO,
                "statement_killed",
            ),
        }
    }
}

/// The failure that ended a session. `cause` is for the log, `client_error` for the client.
#[derive(Debug)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The cause in words, for the log.
    pub cause: String,
    /// The error for the client.
    pub client_error: ClientMessage,
}

/// The error for the client.
#[derive(Debug)]
pub enum ClientMessage {
    /// This text, with the error number of the kind.
    Text(String),
    /// A backend's own ERR payload.
    Relayed(Vec<u8>),
}

impl Failure {
    /// The client is told the same text as the log.
    pub fn new(kind: FailureKind, cause: impl Into<String>) -> Self {
        let cause = cause.into();
        Self {
            kind,
            client_error: ClientMessage::Text(cause.clone()),
            cause,
        }
    }

    /// The client is told an error of the proxy's own, with that error's number if the kind has another.
    pub fn saying(kind: FailureKind, error: ProxyError) -> Self {
        match kind.verdict().client_error == Some(error.code) {
            true => Self::new(kind, error),
            false => {
                let payload = error.payload();
                Self::relaying(kind, error, payload)
            }
        }
    }

    /// The client is told a backend's ERR.
    pub fn relaying(kind: FailureKind, cause: impl Into<String>, err: Vec<u8>) -> Self {
        Self {
            kind,
            cause: cause.into(),
            client_error: ClientMessage::Relayed(err),
        }
    }

    /// Returns the ERR payload for the client, if the client is told anything. Before the client has
    /// named its capabilities, no SQLSTATE is sent, as in the servers (`net_send_error_packet`).
    pub fn err_payload(&self, with_sqlstate: bool) -> Option<Vec<u8>> {
        match &self.client_error {
            ClientMessage::Relayed(payload) => Some(payload.clone()),
            ClientMessage::Text(text) => {
                let code = self.kind.verdict().client_error?;
                let mut payload = Vec::new();
                let text = text.as_bytes();
                let sqlstate = with_sqlstate.then_some(code.sqlstate);
                ErrPacket {
                    number: code.number,
                    sqlstate,
                    text,
                }
                .encode(&mut payload);
                Some(payload)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Each row: the side at fault, the error for the client, the level of the log line.
    const ROWS: &[(FailureKind, Side, Option<u16>, Level)] = &[
        (FailureKind::ProxyHeader, Side::Client, None, Level::WARN),
        (
            FailureKind::HostBlocked,
            Side::Client,
            Some(1129),
            Level::INFO,
        ),
        (
            FailureKind::SessionsMax,
            Side::Proxy,
            Some(1040),
            Level::WARN,
        ),
        (
            FailureKind::BackendsFull,
            Side::Proxy,
            Some(1040),
            Level::WARN,
        ),
        (
            FailureKind::NoBackend,
            Side::Backend,
            Some(1429),
            Level::ERROR,
        ),
        (FailureKind::LoginAbandoned, Side::Client, None, Level::INFO),
        (
            FailureKind::LoginMalformed,
            Side::Client,
            Some(1043),
            Level::WARN,
        ),
        (
            FailureKind::LoginTimeout,
            Side::Client,
            Some(1159),
            Level::WARN,
        ),
        (
            FailureKind::TlsRequired,
            Side::Client,
            Some(3159),
            Level::INFO,
        ),
        (FailureKind::ClientTls, Side::Client, None, Level::INFO),
        (
            FailureKind::BackendTls,
            Side::Backend,
            Some(1429),
            Level::ERROR,
        ),
        (
            FailureKind::BackendLogin,
            Side::Backend,
            Some(1429),
            Level::ERROR,
        ),
        (FailureKind::LoginRefused, Side::Client, None, Level::INFO),
        (
            FailureKind::FullAuthentication,
            Side::Backend,
            Some(1429),
            Level::ERROR,
        ),
        (
            FailureKind::KeyExchange,
            Side::Client,
            Some(1043),
            Level::WARN,
        ),
        (
            FailureKind::ClientProtocol,
            Side::Client,
            Some(1156),
            Level::WARN,
        ),
        (
            FailureKind::PayloadTooLarge,
            Side::Client,
            Some(1153),
            Level::WARN,
        ),
        (FailureKind::ClientLeft, Side::Client, None, Level::INFO),
        (FailureKind::ClientLost, Side::Client, None, Level::INFO),
        (
            FailureKind::BackendProtocol,
            Side::Backend,
            Some(1158),
            Level::ERROR,
        ),
        (
            FailureKind::BackendLost,
            Side::Backend,
            Some(1158),
            Level::WARN,
        ),
        (
            FailureKind::BackendDisabled,
            Side::Proxy,
            Some(1158),
            Level::INFO,
        ),
        (
            FailureKind::IdleTimeout,
            Side::Client,
            Some(4031),
            Level::INFO,
        ),
        (
            FailureKind::IdleTransaction,
            Side::Client,
            Some(4031),
            Level::INFO,
        ),
        (
            FailureKind::KeptForOthers,
            Side::Client,
            Some(4031),
            Level::INFO,
        ),
        (
            FailureKind::MemoryFull,
            Side::Proxy,
            Some(1037),
            Level::WARN,
        ),
        (FailureKind::Stopped, Side::Proxy, Some(1053), Level::WARN),
        (
            FailureKind::LoginDenied,
            Side::Client,
            Some(1045),
            Level::INFO,
        ),
        (
            FailureKind::AccountSessionsMax,
            Side::Client,
            Some(1203),
            Level::WARN,
        ),
        (
            FailureKind::PoolExhausted,
            Side::Proxy,
            Some(1040),
            Level::WARN,
        ),
        (
            FailureKind::StateNotRestored,
            Side::Backend,
            Some(1158),
            Level::ERROR,
        ),
        (
            FailureKind::HeldBackendLost,
            Side::Backend,
            Some(1158),
            Level::WARN,
        ),
        (
            FailureKind::HeldAtReplica,
            Side::Client,
            Some(1290),
            Level::INFO,
        ),
        (
            FailureKind::ReadsChanged,
            Side::Proxy,
            Some(1213),
            Level::INFO,
        ),
        (FailureKind::Killed, Side::Client, None, Level::INFO),
        (
            FailureKind::StatementKilled,
            Side::Client,
            Some(1317),
            Level::INFO,
        ),
        (
            FailureKind::ScriptFailed,
            Side::Proxy,
            Some(1105),
            Level::ERROR,
        ),
        (
            FailureKind::ScriptRefused,
            Side::Proxy,
            Some(1105),
            Level::WARN,
        ),
        (FailureKind::ScriptEnded, Side::Proxy, None, Level::INFO),
        (FailureKind::Drained, Side::Proxy, None, Level::DEBUG),
    ];

    #[test]
    fn every_failure_kind_has_the_expected_verdict() {
        for (kind, side, told, level) in ROWS {
            let verdict = kind.verdict();
            let number = verdict.client_error.map(|code| code.number);
            assert_eq!(
                (verdict.side, number, verdict.level),
                (*side, *told, *level),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn labels_are_distinct_and_fit_for_metrics() {
        let labels: std::collections::HashSet<_> =
            ROWS.iter().map(|(kind, ..)| kind.verdict().label).collect();
        assert_eq!(labels.len(), ROWS.len());
        assert!(labels.iter().all(|label| {
            label
                .bytes()
                .all(|byte| byte == b'_' || byte.is_ascii_lowercase())
        }));
    }

    #[test]
    fn numbers_of_client_libraries_are_never_sent() {
        // libmariadb treats such an error from a server as forged.
        let numbers = ROWS.iter().filter_map(|(_, _, told, _)| *told);
        assert!(
            numbers
                .into_iter()
                .all(|number| !(2000..3000).contains(&number))
        );
    }

    #[test]
    fn a_backends_own_words_are_relayed_as_they_are() {
        let failure =
            Failure::relaying(FailureKind::NoBackend, "full", b"\xff\x10\x04full".to_vec());
        assert_eq!(failure.err_payload(true).unwrap(), b"\xff\x10\x04full");
        assert_eq!(
            Failure::new(FailureKind::ClientTls, "x").err_payload(true),
            None
        );
        let told = Failure::new(FailureKind::SessionsMax, "x")
            .err_payload(true)
            .unwrap();
        assert_eq!(told, b"\xff\x10\x04#08004x");
    }
}
