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

/// A session in its command phase. Fields are dropped in this order: the place among all is given
/// back last, so that whoever waits for it finds the backend's place free as well.
pub struct RelayedSession {
    /// Its two sides.
    pub relay: Relay,
    legs: Legs,
    scramble: Vec<u8>,
    /// The id of its connection at the backend.
    pub thread_id: u32,
    _registration: Option<Registration>,
    _slot: Option<route::SessionSlot>,
    /// It learns of the end.
    _script: Option<Box<dyn Any>>,
    _place: SessionPermit,
}

/// What a session that becomes a relayed one knows of its login at the backend.
pub struct LastLogin {
    /// How private both legs are.
    pub legs: Legs,
    /// The last scramble that its client had of this backend; empty where it had none.
    pub scramble: Vec<u8>,
    /// The id of its connection there.
    pub thread_id: u32,
}

/// What a session keeps until its end, when it becomes a relayed one.
pub struct KeptUntilEnd {
    /// Its entry by the id that its client sees.
    pub registration: Registration,
    /// Its place at the backend.
    pub slot: Option<route::SessionSlot>,
    /// Its script, which sees no more commands, but its end.
    pub script: Option<Box<dyn Any>>,
    /// Its place among all sessions.
    pub permit: SessionPermit,
}

impl RelayedSession {
    /// Between a client and the backend that has let it in.
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

    /// To its end. The session stays in its box, because a future keeps what is moved into it twice.
    pub async fn run(mut self: Box<Self>, env: &RelayEnv) -> Result<SessionEnd, Failure> {
        match self.commands(env).await {
            Ok(end) => Ok(end),
            Err(failure) => Err(Box::pin(self.end_badly(env, failure)).await),
        }
    }

    /// As [`Self::break_off`]. The failure is kept here, since it takes memory that an idle session is not to have.
    async fn end_badly(self: Box<Self>, env: &RelayEnv, failure: Failure) -> Failure {
        self.break_off(env, &failure).await;
        failure
    }

    /// Another session that goes on over one connection.
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

    /// Command after command, until the end.
    async fn commands(&mut self, env: &RelayEnv) -> Result<SessionEnd, Failure> {
        loop {
            match self.relay.run().await? {
                RelayStop::Ended(end) => return Ok(end),
                RelayStop::ChangeUser => Box::pin(self.change_user(env)).await?,
            }
        }
    }

    /// The dialogue behind COM_CHANGE_USER. Servers answer it with a switch to the account's plugin; until
    /// then MySQL's default is what speaks.
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
        // From here on it may be another user's.
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

    /// Ends a session that cannot go on: tells the client what it can still be told, and sees to
    /// it that no statement runs on for nobody.
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

/// What comes of a dialogue, unless the worker wants the session to end within it.
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

/// A client that is logged in. Its leg is compressed by now, if that was agreed.
pub struct ClientEnd {
    /// Its connection.
    pub leg: Leg,
    /// Its bytes behind the login that were read already.
    pub ahead: Vec<u8>,
}

/// The backend that has let it in. Its connection is not compressed yet.
pub struct BackendEnd {
    /// The connection.
    pub stream: PacketStream,
    /// Which backend that is.
    pub backend: Arc<Backend>,
    /// What runs there.
    pub server: Server,
}

/// The relay between a client and the backend that has let it in.
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
