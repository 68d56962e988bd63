//! The command phase of a scripted session: wait for a command, ask the script, do what the script decides.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use route::{KillReason, Report};
use script::{Move, Rows, ScriptQuery};
use session::Outcome;
use tokio::io::{AsyncRead, ReadBuf};
use wire::{Capabilities, Command, ErrPacket, StatusFlags, errors};

use super::client_files::ClientFiles;
use super::client_side::ClientSide;
use backend::connection_error::ConnectionError;
use backend::greeting::server_of;
use backend::settings::Settings;
use link::client_command::{EndOf, Incoming, Passage};
use link::failure::{Failure, FailureKind};
use link::leg::Leg;
use link::memory::Purpose;
use link::reply_observer::{ObservedReply, Towards};
use link::session_end::SessionEnd;
use login::login_env::SessionPermit;
use registry::last_word::takes_the_reason;
use registry::memory_bound::memory_full;
use registry::session_control::{Ask, HookWait, SessionControl};
use registry::session_registry::Registration;
use relay::observer::Observer;
use relay::outcome::{After, SessionError};
use relay::relay::client_violation;
use relay::relay_env::RelayEnv;
use relay::thread_ended::has_thread_ended;
use script::unless_zero;
use script_hooks::act::act;
use script_hooks::stage::{Stage, lacks_server, note_prepared, prepared_text};
use script_host::host::Host;
use script_host::parked::kind_of;
use script_host::server::Server;
use script_host::shadow_queue::Replied;

/// A scripted session. Fields are dropped in this order: the backend connection goes before the session's place.
pub struct Scripted {
    pub(crate) client: ClientSide,
    /// The backend connection that the session has now.
    pub server: Option<Server>,
    pub(crate) script: script::Session,
    /// Whether COM_CHANGE_USER has changed the connection's user, so that it may not go to a pool.
    pub(crate) has_changed: bool,
    /// Rewrites the rows of the current command, if set.
    pub(crate) rows: Option<Rows>,
    /// Whether the next command is the script's own, with a time limit.
    pub(crate) is_bound: bool,
    pub(crate) files: ClientFiles,
    pub(crate) host: Rc<Host>,
    pub(crate) id: u64,
    /// The session's entry by the id that the client sees, if the proxy has given that id.
    pub registration: Option<Registration>,
    pub(crate) env: Rc<RelayEnv>,
    /// The session's cells that other parts of the proxy read, and through which they make requests.
    pub control: Rc<SessionControl>,
    pub(crate) settings: Arc<Settings>,
    /// Observes the session's statements, if that is configured.
    pub(crate) observer: Option<Box<Observer>>,
    pub(crate) _place: SessionPermit,
}

/// The input that has arrived from a client: a command, or the end.
enum ClientInput {
    Command(Incoming),
    End(SessionEnd),
}

/// The event that ends a scripted session's wait for a command.
enum ScriptedIdleEvent {
    Bytes,
    Closed,
    BackendClosed,
}

impl Scripted {
    /// Runs command after command, until the end; then calls the hook `disconnect_client`.
    pub async fn run(&mut self) -> Result<SessionEnd, SessionError> {
        self.observer = Observer::of(&self.env, self.control.info());
        let ran = self.commands().await;
        if ran.is_err() {
            // The exchange that is still running on the connection belongs to no session any more.
            self.break_server();
        }
        self.script.end();
        self.follow_moves().await;
        if let Some(server) = self.server.take() {
            server.quit().await;
        }
        ran
    }

    async fn commands(&mut self) -> Result<SessionEnd, SessionError> {
        // The script may have decided on moves when the login ended.
        self.follow_moves().await;
        loop {
            let incoming = match self.next_command().await? {
                ClientInput::Command(incoming) => incoming,
                ClientInput::End(end) => return Ok(end),
            };
            let topology = &self.env.pool.topology;
            self.host.follow(&topology.borrow(), &self.settings);
            match act(self, incoming).await? {
                After::Next if self.script.wants_close() => {
                    let _ = self.client.leg.drained().await;
                    return Ok(SessionEnd::Quit);
                }
                After::Ended(end) => return Ok(end),
                After::Next | After::Relayed(_) => {}
            }
        }
    }

    /// Notes what a command has changed of the values that scripts see.
    pub(crate) fn note(&mut self, command: Command, argument: &[u8], outcome: Outcome) {
        if command == Command::CHANGE_USER && outcome == Outcome::Ok {
            let user = argument.split(|byte| *byte == 0).next();
            let user = user.unwrap_or_default();
            self.script.set_user(user);
            self.has_changed = true;
            let name = String::from_utf8_lossy(user);
            self.control
                .change_info(|info| info.user = name.as_ref().into());
            self.stand();
        }
        if command == Command::INIT_DB && outcome == Outcome::Ok {
            self.script.set_schema(argument);
            if let Some(server) = &mut self.server {
                server.facts.schema = argument.to_vec();
            }
        }
    }

    /// Takes a parked connection for this session. If another session used it before, it is reset first.
    async fn take(&mut self, id: u64) {
        let Some(mut server) = self.host.parked.take(id).await else {
            return self.script.set_server(None);
        };
        let is_alike = kind_of(self.client.capabilities) == kind_of(server.capabilities);
        if server.user_id != self.id && !(is_alike && self.reset(&mut server).await) {
            return self.script.set_server(None);
        }
        server.user_id = self.id;
        self.control.settle(server.backend.id);
        self.server = Some(server);
    }

    /// Publishes the connection that the session has now.
    pub fn stand(&mut self) {
        let server = self.server.as_ref();
        let at = server.map(|it| (it.backend.id, it.greeting.thread_id));
        let thread_id = at.map_or(0, |(_, thread_id)| thread_id);
        self.control.change_info(|info| info.thread_id = thread_id);
        let (info, env) = (self.control.info(), &self.env);
        env.origins
            .note_session(at, || env.pool.now().0, info.as_ref());
        if let (Some(registration), Some(info)) = (&mut self.registration, info) {
            registration.runs_script(info.user.as_bytes(), at);
        }
    }

    /// Closes the connection in the middle of an exchange.
    fn break_server(&mut self) {
        if let Some(server) = self.server.take() {
            server.leg.transport.abort();
        }
        self.script.set_server(None);
    }

    /// Waits for the client's next command, whole.
    async fn next_command(&mut self) -> Result<ClientInput, SessionError> {
        let limit = self.settings.config.limits.packet_bytes_max;
        self.control.memory.keep(Purpose::Reply, 0);
        self.control
            .memory
            .keep(Purpose::Command, self.client.inbox.held_bytes());
        loop {
            match self.client.inbox.command(usize::MAX, limit) {
                Ok(Some(incoming)) => return Ok(ClientInput::Command(incoming)),
                Ok(None) => {}
                Err(violation) => {
                    return Err(SessionError::new(client_violation(violation), Some(1)));
                }
            }
            match poll_fn(|context| self.poll_idle(context)).await? {
                ScriptedIdleEvent::Bytes if self.has_memory_for_command() => {}
                ScriptedIdleEvent::Bytes => {
                    return Err(SessionError::new(memory_full("the statement"), Some(1)));
                }
                ScriptedIdleEvent::BackendClosed => {
                    return Ok(ClientInput::End(SessionEnd::BackendClosed));
                }
                ScriptedIdleEvent::Closed if self.client.inbox.is_empty() => {
                    return Ok(ClientInput::End(SessionEnd::ClientClosed));
                }
                ScriptedIdleEvent::Closed => {
                    let text = "the client has closed the connection within a command";
                    return Err(SessionError::new(
                        Failure::new(FailureKind::ClientLeft, text),
                        None,
                    ));
                }
            }
        }
    }

    /// Counts the bytes of a command that is not whole yet.
    fn has_memory_for_command(&self) -> bool {
        let bytes = self.client.inbox.held_bytes() + self.client.leg.transport.held_bytes();
        self.control.memory.keep(Purpose::Command, bytes)
            || self.env.sessions.makes_room(&self.control)
    }

    /// Between two commands: polls the client, its unsent bytes, the session's connection and the worker.
    fn poll_idle(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<ScriptedIdleEvent, SessionError>> {
        if let Poll::Ready(Err(error)) = self.client.leg.poll_drain(context) {
            let failure = Failure::new(
                FailureKind::ClientLost,
                format!("the connection to the client is lost: {error}"),
            );
            return Poll::Ready(Err(SessionError::new(failure, None)));
        }
        // No more commands go to a backend that has closed.
        if let Poll::Ready(ended) = self.poll_server(context) {
            return Poll::Ready(ended);
        }
        if self.client.leg.is_drained() {
            match self.poll_client(context) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Ok(ScriptedIdleEvent::Closed)),
                Poll::Ready(Ok(_)) => {
                    self.control.has_spoken();
                    return Poll::Ready(Ok(ScriptedIdleEvent::Bytes));
                }
                // A reset counts as an ordinary end here.
                Poll::Ready(Err(_)) => return Poll::Ready(Ok(ScriptedIdleEvent::Closed)),
                Poll::Pending => {}
            }
        }
        self.control
            .note(self.env.clock.now(), self.client.inbox.is_empty());
        self.control.stand(self.client.status);
        match self.heed(context) {
            Some(cut) => Poll::Ready(Err(cut)),
            None => Poll::Pending,
        }
    }

    pub(crate) fn poll_client(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<usize>> {
        let mut scratch = self.env.pool.scratch.borrow_mut();
        let mut buffer = ReadBuf::new(&mut scratch);
        ready!(Pin::new(&mut self.client.leg.transport).poll_read(context, &mut buffer))?;
        self.client.inbox.put(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    }

    /// If a backend closes between two commands, the session ends; bytes from the backend go to the client first.
    fn poll_server(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<ScriptedIdleEvent, SessionError>> {
        let Some(server) = &mut self.server else {
            return Poll::Pending;
        };
        let words = ready!(server.poll_ended(context));
        let words = words.get(4..).filter(|it| ErrPacket::decode(it).is_ok());
        let Some(words) = words else {
            return Poll::Ready(Ok(ScriptedIdleEvent::BackendClosed));
        };
        let name = &server.backend.name;
        let text = errors::lost_between_commands(name);
        let failure = Failure::relaying(FailureKind::HeldBackendLost, text, words.to_vec());
        Poll::Ready(Err(SessionError::new(failure, Some(0))))
    }

    /// While a hook waits: sends the unsent bytes. Ready when the command has to end, or the session ends.
    fn poll_waiting(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        if let Poll::Ready(Err(error)) = self.client.leg.poll_drain(context) {
            let text = format!("the connection to the client is lost: {error}");
            return Poll::Ready(Err(Failure::new(FailureKind::ClientLost, text)));
        }
        match self.poll_server(context) {
            Poll::Ready(Err(cut)) => return Poll::Ready(Err(cut.failure)),
            Poll::Ready(Ok(_)) => {
                let error = errors::lost_in_hook();
                return Poll::Ready(Err(Failure::saying(FailureKind::HeldBackendLost, error)));
            }
            Poll::Pending => {}
        }
        if let Poll::Ready(failure) = self.poll_ended(context) {
            return Poll::Ready(Err(failure));
        }
        match self.control.poll_asked(context).contains(Ask::EndHook) {
            true => Poll::Ready(Ok(())),
            false => Poll::Pending,
        }
    }

    /// Does what the worker asks of a session between two commands.
    fn heed(&mut self, context: &Context<'_>) -> Option<SessionError> {
        let asked = self.control.poll_asked(context);
        if asked.is_nothing() {
            return None;
        }
        self.control.withdraw(Ask::BackendDown);
        self.control.withdraw(Ask::KillStatement);
        let is_at_rest = self.client.inbox.is_empty() && self.client.leg.is_drained();
        let is_free = !self.client.status.contains(StatusFlags::IN_TRANS);
        if let Some(failure) = asked.end(is_at_rest, is_free) {
            return Some(self.unasked(failure));
        }
        self.control.withdraw(Ask::IdleTimeout);
        if asked.contains(Ask::IdleTransaction) && is_at_rest && !is_free {
            let error = self.env.idle_transaction(&self.control);
            let failure = Failure::saying(FailureKind::IdleTransaction, error);
            self.env
                .note_cut(&self.control, failure.kind, &failure.cause);
            return Some(self.unasked(failure));
        }
        self.control.withdraw(Ask::IdleTransaction);
        let server = self.server.as_ref();
        let failure = server.and_then(|server| self.cut_off_from(server));
        self.control.withdraw(Ask::BackendDisabled);
        let text = match is_free {
            true => "",
            false => "; the transaction is rolled back",
        };
        let failure = failure.map(|cause| Failure::new(FailureKind::BackendDisabled, cause + text));
        failure.map(|failure| self.unasked(failure))
    }

    /// Returns the end of a session between two commands, with the sequence id of its ERR.
    fn unasked(&self, failure: Failure) -> SessionError {
        let greeting = self.server.as_ref().map(|server| &server.greeting);
        let server = greeting.map_or(sql::Server::Unknown, server_of);
        let sequence = failure.kind.unasked_sequence(server);
        SessionError::new(failure, sequence)
    }

    /// Returns why the session has to leave its backend, if that was disabled.
    pub(crate) fn cut_off_from(&self, server: &Server) -> Option<String> {
        let is_asked = self.control.is_asked(Ask::BackendDisabled);
        if !is_asked || !self.env.pool.is_disabled(server.backend.id) {
            return None;
        }
        let name = &server.backend.name;
        Some(errors::lost(name, ConnectionError::Disabled).into())
    }

    /// Ends a session that cannot continue: tells the client the error if possible, and makes sure
    /// that no statement goes on without a client.
    pub async fn break_off(&mut self, cut: &SessionError) {
        if has_thread_ended(&self.env, &self.control, &cut.failure).await {
            let drained = self.client.leg.drained();
            let _ = tokio::time::timeout(link::session_end::TIMEOUT_TELL, drained).await;
            return;
        }
        let (client, scratch) = (&mut self.client.leg, &self.env.pool.scratch);
        if !takes_the_reason(&self.control, client, scratch, &cut.failure).await {
            return;
        }
        if let (Some(sequence), Some(payload)) = (cut.sequence, cut.failure.err_payload(true)) {
            let told = self.client.leg.finish_with(sequence, &payload);
            let _ = tokio::time::timeout(link::session_end::TIMEOUT_TELL, told).await;
        }
    }

    /// Reports to the control plane that a command was cut off.
    pub(crate) fn report(&self, failure: &Failure) {
        let Some(server) = &self.server else {
            return;
        };
        let backend = server.backend.id;
        let report = match failure.kind {
            FailureKind::BackendLost | FailureKind::BackendProtocol => Report::SessionBroken {
                backend,
                cause: failure.cause.clone(),
            },
            FailureKind::ClientLeft
            | FailureKind::Stopped
            | FailureKind::Killed
            | FailureKind::BackendDisabled => Report::KillStatement {
                backend,
                thread_id: server.greeting.thread_id,
                why: match failure.kind {
                    FailureKind::Stopped => KillReason::Stopping,
                    FailureKind::BackendDisabled => KillReason::Disabled,
                    _ => KillReason::ClientGone,
                },
            },
            _ => return,
        };
        self.env.pool.report(report);
    }
}

impl Stage for Scripted {
    fn script(&mut self) -> &mut script::Session {
        &mut self.script
    }

    fn client(&mut self) -> &mut Leg {
        &mut self.client.leg
    }

    fn status(&self) -> StatusFlags {
        self.client.status
    }

    fn capabilities(&self) -> Capabilities {
        self.client.capabilities
    }

    fn result_bytes_max(&self) -> usize {
        let bytes_max = self.settings.config.script.result_bytes_max;
        usize::try_from(bytes_max).unwrap_or(usize::MAX)
    }

    fn statements_max(&self) -> u64 {
        unless_zero(self.settings.config.script.statements_max)
    }

    fn server_version(&self) -> Option<u32> {
        self.server.as_ref()?.facts.version
    }

    fn has_server(&self) -> bool {
        self.server.is_some()
    }

    async fn follow_moves(&mut self) {
        let moves = self.script.take_moves();
        let has_moved = !moves.is_empty();
        for step in moves {
            match step {
                Move::Park(_) => {
                    if let Some(server) = self.server.take() {
                        self.control.unsettle();
                        match self.has_changed {
                            false => self.host.parked.park(&self.host.scripts, server),
                            true => self.host.scripts.unpark(server.id),
                        }
                    }
                }
                Move::Take(id) => self.take(id).await,
                Move::Close(id) => self.host.parked.close(id),
                // This move concerns only pooled sessions.
                Move::Choose(_) => {}
            }
        }
        if has_moved {
            self.stand();
        }
    }

    fn rewrite_rows(&mut self, rows: Option<Rows>) {
        self.rows = rows;
    }

    /// The session has one connection for all commands; scripts are told so.
    fn route_next(&mut self, _: Box<[u8]>) {}

    fn bound_next(&mut self) {
        self.is_bound = true;
    }

    fn note_wait(&self, wait: HookWait) {
        let server = self.server.as_ref();
        let thread_id = server.map_or(0, |server| server.greeting.thread_id);
        let second = self.env.clock.now();
        self.control.hook_waits(second, wait, thread_id);
    }

    fn note_wait_over(&self) -> bool {
        self.control.hook_goes_on(self.env.clock.now())
    }

    async fn sleep(&mut self, time: Duration, sequence: u8) -> Result<Option<()>, SessionError> {
        let mut end = pin!(tokio::time::sleep(time));
        poll_fn(|context| {
            if end.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(Some(())));
            }
            match self.poll_waiting(context) {
                Poll::Ready(Ok(())) => Poll::Ready(Ok(None)),
                Poll::Ready(Err(failure)) => {
                    Poll::Ready(Err(SessionError::new(failure, Some(sequence))))
                }
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    async fn ask_apart(&mut self, _: ScriptQuery, _: u8) -> Result<Option<Replied>, SessionError> {
        let refusal = "this session has one connection for all";
        Ok(Some(Err(refusal.to_owned())))
    }

    async fn swallow_file(&mut self, sequence: u8) -> Result<u8, SessionError> {
        let mut passage = Passage::of(EndOf::File, sequence.wrapping_add(1));
        let swallowed = poll_fn(|context| match self.poll_swallow(&mut passage, context) {
            Poll::Pending => self.poll_end(context).map(Err),
            swallowed => swallowed,
        })
        .await;
        swallowed.map_err(|failure| SessionError::new(failure, None))?;
        Ok(passage.sequence)
    }

    async fn forward(&mut self, incoming: Incoming) -> Result<After, SessionError> {
        if self.server.is_none() {
            return match incoming.command {
                Command::QUIT => Ok(After::Ended(SessionEnd::Quit)),
                _ => Err(lacks_server(incoming.sequence)),
            };
        }
        let sequence = incoming.sequence;
        let text = prepared_text(&incoming);
        let (observed, after) = self.ask(incoming, Towards::Client { sequence }).await?;
        note_prepared(&mut self.script, text, &observed);
        Ok(after)
    }

    async fn ask(
        &mut self,
        incoming: Incoming,
        towards: Towards,
    ) -> Result<(ObservedReply, After), SessionError> {
        let observed = self.exchange(&incoming, towards).await?;
        if incoming.command == Command::QUIT {
            return Ok((observed, After::Ended(SessionEnd::Quit)));
        }
        self.note(incoming.command, &incoming.argument(), observed.outcome);
        Ok((observed, After::Next))
    }
}
