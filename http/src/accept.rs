//! Connections of HTTP: their limit, TLS if configured, and time limits. Beyond `http.connections_max` a connection may
//! ask for the proxy's health, and for nothing else.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use config::ClientTlsMode;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use net::listen::Accepted;
use net::patient::{LongAnswer, Patient};
use net::{Endpoint, Socket, tls};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;
use tower_service::Service;

use super::{HEALTH, HttpState};
use admin::authenticator::{Authenticator, Count};
use admin::port::{Callers, Stay};
use admin::recent::Recent;

/// How long a client may take for the head of a request, or stay idle between requests.
const TIMEOUT_HEAD: Duration = Duration::from_secs(30);

/// The longest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 32 << 10;

/// The most headers of a request.
const HEADERS_MAX: usize = 64;

/// The first byte of a TLS handshake; no HTTP request begins with it.
const TLS_HANDSHAKE: u8 = 0x16;

/// The most connections beyond `http.connections_max` that are served at once; further ones are closed.
const CHECKERS_MAX: usize = 256;

/// How long a connection beyond `http.connections_max` may take for its request.
const TIMEOUT_CHECK: Duration = Duration::from_secs(2);

/// The requests that a connection may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// All requests, one after another.
    Full,
    /// One request for the proxy's health.
    Health,
}

const NO_ROOM: &str = "Too many connections (http.connections_max)\n";
const NO_TLS: &str = "https:// is demanded here (client_tls.mode = required)\n";

/// The HTTP port.
pub struct HttpPort {
    state: Arc<HttpState>,
    router: Router,
}

/// A connected client.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Its address.
    pub remote: Endpoint,
    /// Whether it connects over an address that only this machine has.
    pub is_at_home: bool,
}

/// Why a connection ended before an HTTP request was read.
#[derive(Debug, thiserror::Error)]
enum Unserved {
    #[error("{0}")]
    Tls(String),
    #[error("the connection is gone: {0}")]
    Gone(#[from] std::io::Error),
    #[error("nothing came in time")]
    Late,
}

impl HttpPort {
    /// Creates the port.
    pub fn new(authenticator: Arc<Authenticator>) -> Self {
        let recent = Arc::new(Recent::default());
        let state = Arc::new(HttpState {
            authenticator,
            recent,
        });
        let router = super::router(&state);
        Self { state, router }
    }
}

impl Callers for HttpPort {
    fn welcome(&self, accepted: Accepted) -> Option<Stay> {
        let authenticator = &self.state.authenticator;
        let max = self.state.settings().config.http.connections_max;
        let (place, room) = match Count::of(authenticator, |it| &it.callers, max) {
            Some(place) => (place, Room::Full),
            None => {
                let checker = Count::of(authenticator, |it| &it.checkers, CHECKERS_MAX)?;
                (checker, Room::Health)
            }
        };
        let (state, router) = (Arc::clone(&self.state), self.router.clone());
        Some(Box::pin(async move {
            let remote = accepted.remote.clone();
            let stay = stay(&state, router, accepted, room);
            if let Err(error) = stay.await {
                tracing::debug!(client = %remote, %error, "a caller of the HTTP port is not served");
            }
            drop(place);
        }))
    }
}

/// Serves one connection, from its first byte to its last.
async fn stay(
    state: &HttpState,
    router: Router,
    accepted: Accepted,
    room: Room,
) -> Result<(), Unserved> {
    let settings = state.settings();
    let Accepted { socket, remote } = accepted;
    let mut socket = Socket::from_raw(socket)?;
    let caller = Caller {
        remote,
        is_at_home: match socket.local_address()? {
            Endpoint::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Endpoint::Unix(_) => false,
        },
    };
    let limit = match room {
        Room::Full => settings.config.limits.timeout_login,
        Room::Health => TIMEOUT_CHECK,
    };
    let mut first = [0];
    let read = timeout(limit, socket.read_exact(&mut first)).await;
    read.map_err(|_| Unserved::Late)??;
    let is_tls = first == [TLS_HANDSHAKE];
    match &settings.client_tls {
        Some(tls) if is_tls => {
            let acceptor = tls.acceptor();
            let shaken = timeout(limit, tls::accept(&acceptor, socket, &first)).await;
            let shaken = shaken.map_err(|_| Unserved::Late)?;
            let stream = shaken.map_err(|error| Unserved::Tls(tls::explain(&error)))?;
            speak(router, (caller, room), stream, Vec::new()).await;
        }
        Some(_) if settings.config.client_tls.mode == ClientTlsMode::Required => {
            refuse(socket, "403 Forbidden", NO_TLS).await?;
        }
        Some(_) | None => speak(router, (caller, room), socket, first.to_vec()).await,
    }
    Ok(())
}

/// Sends an error before a request has been read.
async fn refuse(socket: Socket, status: &str, text: &str) -> Result<(), Unserved> {
    let answer = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{text}",
        text.len()
    );
    let mut socket = Patient::new(socket, Vec::new());
    socket.write_all(answer.as_bytes()).await?;
    Ok(socket.shutdown().await?)
}

/// Serves requests until the client disconnects or is idle for too long.
async fn speak<S>(router: Router, (caller, room): (Caller, Room), stream: S, ahead: Vec<u8>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let remote = caller.remote.clone();
    let stream = Patient::new(stream, ahead);
    let (is_read, is_long) = (stream.is_read(), stream.is_long());
    let service = service_fn(move |request| {
        is_read.store(true, Ordering::Relaxed);
        let asks = (caller.clone(), is_long.clone(), room);
        answer(router.clone(), asks, request)
    });
    let stream = TokioIo::new(stream);
    let ended = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(room == Room::Full)
        .header_read_timeout(match room {
            Room::Full => TIMEOUT_HEAD,
            Room::Health => TIMEOUT_CHECK,
        })
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(stream, service)
        .await;
    if let Err(error) = ended {
        tracing::debug!(client = %remote, %error, "a caller of the HTTP port is gone");
    }
}

async fn answer(
    mut router: Router,
    (caller, is_long, room): (Caller, LongAnswer, Room),
    request: hyper::Request<Incoming>,
) -> Result<Response, Infallible> {
    if room == Room::Health && !HEALTH.contains(&request.uri().path()) {
        return Ok((StatusCode::SERVICE_UNAVAILABLE, NO_ROOM).into_response());
    }
    let mut request: Request = request.map(Body::new);
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(is_long);
    poll_fn(|context| Service::<Request>::poll_ready(&mut router, context)).await?;
    router.call(request).await
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::io::duplex;
    use tokio::time::Instant;

    use super::*;

    /// Serves one connection. Returns the time it took and the answer. The paused clock advances when all tasks wait.
    async fn served(said: &[u8], room: Room) -> (Duration, String) {
        let (near, mut far) = duplex(1 << 16);
        let caller = Caller {
            remote: Endpoint::Unix("".into()),
            is_at_home: false,
        };
        far.write_all(said).await.unwrap();
        let began = Instant::now();
        speak(Router::new(), (caller, room), near, Vec::new()).await;
        let mut answered = String::new();
        far.read_to_string(&mut answered).await.unwrap();
        (began.elapsed(), answered)
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_connection_is_closed_after_its_time_limit() {
        let (waited, answered) = served(b"", Room::Full).await;
        assert!(
            waited >= TIMEOUT_HEAD && waited < 2 * TIMEOUT_HEAD,
            "{waited:?}"
        );
        assert_eq!(answered, "");
        // The time limit for the rest of a request is shorter.
        let (waited, answered) = served(b"GET / HTTP/1.1\r\nhost:", Room::Full).await;
        assert!(waited < TIMEOUT_HEAD, "{waited:?}");
        assert_eq!(answered, "");
        let request = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let (waited, answered) = served(request, Room::Full).await;
        assert!(waited < 2 * TIMEOUT_HEAD, "{waited:?}");
        assert!(answered.starts_with("HTTP/1.1 404"), "{answered}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_above_the_limit_gets_one_request_in_a_short_time() {
        let (waited, _) = served(b"GET / HT", Room::Health).await;
        assert!(waited < 2 * TIMEOUT_CHECK, "{waited:?}");
        let request = b"GET /api HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let (waited, answered) = served(request, Room::Health).await;
        assert!(waited < 2 * TIMEOUT_CHECK, "{waited:?}");
        assert!(answered.starts_with("HTTP/1.1 503"), "{answered}");
        let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let (_, answered) = served(request, Room::Health).await;
        // The router of these tests does not have the path /healthz.
        assert!(answered.starts_with("HTTP/1.1 404"), "{answered}");
    }
}
