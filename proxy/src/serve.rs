//! One session, from a client's arrival to its end.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use config::OverLimit;
use net::{Endpoint, Socket, proxy_protocol};
use route::{KillReason, Report};
use session::{Pipelining, Sequences, Tracker};
use tokio::time::timeout;
use tracing::Level;
use wire::compression::{Codec, Remote};
use wire::reply::OkPacket;

use crate::connect::{Greeted, connect};
use crate::decline::decline;
use crate::dialogue::{AuthEnd, Dialogue, Exchange, Legs, backend_broke};
use crate::failure::{Failure, Kind};
use crate::leg::Leg;
use crate::login::{Agreement, Login, Who};
use crate::packets::PacketStream;
use crate::relay::{End, Relay, Turn};
use crate::surroundings::{Place, Settings};
use crate::transport::Transport;
use crate::worker::{Arrival, Registered, Worker};

/// How long a client may take to accept the ERR that ends its session.
const TIMEOUT_TELL: Duration = Duration::from_secs(1);

/// Sees a session through and says in one line how it ended, if it ended badly.
pub(crate) async fn serve(worker: Rc<Worker>, registered: Registered, arrival: Arrival) {
    let mut facts = Facts::of(&arrival);
    let _seat = arrival.seat;
    // Login needs far more memory than what follows; it is gone before the relay begins.
    let begun = Box::pin(begin(&worker, &registered, arrival.socket, &mut facts)).await;
    match begun {
        Ok(mut session) => match session.commands(&worker).await {
            Ok(end) => {
                tracing::debug!(client = %facts.client, user = facts.who.user, ?end, "session ended")
            }
            Err(failure) => {
                facts.log(&failure);
                Box::pin(session.break_off(&worker, &failure)).await;
            }
        },
        Err(failure) => facts.log(&failure),
    }
}

/// A session in its command phase. Fields are dropped in this order: the place among all is given
/// back last, so that whoever waits for it finds the backend's place free as well.
struct Session {
    relay: Relay,
    legs: Legs,
    scramble: Vec<u8>,
    thread_id: u32,
    _slot: route::SessionSlot,
    _place: Place,
}

/// From the accepted socket to the login's OK. A failure has been told to the client.
async fn begin(
    worker: &Rc<Worker>,
    registered: &Registered,
    socket: net::RawSocket,
    facts: &mut Facts,
) -> Result<Session, Failure> {
    let settings = Arc::clone(&worker.surroundings.settings.borrow());
    let mut socket = Socket::from_raw(socket).map_err(|error| {
        Failure::new(
            Kind::LoginAbandoned,
            format!("the client was gone at once: {error}"),
        )
    })?;
    let header = proxy_header(&settings, &mut socket, facts).await?;
    let mut client = PacketStream::new(Transport::from(socket), 0);
    let begun = tokio::select! {
        begun = log_in(worker, &settings, &mut client, &header, facts) => begun,
        () = registered.watch.asked() => {
            Err(Failure::new(Kind::Stopped, "The proxy is shutting down"))
        }
    };
    match begun {
        Ok((greeted, agreement, place)) => begin_relay(
            worker, registered, &settings, client, greeted, agreement, place,
        ),
        Err(failure) => {
            tell(&mut client, &failure, facts.who.has_answered).await;
            Err(failure)
        }
    }
}

/// The PROXY header, where one is due; it replaces the client's address.
async fn proxy_header(
    settings: &Settings,
    socket: &mut Socket,
    facts: &mut Facts,
) -> Result<proxy_protocol::Header, Failure> {
    let failed = |cause: String| Failure::new(Kind::ProxyHeader, cause);
    let trust = proxy_protocol::Trust {
        networks: settings.config.proxy_protocol.trusted_networks.clone(),
        unix: false,
    };
    if trust.requires_header(&facts.client) {
        let read = timeout(
            settings.config.limits.timeout_login,
            proxy_protocol::read(socket),
        );
        let header = match read.await {
            Ok(read) => read.map_err(|error| failed(error.to_string()))?,
            Err(_) => return Err(failed("no PROXY header came in time".to_owned())),
        };
        if let proxy_protocol::Header::Proxied { source, .. } = header {
            facts.client = Endpoint::from(source);
            return Ok(header);
        }
    }
    Ok(match (&facts.client, socket.local_address()) {
        (Endpoint::Tcp(source), Ok(Endpoint::Tcp(destination))) => {
            proxy_protocol::Header::Proxied {
                source: *source,
                destination,
            }
        }
        _ => proxy_protocol::Header::Own,
    })
}

/// A place, a backend, a login: in this order, so that nobody is greeted who cannot stay.
async fn log_in(
    worker: &Worker,
    settings: &Settings,
    client: &mut PacketStream,
    header: &proxy_protocol::Header,
    facts: &mut Facts,
) -> Result<(Greeted, Agreement, Place), Failure> {
    let place = enter(worker, settings).await?;
    let mut greeted = connect(worker, &settings.config, header).await?;
    facts.backend = Some(greeted.backend.name.clone());
    facts.thread_id = greeted.greeting.thread_id;
    let limit = settings.config.limits.timeout_login;
    let mut login = Login {
        settings,
        own_key: &worker.shared.own_key,
        client,
        backend: &mut greeted,
        who: &mut facts.who,
    };
    let outcome = match timeout(limit, login.run()).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Failure::new(
            Kind::LoginTimeout,
            format!(
                "Got timeout reading communication packets: no login within {limit:?} (limits.timeout_login)"
            ),
        )),
    };
    match outcome {
        Ok(agreement) => Ok((greeted, agreement, place)),
        Err(failure) => {
            if greeted.stream.awaits_first_answer() {
                decline(greeted.stream);
            }
            Err(failure)
        }
    }
}

/// Waits for a place among all sessions, as configured.
async fn enter(worker: &Worker, settings: &Settings) -> Result<Place, Failure> {
    let limits = &settings.config.limits;
    let patience = match limits.over_limit {
        OverLimit::Refuse => Duration::ZERO,
        OverLimit::Wait => limits.timeout_over_limit,
    };
    let entered = timeout(patience, async {
        loop {
            match worker.shared.enter(limits.sessions_max) {
                Some(place) => return place,
                None => worker.shared.left.notified().await,
            }
        }
    });
    entered.await.map_err(|_| {
        Failure::new(
            Kind::SessionsMax,
            format!(
                "Too many connections: the proxy carries {} (limits.sessions_max)",
                limits.sessions_max
            ),
        )
    })
}

fn begin_relay(
    worker: &Rc<Worker>,
    registered: &Registered,
    settings: &Settings,
    client: PacketStream,
    greeted: Greeted,
    agreement: Agreement,
    place: Place,
) -> Result<Session, Failure> {
    let lost = || {
        Failure::new(
            Kind::LoginAbandoned,
            "the connection was lost at the end of the login",
        )
    };
    let (client, client_ahead) = client.into_parts().ok_or_else(lost)?;
    let (backend, backend_ahead) = greeted.stream.into_parts().ok_or_else(lost)?;
    let is_compressed = (
        agreement.client_compression.is_some(),
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
    let (client, client_ahead) = compress(
        client,
        client_ahead,
        agreement.client_compression,
        Remote::Client,
    );
    let (backend, backend_ahead) = compress(
        backend,
        backend_ahead,
        agreement.backend_compression,
        Remote::Backend,
    );
    let mut relay = Relay::new(
        (Leg::new(client), Leg::new(backend)),
        tracker,
        greeted.backend,
        agreement.legs.differ(),
        Rc::clone(&registered.watch),
        Rc::clone(worker),
    );
    relay.put_ahead(client_ahead, backend_ahead)?;
    registered.watch.settle(relay.to.id);
    Ok(Session {
        relay,
        legs: agreement.legs,
        scramble: agreement.scramble,
        thread_id: greeted.greeting.thread_id,
        _slot: greeted.slot,
        _place: place,
    })
}

/// Compression begins behind the login's OK; what was read ahead is compressed already.
fn compress(
    transport: Transport,
    ahead: Vec<u8>,
    agreed: Option<(wire::compression::Algorithm, u8)>,
    remote: Remote,
) -> (Transport, Vec<u8>) {
    match agreed {
        Some((algorithm, level)) => (
            transport.compress(Codec::new(algorithm, level, remote), &ahead),
            Vec::new(),
        ),
        None => (transport, ahead),
    }
}

/// Tells the client what ended its login, if it listens.
async fn tell(client: &mut PacketStream, failure: &Failure, with_sqlstate: bool) {
    if let Some(payload) = failure.err_payload(with_sqlstate) {
        let _ = timeout(TIMEOUT_TELL, client.finish_with(&payload)).await;
    }
}

impl Session {
    /// Command after command, until the end.
    async fn commands(&mut self, worker: &Worker) -> Result<End, Failure> {
        loop {
            match self.relay.run().await? {
                Turn::Ended(end) => return Ok(end),
                Turn::ChangeUser => Box::pin(self.change_user(worker)).await?,
            }
        }
    }

    /// The dialogue behind COM_CHANGE_USER, where a bridge is needed. Servers answer it with a
    /// switch to the account's plugin; until then MySQL's default is what speaks.
    async fn change_user(&mut self, worker: &Worker) -> Result<(), Failure> {
        const AFTER_COMMAND: u8 = 1;
        let lost = |error: std::io::Error| Failure::new(Kind::ClientLost, error.to_string());
        self.relay.client.drained().await.map_err(lost)?;
        self.relay
            .backend
            .drained()
            .await
            .map_err(|error| backend_broke(error.into()))?;
        let sequences = self.relay.tracker.sequences();
        let stream =
            |transport| PacketStream::new(transport, AFTER_COMMAND).with_sequences(sequences);
        let mut client = stream(&mut self.relay.client.transport);
        let mut backend = stream(&mut self.relay.backend.transport);
        let mut dialogue = Dialogue {
            client: &mut client,
            backend: &mut backend,
            legs: self.legs,
            own_key: &worker.shared.own_key,
            plugin: wire::auth::CACHING_SHA2_PASSWORD.to_vec(),
            scramble: self.scramble.clone(),
            exchange: Exchange::None,
        };
        let status = match dialogue.run().await? {
            AuthEnd::Ok(payload) => OkPacket::decode(&payload).ok().map(|ok| ok.status),
            AuthEnd::Err(_) => None,
        };
        self.scramble = std::mem::take(&mut dialogue.scramble);
        let ahead = |stream: PacketStream<_>| {
            stream
                .into_parts()
                .map(|(_, ahead)| ahead)
                .unwrap_or_default()
        };
        let (from_client, from_backend) = (ahead(client), ahead(backend));
        self.relay.tracker.dialogue_ended(status);
        self.relay.put_ahead(from_client, from_backend)
    }

    /// Ends a session that cannot go on: tells the client what it can still be told, and sees to
    /// it that no statement runs on for nobody.
    async fn break_off(self, worker: &Worker, failure: &Failure) {
        let Session {
            mut relay,
            thread_id,
            ..
        } = self;
        let backend = relay.to.id;
        match failure.kind {
            Kind::BackendLost | Kind::BackendProtocol => {
                let cause = failure.cause.clone();
                worker
                    .surroundings
                    .report(Report::SessionBroken { backend, cause });
            }
            Kind::ClientLeft | Kind::Stopped if relay.tracker.command().is_some() => {
                let why = match failure.kind {
                    Kind::Stopped => KillReason::Stopping,
                    _ => KillReason::ClientGone,
                };
                worker.surroundings.report(Report::KillStatement {
                    backend,
                    thread_id,
                    why,
                });
            }
            _ => {}
        }
        relay.backend.transport.abort();
        if let (Some(sequence), Some(payload)) = (relay.err_sequence, failure.err_payload(true)) {
            let _ = timeout(TIMEOUT_TELL, relay.client.finish_with(sequence, &payload)).await;
        }
    }
}

/// What the log says of a session.
struct Facts {
    client: Endpoint,
    who: Who,
    backend: Option<String>,
    thread_id: u32,
}

impl Facts {
    fn of(arrival: &Arrival) -> Self {
        Self {
            client: arrival.remote.clone(),
            who: Who::default(),
            backend: None,
            thread_id: 0,
        }
    }

    /// One line for a session that ended badly.
    fn log(&self, failure: &Failure) {
        let verdict = failure.kind.verdict();
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    side = %verdict.side,
                    kind = verdict.label,
                    cause = failure.cause,
                    client = %self.client,
                    user = self.who.user,
                    schema = self.who.schema,
                    backend = self.backend.as_deref().unwrap_or_default(),
                    thread_id = self.thread_id,
                    "session ended badly"
                )
            };
        }
        match verdict.level {
            Level::ERROR => line!(error),
            Level::WARN => line!(warn),
            _ => line!(info),
        }
    }
}
