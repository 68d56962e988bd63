//! A session whose client and backend connection stay together, from the login's OK to its end.

use std::any::Any;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use route::{Backend, KillReason, Report};
use session::{Pipelining, Sequences, Tracker};
use sql::Server;
use tokio::time::timeout;
use wire::compression::Remote;
use wire::reply::OkPacket;
use wire::{Command, errors};

use crate::relay::{Relay, RelayStop, SILENT};
use crate::relay_env::{RelayEnv, SessionContext};
use crate::thread_ended::has_thread_ended;
use backend::connection_error::ConnectionError;
use backend::greeting::server_of;
use backend::secure::compress;
use link::dialogue::{AuthEnd, Dialogue, Exchange, Legs, backend_broke};
use link::failure::{Failure, FailureKind};
use link::leg::Leg;
use link::packets::PacketStream;
use link::session_end::SessionEnd;
use link::session_end::{TIMEOUT_TELL, lost_at_login};
use login::connect::Greeted;
use login::login_env::SessionPermit;
use login::relayed_login::Agreement;
use registry::last_word::takes_the_reason;
use registry::session_control::{Ask, Requests, SessionControl};
use registry::session_registry::Registration;

/// A session in its command phase. Fields are dropped in this order: the session permit comes last,
/// so that a client that waits for it finds the backend's place free too.
pub struct RelayedSession {
    /// The two sides of the session.
    pub relay: Relay,
    legs: Legs,
    scramble: Vec<u8>,
    /// The connection's id at the backend.
    pub thread_id: u32,
    _registration: Option<Registration>,
    _slot: Option<route::SessionSlot>,
    /// The script, which learns of the session's end.
    _script: Option<Box<dyn Any>>,
    _place: SessionPermit,
}

/// The last login of a session that becomes a relayed one.
pub struct LastLogin {
    /// How private both connections are.
    pub legs: Legs,
    /// The last scramble that the client received from this backend; empty if there was none.
    pub scramble: Vec<u8>,
    /// The connection's id at the backend.
    pub thread_id: u32,
}

/// The parts that a session keeps until its end when it becomes a relayed session.
pub struct KeptUntilEnd {
    /// The session's entry by the id that the client sees.
    pub registration: Registration,
    /// The session's place at the backend.
    pub slot: Option<route::SessionSlot>,
    /// The session's script, which sees only the session's end.
    pub script: Option<Box<dyn Any>>,
    /// The session's permit.
    pub permit: SessionPermit,
}

impl RelayedSession {
    /// Returns a session between a client and the backend that has accepted its login.
    pub fn begin(
        context: SessionContext<'_>,
        client: PacketStream,
        greeted: Greeted,
        agreement: Agreement,
        place: SessionPermit,
    ) -> Result<Self, Failure> {
        let (client, ahead) = client.into_parts().ok_or_else(lost_at_login)?;
        let compression = agreement.client_compression;
        let (client, ahead) = compress(client, ahead, compression, Remote::Client);
        let client = ClientEnd {
            leg: Leg::new(client),
            ahead,
        };
        let backend = BackendEnd {
            server: server_of(&greeted.greeting),
            stream: greeted.stream,
            backend: greeted.backend,
        };
        let relay = join(context, client, backend, &agreement)?;
        Ok(Self {
            relay,
            legs: agreement.legs,
            scramble: agreement.scramble,
            thread_id: greeted.greeting.thread_id,
            _registration: agreement.registration,
            _slot: Some(greeted.slot),
            _script: None,
            _place: place,
        })
    }

    /// Runs the session to its end. The session stays in its box, because a future stores twice what is moved into it.
    pub async fn run(mut self: Box<Self>, env: &RelayEnv) -> Result<SessionEnd, Failure> {
        match self.commands(env).await {
            Ok(end) => Ok(end),
            Err(failure) => Err(Box::pin(self.end_badly(env, failure)).await),
        }
    }

    /// Does the same as [`Self::break_off`]. The failure is kept here, because it takes memory that an idle session
    /// should not have.
    async fn end_badly(self: Box<Self>, env: &RelayEnv, failure: Failure) -> Failure {
        self.break_off(env, &failure).await;
        failure
    }

    /// Returns a relayed session that continues another session over one connection.
    pub fn going_on(relay: Relay, login: LastLogin, kept: KeptUntilEnd) -> Self {
        Self {
            relay,
            legs: login.legs,
            scramble: login.scramble,
            thread_id: login.thread_id,
            _registration: Some(kept.registration),
            _slot: kept.slot,
            _script: kept.script,
            _place: kept.permit,
        }
    }

    /// Relays command after command, until the end.
    async fn commands(&mut self, env: &RelayEnv) -> Result<SessionEnd, Failure> {
        loop {
            match self.relay.run().await? {
                RelayStop::Ended(end) => return Ok(end),
                RelayStop::ChangeUser => Box::pin(self.change_user(env)).await?,
            }
        }
    }

    /// Runs the dialogue after COM_CHANGE_USER. Servers answer it with a switch to the account's
    /// plugin; until then MySQL's default plugin is assumed.
    async fn change_user(&mut self, env: &RelayEnv) -> Result<(), Failure> {
        const AFTER_COMMAND: u8 = 1;
        let lost = |error: std::io::Error| Failure::new(FailureKind::ClientLost, error.to_string());
        let (control, to) = (Rc::clone(&self.relay.control), Arc::clone(&self.relay.to));
        control.note(env.clock.now(), false);
        self.relay.client.drained().await.map_err(lost)?;
        self.relay
            .backend
            .drained()
            .await
            .map_err(|error| backend_broke(&self.relay.to.name, error.into()))?;
        let sequences = self.relay.tracker.sequences();
        let stream =
            |transport| PacketStream::new(transport, AFTER_COMMAND).with_sequences(sequences);
        let mut client = stream(&mut self.relay.client.transport);
        let mut backend = stream(&mut self.relay.backend.transport);
        let settings = Arc::clone(&env.pool.settings.borrow());
        let mut dialogue = Dialogue {
            client: &mut client,
            backend: &mut backend,
            backend_name: &self.relay.to.name,
            legs: self.legs,
            own_key: &env.login.shared.own_key,
            server_key: settings.server_key(),
            plugin: wire::auth::CACHING_SHA2_PASSWORD.to_vec(),
            scramble: self.scramble.clone(),
            exchange: Exchange::None,
            observer: None,
        };
        let ran = unless_asked(env, &control, &to, dialogue.run()).await;
        if ran.is_err() {
            self.relay.err_sequence = Some(dialogue.client.next_sequence());
        }
        control.note(env.clock.now(), false);
        let status = match ran? {
            AuthEnd::Ok(payload) => OkPacket::decode(&payload).ok().map(|ok| ok.status),
            AuthEnd::Err(_) => None,
        };
        self.scramble = std::mem::take(&mut dialogue.scramble);
        // From here on the connection may belong to another user.
        let thread = (to.id, self.thread_id);
        env.origins
            .note_session(Some(thread), || env.pool.now().0, None);
        let ahead = |stream: PacketStream<_>| {
            stream
                .into_parts()
                .map(|(_, ahead)| ahead)
                .unwrap_or_default()
        };
        let (later, from_backend) = (ahead(client), ahead(backend));
        let mut from_client = self.relay.take_ahead();
        from_client.extend(later);
        self.relay.tracker.dialogue_ended(status);
        self.relay.put_ahead(from_client, from_backend)
    }

    /// Ends a session that cannot continue: tells the client the error if possible, and makes sure
    /// that no statement goes on without a client.
    async fn break_off(self: Box<Self>, env: &RelayEnv, failure: &Failure) {
        let RelayedSession {
            mut relay,
            thread_id,
            _slot: slot,
            ..
        } = *self;
        let backend = relay.to.id;
        match failure.kind {
            FailureKind::BackendLost | FailureKind::BackendProtocol => {
                let cause = failure.cause.clone();
                env.pool.report(Report::SessionBroken { backend, cause });
            }
            FailureKind::ClientLeft
            | FailureKind::Stopped
            | FailureKind::Killed
            | FailureKind::BackendDisabled
                if relay.tracker.command().is_some() =>
            {
                let why = match failure.kind {
                    FailureKind::Stopped => KillReason::Stopping,
                    FailureKind::BackendDisabled => KillReason::Disabled,
                    _ => KillReason::ClientGone,
                };
                env.pool.report(Report::KillStatement {
                    backend,
                    thread_id,
                    why,
                });
            }
            _ => {}
        }
        relay.backend.transport.abort();
        drop(slot);
        if failure.kind == FailureKind::IdleTransaction {
            env.note_cut(&relay.control, failure.kind, &failure.cause);
        }
        if !takes_the_reason(
            &relay.control,
            &mut relay.client,
            &env.pool.scratch,
            failure,
        )
        .await
        {
            return;
        }
        if has_thread_ended(env, &relay.control, failure).await {
            let _ = timeout(TIMEOUT_TELL, relay.client.drained()).await;
            return;
        }
        if let (Some(sequence), Some(payload)) = (relay.err_sequence, failure.err_payload(true)) {
            let _ = timeout(TIMEOUT_TELL, relay.client.finish_with(sequence, &payload)).await;
        }
    }
}

/// Returns the result of a dialogue, unless the worker asks the session to end during it.
async fn unless_asked<T>(
    env: &RelayEnv,
    control: &SessionControl,
    to: &Backend,
    dialogue: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut dialogue = pin!(dialogue);
    poll_fn(|context| {
        if let Poll::Ready(ran) = dialogue.as_mut().poll(context) {
            return Poll::Ready(ran);
        }
        match end_of_dialogue(env, control.poll_asked(context), to) {
            Some(failure) => Poll::Ready(Err(failure)),
            None => Poll::Pending,
        }
    })
    .await
}

fn end_of_dialogue(env: &RelayEnv, asked: Requests, to: &Backend) -> Option<Failure> {
    let name = &to.name;
    if asked.contains(Ask::Stop) {
        let error = errors::shutting_down_within("the change of user");
        Some(Failure::saying(FailureKind::Stopped, error))
    } else if asked.contains(Ask::KillSession) {
        Some(Failure::new(FailureKind::Killed, "Connection was killed"))
    } else if asked.contains(Ask::BackendDisabled) && env.pool.is_disabled(to.id) {
        let error = errors::lost_during(name, Command::CHANGE_USER, ConnectionError::Disabled);
        Some(Failure::saying(FailureKind::BackendDisabled, error))
    } else if asked.contains(Ask::BackendDown) {
        let error = errors::lost_during(name, Command::CHANGE_USER, SILENT);
        Some(Failure::saying(FailureKind::BackendLost, error))
    } else {
        None
    }
}

/// The connection to a client that has logged in. It is compressed by now, if that was agreed.
pub struct ClientEnd {
    /// The leg of the client.
    pub leg: Leg,
    /// Bytes after the login that were read already.
    pub ahead: Vec<u8>,
}

/// The connection to the backend that has accepted the login. It is not compressed yet.
pub struct BackendEnd {
    /// The connection.
    pub stream: PacketStream,
    /// The backend.
    pub backend: Arc<Backend>,
    /// The kind and version of its server.
    pub server: Server,
}

/// Returns the relay between a client and the backend that has accepted its login.
pub fn join(
    context: SessionContext<'_>,
    client: ClientEnd,
    backend: BackendEnd,
    agreement: &Agreement,
) -> Result<Relay, Failure> {
    let SessionContext {
        env,
        control,
        settings,
    } = context;
    let (transport, backend_ahead) = backend.stream.into_parts().ok_or_else(lost_at_login)?;
    let is_compressed = (
        client.leg.transport.is_compressed(),
        agreement.backend_compression.is_some(),
    );
    let tracker = Tracker::new(
        agreement.capabilities,
        agreement.status,
        match is_compressed {
            (false, false) => Sequences::Checked,
            _ => Sequences::Renumbered,
        },
        match is_compressed.1 || agreement.legs.differ() {
            false => Pipelining::Deep,
            true => Pipelining::OneByOne,
        },
        settings.config.limits.packet_bytes_max,
    );
    let (transport, backend_ahead) = compress(
        transport,
        backend_ahead,
        agreement.backend_compression,
        Remote::Backend,
    );
    control.settle(backend.backend.id);
    let mut relay = Relay::new(
        (client.leg, Leg::new(transport)),
        tracker,
        (backend.backend, backend.server),
        Rc::clone(control),
        Rc::clone(env),
    );
    relay.put_ahead(client.ahead, backend_ahead)?;
    relay.observe(agreement.capabilities);
    Ok(relay)
}
