//! A session whose client and backend connection are joined by the kernel, from the login's OK to its end.
//!
//! The proxy does not see statements, so it cannot wait for the end of one. A session that should drain ends when
//! it has been silent for a second, or when the time for draining is over. It can only be killed as a whole.

use std::future::poll_fn;
use std::io::ErrorKind;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use net::joined::joined_relay::{JoinedRelay, LostEnd};
use net::joined::joiner::JoinedEnd;
use net::{RawSocket, Socket};
use route::{Backend, KillReason, Report, SessionSlot};
use tokio::time::{Sleep, sleep};
use wire::errors;

use crate::joined_counts::JoinObstacle;
use crate::relay::{MAY_HAVE_RUN, SILENT};
use crate::relay_env::{RelayEnv, SessionContext};
use crate::relayed_session::RelayedSession;
use crate::worker_joins::CountedSession;
use backend::connection_error::ConnectionError;
use link::failure::{Failure, FailureKind};
use link::packets::PacketStream;
use link::session_end::{SessionEnd, lost_at_login};
use link::transport::Transport;
use login::connect::Greeted;
use login::login_env::SessionPermit;
use login::relayed_login::Agreement;
use registry::session_control::{Ask, Requests, SessionControl};
use registry::session_info::SessionKind;
use registry::session_registry::Registration;

/// How long a session must be silent before it ends in a drain.
const TIMEOUT_SILENCE: Duration = Duration::from_secs(1);

/// A session of a listener with `routing.session = "kernel"`, after its login.
pub enum KernelSession {
    /// The kernel passes its bytes on.
    Joined(Box<JoinedSession>),
    /// The session cannot be joined: the proxy relays it like any transparent session.
    Relayed(Box<RelayedSession>),
}

/// A joined session. Fields are dropped in this order: the session permit comes last, so that a
/// client that waits for it finds the backend's place free too.
pub struct JoinedSession {
    counted: CountedSession,
    relay: JoinedRelay,
    control: Rc<SessionControl>,
    to: Arc<Backend>,
    /// The connection's id at the backend.
    thread_id: u32,
    silence: Option<Silence>,
    _registration: Option<Registration>,
    _slot: SessionSlot,
    _place: SessionPermit,
}

/// A period in which no byte may arrive.
struct Silence {
    /// The byte counts at its beginning.
    bytes: [u64; 2],
    over: Pin<Box<Sleep>>,
}

/// One side at the end of the login, with the bytes that were read ahead.
type LoginSide = (Transport, Vec<u8>);

/// The result of joining two sides.
enum Joining {
    Joined(JoinedRelay),
    NotJoined([LoginSide; 2], JoinObstacle),
}

impl KernelSession {
    /// Begins the session between a client and the backend that has accepted its login.
    ///
    /// # Errors
    /// The connection to one of the two was lost with the last packet of the login.
    pub fn begin(
        context: SessionContext<'_>,
        client: PacketStream,
        greeted: Greeted,
        agreement: Agreement,
        place: SessionPermit,
    ) -> Result<Self, Failure> {
        let SessionContext { env, control, .. } = context;
        let client = client.into_parts().ok_or_else(lost_at_login)?;
        let backend = greeted.stream.into_parts().ok_or_else(lost_at_login)?;
        let ahead = [&client, &backend].map(|(_, ahead)| ahead.len() as u64);
        let info = control.info();
        let listener = info.as_ref().map(|info| info.listener.address.to_string());
        let listener = listener.unwrap_or_default();
        let to = Arc::clone(&greeted.backend);
        match join(env, [client, backend], &agreement)? {
            Joining::Joined(relay) => {
                let id = info.map_or(0, |info| info.id);
                let figures = env.joins.counts.joined(listener, to.name.clone());
                control.settle(to.id);
                control.note(env.clock.now(), false);
                control.change_info(|info| info.kind = SessionKind::Joined);
                Ok(Self::Joined(Box::new(JoinedSession {
                    counted: env.joins.enter(id, relay.joined(), ahead, figures),
                    relay,
                    control: Rc::clone(control),
                    to,
                    thread_id: greeted.greeting.thread_id,
                    silence: None,
                    _registration: agreement.registration,
                    _slot: greeted.slot,
                    _place: place,
                })))
            }
            Joining::NotJoined([client, backend], obstacle) => {
                note_relayed(env, listener, &to, obstacle);
                let stream = |(transport, ahead): LoginSide| {
                    PacketStream::new(transport, 0).with_ahead(ahead)
                };
                let greeted = Greeted {
                    stream: stream(backend),
                    ..greeted
                };
                RelayedSession::begin(context, stream(client), greeted, agreement, place)
                    .map(|session| Self::Relayed(Box::new(session)))
            }
        }
    }
}

/// Joins two sides, if there is no obstacle.
fn join(env: &RelayEnv, sides: [LoginSide; 2], agreement: &Agreement) -> Result<Joining, Failure> {
    let obstacle = obstacle(&sides, agreement);
    let waiter = match (obstacle, env.joins.waiter()) {
        (Some(obstacle), _) => return Ok(Joining::NotJoined(sides, obstacle)),
        (None, None) => return Ok(Joining::NotJoined(sides, JoinObstacle::Kernel)),
        (None, Some(waiter)) => waiter,
    };
    let [client, backend] = sides;
    let sockets = [tcp(client.0)?, tcp(backend.0)?];
    let not_joined = match JoinedRelay::begin(waiter, sockets, [client.1, backend.1]) {
        Ok(relay) => return Ok(Joining::Joined(relay)),
        Err(not_joined) => *not_joined,
    };
    tracing::debug!(error = %not_joined.error, "two connections cannot be joined in the kernel");
    let [client, backend] = not_joined.sockets;
    let [client_ahead, backend_ahead] = not_joined.ahead;
    let plain = |socket| {
        let socket = Socket::from_raw(RawSocket::Tcp(socket));
        socket.map(Transport::from).map_err(lost)
    };
    let sides = [
        (plain(client)?, client_ahead),
        (plain(backend)?, backend_ahead),
    ];
    Ok(Joining::NotJoined(sides, JoinObstacle::Closing))
}

fn tcp(transport: Transport) -> Result<std::net::TcpStream, Failure> {
    let socket = transport.into_plain().map_err(lost)?;
    socket.into_tcp().map_err(lost)
}

fn lost(error: std::io::Error) -> Failure {
    Failure::new(
        FailureKind::LoginAbandoned,
        format!("a connection was lost at the end of the login: {error}"),
    )
}

/// Returns why the kernel cannot join two sides, whatever its abilities.
fn obstacle(sides: &[LoginSide; 2], agreement: &Agreement) -> Option<JoinObstacle> {
    let is_compressed =
        agreement.client_compression.is_some() || agreement.backend_compression.is_some();
    let of_side = |(transport, _): &LoginSide| match transport {
        Transport::Plain(Socket::Tcp(_)) => None,
        Transport::Plain(_) | Transport::Gone => Some(JoinObstacle::Socket),
        Transport::Tls(_) => Some(JoinObstacle::Tls),
        Transport::Compressed(_) => Some(JoinObstacle::Compression),
    };
    let of_sides = sides.iter().find_map(of_side);
    of_sides.or(is_compressed.then_some(JoinObstacle::Compression))
}

/// Counts a session that is relayed. The log names each reason once; a missing kernel ability was logged at the start.
fn note_relayed(env: &RelayEnv, listener: String, to: &Backend, obstacle: JoinObstacle) {
    let name = listener.clone();
    let is_first = (env.joins.counts).note_relayed(listener, to.name.clone(), obstacle);
    if is_first && obstacle != JoinObstacle::Kernel {
        tracing::info!(
            kind = "session_not_joined",
            reason = obstacle.name(),
            listener = name,
            backend = to.name,
            "a session of a listener with routing.session = \"kernel\" cannot be joined in the kernel, and the proxy relays it; the \
             table kernel_sessions counts such sessions, and the log does not name this reason again"
        );
    }
}

impl JoinedSession {
    /// Runs the session to its end.
    ///
    /// # Errors
    /// The session has failed.
    pub async fn run(mut self: Box<Self>, env: &RelayEnv) -> Result<SessionEnd, Failure> {
        let ended = poll_fn(|context| self.poll(env, context)).await;
        self.close(env, &ended);
        ended
    }

    fn poll(
        &mut self,
        env: &RelayEnv,
        context: &mut Context<'_>,
    ) -> Poll<Result<SessionEnd, Failure>> {
        let passed = self.relay.poll(context, &mut env.pool.scratch.borrow_mut());
        match passed {
            Poll::Ready(Ok(())) => return Poll::Ready(Ok(self.end())),
            Poll::Ready(Err(broken)) => return Poll::Ready(self.broke(&broken)),
            Poll::Pending => {}
        }
        // If a server has closed one direction, it takes nothing in the other.
        if self.relay.has_delivered_end(JoinedEnd::Other) {
            return Poll::Ready(Ok(self.end()));
        }
        let second = env.clock.now();
        self.control.note(second, false);
        if self.relay.first_end() == Some(JoinedEnd::One) {
            self.control.client_closes(second);
        }
        match self.heed(env, context) {
            Some(end) => Poll::Ready(end),
            None => Poll::Pending,
        }
    }

    /// Returns how the session has ended, if both sides have closed.
    fn end(&self) -> SessionEnd {
        match self.relay.first_end() {
            Some(JoinedEnd::One) => SessionEnd::ClientClosed,
            Some(JoinedEnd::Other) | None => SessionEnd::BackendClosed,
        }
    }

    /// Returns what follows when a connection breaks.
    fn broke(&self, broken: &LostEnd) -> Result<SessionEnd, Failure> {
        let error = &broken.error;
        match (broken.end, self.relay.first_end()) {
            // The client must not take the beginning of a reply for the whole one.
            (JoinedEnd::Other, Some(_)) if error.kind() != ErrorKind::InvalidData => Ok(self.end()),
            (JoinedEnd::Other, _) => {
                let error = errors::lost(&self.to.name, format_args!("{error}{MAY_HAVE_RUN}"));
                Err(Failure::saying(FailureKind::BackendLost, error))
            }
            (JoinedEnd::One, _) => Err(Failure::new(
                FailureKind::ClientLost,
                format!("the connection to the client is lost: {error}"),
            )),
        }
    }

    /// Does what the worker asks. Returns the session's end, if the session is ready for it.
    fn heed(
        &mut self,
        env: &RelayEnv,
        context: &mut Context<'_>,
    ) -> Option<Result<SessionEnd, Failure>> {
        let asked = self.control.poll_asked(context);
        if asked.is_nothing() {
            return None;
        }
        if let Some(end) = self.end_asked(env, asked) {
            return Some(end);
        }
        // The backend is no longer down or disabled, or it has taken all bytes that were sent to it.
        self.control.withdraw(Ask::BackendDown);
        self.control.withdraw(Ask::BackendDisabled);
        let is_over = asked.contains(Ask::Drain) && self.poll_silence(context).is_ready();
        is_over.then_some(Ok(SessionEnd::Drained))
    }

    fn end_asked(&self, env: &RelayEnv, asked: Requests) -> Option<Result<SessionEnd, Failure>> {
        let name = &self.to.name;
        let has_unacknowledged = || self.relay.has_unacknowledged(JoinedEnd::Other);
        let failure = if asked.contains(Ask::KillSession) {
            Failure::new(FailureKind::Killed, "Connection was killed")
        } else if asked.contains(Ask::Stop) {
            let error = errors::shutting_down_within("the session, whose statements are not seen");
            Failure::saying(FailureKind::Stopped, error)
        } else if asked.contains(Ask::ClientGone) {
            return Some(Ok(SessionEnd::ClientClosed));
        } else if asked.contains(Ask::BackendDisabled) && env.pool.is_disabled(self.to.id) {
            let cause = format_args!("{}{MAY_HAVE_RUN}", ConnectionError::Disabled);
            Failure::saying(FailureKind::BackendDisabled, errors::lost(name, cause))
        } else if asked.contains(Ask::BackendDown) && has_unacknowledged() {
            let error = errors::lost(name, format_args!("{SILENT}{MAY_HAVE_RUN}"));
            Failure::saying(FailureKind::BackendLost, error)
        } else {
            return None;
        };
        Some(Err(failure))
    }

    /// Whether no byte has arrived for [`TIMEOUT_SILENCE`].
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let bytes = self.counted.bytes();
            let silence = self.silence.get_or_insert_with(|| Silence {
                bytes,
                over: Box::pin(sleep(TIMEOUT_SILENCE)),
            });
            ready!(silence.over.as_mut().poll(context));
            let is_silent = silence.bytes == bytes;
            self.silence = None;
            if is_silent {
                return Poll::Ready(());
            }
        }
    }

    /// Closes both connections, and makes sure that no statement goes on without a client.
    fn close(self, env: &RelayEnv, ended: &Result<SessionEnd, Failure>) {
        let backend = self.to.id;
        let why = match ended {
            Err(failure) => match failure.kind {
                FailureKind::BackendLost => {
                    let cause = failure.cause.clone();
                    env.pool.report(Report::SessionBroken { backend, cause });
                    None
                }
                FailureKind::Stopped => Some(KillReason::Stopping),
                FailureKind::BackendDisabled => Some(KillReason::Disabled),
                _ => Some(KillReason::ClientGone),
            },
            Ok(SessionEnd::ClientClosed) if self.control.is_asked(Ask::ClientGone) => {
                Some(KillReason::ClientGone)
            }
            Ok(_) => None,
        };
        if let Some(why) = why.filter(|_| env.has_monitor()) {
            let thread_id = self.thread_id;
            env.pool.report(Report::KillStatement {
                backend,
                thread_id,
                why,
            });
        }
        if ended.is_err() {
            self.relay.abort(JoinedEnd::Other);
        }
    }
}
