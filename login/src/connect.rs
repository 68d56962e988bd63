//! Finds a backend that sends a greeting: choose one, connect, read the greeting; if that fails, the next.

use std::sync::Arc;
use std::time::Duration;

use config::{Config, OverLimit};
use net::clock;
use net::proxy_protocol;
use route::{Backend, BackendId, Health, NoBackend, Report, SessionSlot, Topology, Use, Whole};
use tokio::time::timeout_at;
use wire::{Greeting, errors};

use crate::destination::Destination;
use crate::login_env::LoginEnv;
use backend::greet::{Refusal, greet};
use link::failure::{Failure, FailureKind};
use link::packets::PacketStream;

/// A backend whose greeting has arrived, and this session's place there.
pub struct Greeted {
    /// The backend.
    pub backend: Arc<Backend>,
    /// The place of this session there.
    pub slot: SessionSlot,
    /// The connection, after the greeting.
    pub stream: PacketStream,
    /// The greeting.
    pub greeting: Greeting,
    /// The payload of the greeting as it arrived.
    pub payload: Vec<u8>,
}

/// How long a login waits before it asks a full server again.
pub const PAUSE_FULL: Duration = Duration::from_millis(250);

/// The backends that were tried for one session.
#[derive(Default)]
struct Attempts {
    tried: Vec<BackendId>,
    causes: Vec<String>,
    /// The last ERR that a backend sent in place of a greeting.
    err: Option<Vec<u8>>,
    /// Whether a backend had as many connections as it takes.
    has_met_full: bool,
}

/// Finds a backend for a session, and waits for one as long as configured. `header`: the content of
/// the PROXY header, if one is sent.
pub async fn connect(
    env: &LoginEnv,
    config: &Config,
    header: &proxy_protocol::Header,
    destination: &Destination,
) -> Result<Greeted, Failure> {
    let mut topologies = env.pool.topologies.clone();
    let mut attempts = Attempts::default();
    let began = clock::now();
    loop {
        let topology = Arc::clone(&topologies.borrow_and_update());
        let sought = (&*topology, destination);
        let none = match try_all(env, config, header, sought, &mut attempts).await {
            Ok(greeted) => return Ok(greeted),
            Err(none) => none,
        };
        let patience = match attempts.has_met_full {
            true => config.pool.timeout_wait,
            false => patience(&none, config),
        };
        let now = clock::now();
        if now >= began + patience {
            return Err(attempts.failure(&none));
        }
        if attempts.has_met_full {
            tell_full(&attempts.causes.join("; "));
        } else if matches!(none, NoBackend::AllFull) {
            tracing::debug!(
                kind = "client_waits",
                limit = "limits.backend_sessions_max",
                "a client waits for a place"
            );
        }
        // Places become free when sessions end; backends come back with a new snapshot.
        let news = async {
            tokio::select! {
                biased;
                changed = topologies.changed() => changed.is_ok(),
                () = env.shared.left.notified() => true,
            }
        };
        // A full server does not report that it has room again.
        let until = match attempts.has_met_full {
            true => (began + patience).min(now + PAUSE_FULL),
            false => began + patience,
        };
        if timeout_at(until, news).await == Ok(false) {
            return Err(attempts.failure(&none));
        }
        attempts.begin_again();
    }
}

/// Logs that a login waits because a server is full.
pub fn tell_full(cause: &str) {
    tracing::warn!(
        kind = "server_full",
        cause,
        limit = "pool.timeout_wait",
        "a server takes no more connections; a login waits for one"
    );
}

/// Returns how long a client waits if there is no backend for it.
fn patience(none: &NoBackend, config: &Config) -> Duration {
    match none {
        NoBackend::AllFull if config.limits.over_limit == OverLimit::Wait => {
            config.limits.timeout_over_limit
        }
        NoBackend::AllFull => Duration::ZERO,
        _ => config.balance.timeout_backend_wait,
    }
}

async fn try_all(
    env: &LoginEnv,
    config: &Config,
    header: &proxy_protocol::Header,
    (topology, destination): (&Topology, &Destination),
    attempts: &mut Attempts,
) -> Result<Greeted, NoBackend> {
    loop {
        let whole = Whole {
            cluster: destination.cluster,
            roles: destination.roles,
            tried: &attempts.tried,
            use_for: Use::Any,
        };
        let chosen = route::choose(topology, &whole, env.pool.now(), &mut env.dice.borrow_mut());
        let backend = chosen?;
        // Another worker may have taken the place; then the choice is made again.
        let Some(slot) = backend.begin() else {
            continue;
        };
        match greet(config, header, &backend).await {
            Ok((stream, greeting, payload)) => {
                if !matches!(backend.health, Health::Up { .. }) {
                    env.pool.report(Report::Connected {
                        backend: backend.id,
                    });
                }
                return Ok(Greeted {
                    backend,
                    slot,
                    stream,
                    greeting,
                    payload,
                });
            }
            Err(refusal) => attempts.add(env, &backend, refusal),
        }
    }
}

impl Attempts {
    /// Forgets the tried backends, so that all of them are tried once more.
    fn begin_again(&mut self) {
        *self = Attempts::default();
    }

    fn add(&mut self, env: &LoginEnv, backend: &Backend, refusal: Refusal) {
        self.tried.push(backend.id);
        let cause = match refusal {
            Refusal::Unusable(cause) => {
                let report = Report::ConnectFailed {
                    backend: backend.id,
                    cause: cause.clone(),
                };
                env.pool.report(report);
                cause
            }
            Refusal::Full { cause, payload } => {
                backend.load.note_server_full(env.pool.now());
                self.err = Some(payload);
                self.has_met_full = true;
                cause
            }
            Refusal::Err { cause, payload } => {
                self.err = Some(payload);
                cause
            }
        };
        tracing::warn!(
            side = "backend",
            backend = backend.name,
            cause,
            "a backend has not taken a session; the proxy tries the next one"
        );
        self.causes.push(format!("{}: {cause}", backend.name));
    }

    fn failure(self, none: &NoBackend) -> Failure {
        let causes = self.causes.join("; ");
        match (self.err, none) {
            (Some(err), _) => Failure::relaying(FailureKind::NoBackend, causes, err),
            (None, NoBackend::AllFull) => Failure::saying(FailureKind::BackendsFull, none.error()),
            (None, _) if causes.is_empty() => Failure::saying(FailureKind::NoBackend, none.error()),
            (None, _) => Failure::saying(FailureKind::NoBackend, errors::cannot_connect(causes)),
        }
    }
}
