//! One session, from a client's arrival to its end.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use config::{ListenerConfig, OverLimit, SessionMode};
use net::{Endpoint, Socket, proxy_protocol};
use tokio::time::timeout;
use tracing::Level;
use wire::Capabilities;
use wire::compression::{Codec, Remote};

use crate::card::{Card, Way};
use crate::connect::connect;
use crate::decline::decline;
use crate::failure::{Failure, Kind};
use crate::journal::AuditEvent;
use crate::login::{Login, Who};
use crate::packets::PacketStream;
use crate::pooled::begin::begin as begin_pooled;
use crate::pooled::course::Course;
use crate::pooled::enter::{Admission, Enter, Entered};
use crate::pooled::people::Person;
use crate::pooled::session::{After, Pooled};
use crate::relay::End;
use crate::relayed::Session;
use crate::scripted::begin::{Answering, Begin as BeginScripted, Entry};
use crate::scripted::host::Host;
use crate::scripted::login_hooks::{LoginHooks, Newcomer as LoggedIn};
use crate::scripted::scripting::no_scripts_yet;
use crate::scripted::session::Scripted;
use crate::scripted::sight::stay_in_sight;
use crate::surroundings::{Place, Settings};
use crate::transport::Transport;
use crate::watch::Watch;
use crate::worker::{Arrival, Newcomer, Registered, Worker};

/// How long a client may take to accept the ERR that ends its session.
pub(crate) const TIMEOUT_TELL: Duration = Duration::from_secs(1);

/// Sees a session through and says in one line how it ended, if it ended badly.
pub(crate) async fn serve(worker: Rc<Worker>, registered: Registered, arrival: Arrival) {
    let (newcomer, _seat) = arrival.sit_down();
    let mut facts = Facts::of(&newcomer);
    registered.watch.introduce(Card {
        id: worker.shared.next_number(),
        client: newcomer.remote.clone(),
        listener: Arc::clone(&newcomer.listener),
        began: worker.surroundings.now(),
        user: Box::default(),
        schema: Box::default(),
        way: Way::Login,
        thread_id: 0,
    });
    // Login needs far more memory than what follows; it is gone before the relay begins.
    let begun = Box::pin(begin(&worker, &registered, newcomer, &mut facts)).await;
    if let Ok(Begun::Pooled(session)) = &begun {
        let id = session.person.id();
        registered.watch.note_of(|card| card.id = id);
    }
    if begun.is_ok() {
        facts.audit(&worker, &registered, "login", String::new);
        facts.is_in = true;
    }
    let ended = match begun {
        Ok(Begun::Relayed(session)) => Box::pin(session.run(&worker)).await,
        Ok(Begun::Pooled(session)) => pooled(&worker, session, &mut facts).await,
        Ok(Begun::Scripted(session)) => Box::pin(scripted(&worker, *session)).await,
        Err(failure) => Err(failure),
    };
    facts.audit_end(&worker, &registered, &ended);
    match ended {
        Ok(end) => {
            tracing::debug!(client = %facts.client, user = facts.who.user, ?end, "session ended")
        }
        Err(failure) => facts.log(&failure),
    }
}

/// A session whose login was answered here. Should it need a connection of its own, it is relayed from
/// there on.
async fn pooled(
    worker: &Rc<Worker>,
    mut session: Box<Pooled>,
    facts: &mut Facts,
) -> Result<End, Failure> {
    let id = session.person.id();
    let watch = Rc::clone(&session.watch);
    facts.tell(&watch, Way::Pooled(session.mode), Some(id));
    worker.people.borrow_mut().insert(id, watch);
    let ran = session.run().await;
    worker.people.borrow_mut().remove(&id);
    match ran {
        Ok(After::Relayed(relayed)) => {
            let session = Session::of_pooled(*session, *relayed);
            facts.backend = Some(session.relay.to.name.clone());
            facts.thread_id = session.thread_id;
            Box::pin(session.run(worker)).await
        }
        Ok(After::Ended(end)) => {
            Box::pin(session.leave()).await;
            Ok(end)
        }
        Ok(After::Next) => Ok(End::Quit),
        Err(cut) => {
            facts.backend = session.backend_name();
            Box::pin(session.break_off(&cut)).await;
            match cut.failure.kind {
                Kind::Drained => Ok(End::Drained),
                _ => Err(cut.failure),
            }
        }
    }
}

/// A session whose packets a script sees.
async fn scripted(worker: &Worker, mut session: Scripted) -> Result<End, Failure> {
    let id = session.person.as_ref().map(Person::id);
    session.stand();
    if let Some(id) = id {
        let watch = Rc::clone(&session.watch);
        worker.people.borrow_mut().insert(id, watch);
    }
    let ran = session.run().await;
    if let Some(id) = id {
        worker.people.borrow_mut().remove(&id);
    }
    match ran {
        Ok(end) => Ok(end),
        Err(cut) => {
            Box::pin(session.break_off(&cut)).await;
            match cut.failure.kind {
                Kind::Drained => Ok(End::Drained),
                _ => Err(cut.failure),
            }
        }
    }
}

/// A session after its login.
enum Begun {
    Relayed(Box<Session>),
    Pooled(Box<Pooled>),
    Scripted(Box<Scripted>),
}

/// From the accepted socket to the login's OK. A failure has been told to the client.
async fn begin(
    worker: &Rc<Worker>,
    registered: &Registered,
    newcomer: Newcomer,
    facts: &mut Facts,
) -> Result<Begun, Failure> {
    let Newcomer {
        socket, listener, ..
    } = newcomer;
    let settings = Arc::clone(&worker.surroundings.settings.borrow());
    let mut socket = Socket::from_raw(socket).map_err(|error| {
        Failure::new(
            Kind::LoginAbandoned,
            format!("the client was gone at once: {error}"),
        )
    })?;
    let header = proxy_header(&settings, &mut socket, facts).await?;
    let watch = &registered.watch;
    watch.note_of(|card| card.client = facts.client.clone());
    let mut client = PacketStream::new(Transport::from(socket), 0);
    let runs_script = !settings.config.scripts_of(&listener).is_empty();
    if let Some(host) = worker.script_host().filter(|_| runs_script) {
        let given = (worker, registered, &settings, &listener);
        return begin_scripted(given, host, client, &header, facts).await;
    }
    let begun = tokio::select! {
        begun = log_in(worker, &settings, &mut client, &header, &listener, facts) => begun,
        () = registered.watch.asked() => {
            Err(Failure::new(Kind::Stopped, "The proxy is shutting down"))
        }
    };
    let failed = match begun {
        Ok((Entered::Passed(passed), place)) => {
            let (greeted, agreement) = *passed;
            let id = agreement.person.as_ref().map(Person::id);
            facts.tell(watch, Way::Relayed, id);
            let given = (worker, watch, &*settings);
            let session = Session::begin(given, client, greeted, agreement, place)?;
            return Ok(Begun::Relayed(Box::new(session)));
        }
        // Nobody but a script does that.
        Ok((Entered::LetIn(..), _)) => Failure::new(Kind::ScriptEnded, "there is no script"),
        Ok((Entered::Examined(admission), place)) => {
            let given = (worker, registered, &settings);
            return take_in(given, client, *admission, place, None, facts).await;
        }
        Err(failure) => failure,
    };
    tell(&mut client, &failed, facts.who.has_answered).await;
    Err(failed)
}

/// A client whom the proxy itself has let in, with its script if it runs one.
async fn take_in(
    (worker, registered, settings): (&Rc<Worker>, &Registered, &Arc<Settings>),
    mut client: PacketStream,
    admission: Admission,
    place: Place,
    script: Option<(LoginHooks, Rc<Host>)>,
    facts: &Facts,
) -> Result<Begun, Failure> {
    let watch = &registered.watch;
    let begun = async {
        let script = own_script(worker, &client, &admission, script, facts)?;
        begin_pooled(
            worker,
            watch,
            settings,
            &mut client,
            admission,
            place,
            script,
        )
        .await
    };
    match begun.await {
        Ok(begun) => {
            let session = begun.join(client)?;
            Ok(Begun::Pooled(Box::new(session)))
        }
        Err(failure) => {
            tell(&mut client, &failure, facts.who.has_answered).await;
            Err(failure)
        }
    }
}

/// The scripts of the account that has logged in, if it has its own, instead of the listener's.
fn own_script(
    worker: &Worker,
    client: &PacketStream,
    admission: &Admission,
    script: Option<(LoginHooks, Rc<Host>)>,
    facts: &Facts,
) -> Result<Option<(LoginHooks, Rc<Host>)>, Failure> {
    let Some(files) = &admission.account.script else {
        return Ok(script);
    };
    let Some(host) = worker.script_host() else {
        return match files.is_empty() {
            true => Ok(script),
            false => Err(no_scripts_yet()),
        };
    };
    // The listener's hear of its end.
    drop(script);
    let newcomer = LoggedIn {
        remote: &facts.client,
        local: client.local_address(),
        user: admission.account.id().user().as_bytes(),
        schema: admission.schema.as_deref().unwrap_or_default(),
        greeting: &admission.greeting,
    };
    let hooks = LoginHooks::of_account(&host, files, &newcomer)?;
    Ok(hooks.map(|hooks| (hooks, host)))
}

/// The same as [`begin`] for a session that runs a script.
async fn begin_scripted(
    (worker, registered, settings, listener): (
        &Rc<Worker>,
        &Registered,
        &Arc<Settings>,
        &Arc<ListenerConfig>,
    ),
    host: Rc<Host>,
    mut client: PacketStream,
    header: &proxy_protocol::Header,
    facts: &mut Facts,
) -> Result<Begun, Failure> {
    let limit = settings.config.limits.timeout_login;
    let remote = facts.client.clone();
    let is_answered = answers_logins(worker, listener);
    let begun = async {
        let place = enter(worker, settings).await?;
        let id = host.next_id();
        let (files, local) = (settings.config.scripts_of(listener), client.local_address());
        let hooks = LoginHooks::of(&host, files, id, &remote, local, is_answered)?;
        let begin = BeginScripted {
            worker,
            settings,
            host: Rc::clone(&host),
            header,
            remote: &remote,
            client: &mut client,
            who: &mut facts.who,
            hooks,
            offered: Capabilities::default(),
            id,
            answering: is_answered.then_some(Answering { listener }),
        };
        let begun = timeout(limit, begin.run()).await.map_err(|_| late(limit))?;
        Ok((begun?, place))
    };
    let begun = tokio::select! {
        begun = begun => begun,
        () = registered.watch.asked() => {
            Err(Failure::new(Kind::Stopped, "The proxy is shutting down"))
        }
    };
    let failed = match begun {
        Ok((Entry::Scripted(begun), place)) => {
            let given = (worker, &registered.watch, settings);
            let session = begun.join(client, host, given, place)?;
            if let Some(server) = &session.server {
                facts.backend = Some(server.backend.name.clone());
                facts.thread_id = server.greeting.thread_id;
            }
            let id = session.person.as_ref().map(Person::id);
            facts.tell(&registered.watch, Way::Scripted, id);
            return Ok(Begun::Scripted(Box::new(session)));
        }
        Ok((Entry::Examined(admission, hooks), place)) => {
            let given = (worker, registered, settings);
            let script = Some((*hooks, host));
            return take_in(given, client, *admission, place, script, facts).await;
        }
        Err(failure) => failure,
    };
    tell(&mut client, &failed, facts.who.has_answered).await;
    Err(failed)
}

/// Whether the proxy itself answers the logins of a listener's clients.
fn answers_logins(worker: &Worker, listener: &ListenerConfig) -> bool {
    let answers = worker.surroundings.accounts.borrow().answers_logins();
    answers && listener.session != Some(SessionMode::Transparent)
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
    listener: &Arc<ListenerConfig>,
    facts: &mut Facts,
) -> Result<(Entered, Place), Failure> {
    let place = enter(worker, settings).await?;
    let limit = settings.config.limits.timeout_login;
    if answers_logins(worker, listener) {
        let remote = facts.client.clone();
        let enter = Enter {
            worker,
            settings,
            header,
            client,
            remote: &remote,
            listener,
            who: &mut facts.who,
            hooks: None,
        };
        let entered = timeout(limit, enter.run())
            .await
            .map_err(|_| late(limit))??;
        if let Entered::Passed(passed) = &entered {
            facts.backend = Some(passed.0.backend.name.clone());
            facts.thread_id = passed.0.greeting.thread_id;
        }
        return Ok((entered, place));
    }
    let course = Course::of(worker, &settings.config, listener, None);
    let mut greeted = connect(worker, &settings.config, header, &course).await?;
    facts.backend = Some(greeted.backend.name.clone());
    facts.thread_id = greeted.greeting.thread_id;
    let login = Login {
        settings,
        own_key: &worker.shared.own_key,
        client,
        backend: &mut greeted,
        who: &mut facts.who,
        ear: None,
    };
    let remote = &facts.client;
    let login = login.run(|user| stay_in_sight(worker, user, remote, &[]));
    let outcome = match timeout(limit, login).await {
        Ok(outcome) => outcome,
        Err(_) => Err(late(limit)),
    };
    match outcome {
        Ok(agreement) => Ok((Entered::Passed(Box::new((greeted, agreement))), place)),
        Err(failure) => {
            if greeted.stream.awaits_first_answer() {
                decline(greeted.stream);
            }
            Err(failure)
        }
    }
}

pub(crate) fn late(limit: Duration) -> Failure {
    let text = format!(
        "Got timeout reading communication packets: no login within {limit:?} (limits.timeout_login)"
    );
    Failure::new(Kind::LoginTimeout, text)
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

pub(crate) fn lost_at_login() -> Failure {
    Failure::new(
        Kind::LoginAbandoned,
        "the connection was lost at the end of the login",
    )
}

/// Compression begins behind the login's OK; what was read ahead is compressed already.
pub(crate) fn compress(
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
pub(crate) async fn tell(client: &mut PacketStream, failure: &Failure, with_sqlstate: bool) {
    if let Some(payload) = failure.err_payload(with_sqlstate) {
        let _ = timeout(TIMEOUT_TELL, client.finish_with(&payload)).await;
    }
}

/// What the log says of a session.
struct Facts {
    client: Endpoint,
    who: Who,
    backend: Option<String>,
    thread_id: u32,
    /// It has logged in.
    is_in: bool,
}

impl Facts {
    fn of(newcomer: &Newcomer) -> Self {
        Self {
            client: newcomer.remote.clone(),
            who: Who::default(),
            backend: None,
            thread_id: 0,
            is_in: false,
        }
    }

    /// The audit log is told, if there is one.
    fn audit(
        &self,
        worker: &Worker,
        registered: &Registered,
        event: &'static str,
        detail: impl FnOnce() -> String,
    ) {
        worker.surroundings.audit(|| AuditEvent {
            at: SystemTime::now(),
            event,
            port: "clients",
            session: registered.watch.card().map_or(0, |card| card.id),
            user: self.who.user.clone(),
            client: self.client.to_string(),
            schema: self.who.schema.clone(),
            detail: detail(),
        });
    }

    fn audit_end(&self, worker: &Worker, registered: &Registered, ended: &Result<End, Failure>) {
        let event = match self.is_in {
            true => "disconnect",
            false => "login_failed",
        };
        self.audit(worker, registered, event, || match ended {
            Ok(end) => format!("{end:?}"),
            Err(failure) => format!("{}: {}", failure.kind.verdict().label, failure.cause),
        });
    }

    /// Tells whoever looks that the session has logged in, and its id where that is the proxy's own.
    fn tell(&self, watch: &Watch, way: Way, id: Option<u32>) {
        watch.note_of(|card| {
            card.id = id.unwrap_or(card.id);
            card.user = self.who.user.as_str().into();
            card.schema = self.who.schema.as_str().into();
            card.thread_id = self.thread_id;
            card.way = way;
        });
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
