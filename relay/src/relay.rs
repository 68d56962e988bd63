//! The command phase: bytes go from one side to the other, and a tracker follows them.
//!
//! The hot path. Bytes are read into the worker's one buffer, checked by their packet headers and
//! written out at once. A session keeps bytes of its own only while the other side does not take
//! them, and meanwhile nothing more is read for it. So an idle session has no buffer, a slow one at
//! most two pieces, and a statement costs two system calls on each side.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use route::{Backend, Role};
use session::{ChangeUserHold, Event, Outcome, Tracker, Violation};
use sql::Server;
use tokio::io::{AsyncRead, ReadBuf};
use wire::{Capabilities, Command, HEADER_BYTES, StatusFlags, errors};

use crate::observer::Observer;
use crate::relay_env::RelayEnv;
use backend::connection_error::ConnectionError;
use link::binlog_reader::BinlogReader;
use link::failure::{Failure, FailureKind};
use link::leg::Leg;
use link::memory::Purpose;
use link::session_end::SessionEnd;
use login::script_coverage::unfollowed;
use login::user_change::UserChange;
use registry::memory_bound::memory_full;
use registry::session_control::{Ask, Requests, SessionControl};

/// Both sides of a session, and the state of the exchange between them.
pub struct Relay {
    /// The leg of the client.
    pub client: Leg,
    /// The leg of the backend.
    pub backend: Leg,
    /// Follows which command runs, and how far its reply has come.
    pub tracker: Tracker,
    /// The sequence id that an ERR to the client would have; `None` within a packet.
    pub err_sequence: Option<u8>,
    /// The backend.
    pub to: Arc<Backend>,
    /// The kind and version of its server.
    server: Server,
    /// Bytes of the client that were read and may not be passed on yet.
    ahead: Vec<u8>,
    /// Whether the backend has announced the end of the connection in an ERR.
    is_forewarned: bool,
    /// Whether the backend has sent bytes since the client's last bytes.
    backend_spoke: bool,
    /// The session's reports to its worker, and the worker's requests to the session.
    pub control: Rc<SessionControl>,
    env: Rc<RelayEnv>,
    /// Observes the session's statements, if that is configured.
    observer: Option<Box<Observer>>,
    /// The binary log dump that the session reads.
    reader: Option<Box<BinlogReader<Option<Role>>>>,
}

/// Why the relay stops.
#[derive(Debug)]
pub enum RelayStop {
    /// The session has ended.
    Ended(SessionEnd),
    /// A COM_CHANGE_USER was passed on; its dialogue comes next.
    ChangeUser,
}

/// The longest COM_CHANGE_USER: servers accept 64 KiB of connection attributes.
const CHANGE_USER_BYTES_MAX: usize = 128 * 1024;

/// The result of one round in one direction.
enum Step {
    /// Bytes moved: there may be more.
    Moved,
    /// Nothing can move until a socket wakes the session.
    Blocked,
    Over(RelayStop),
}

impl Relay {
    /// Returns a relay between two legs, followed by the tracker.
    pub fn new(
        legs: (Leg, Leg),
        tracker: Tracker,
        (to, server): (Arc<Backend>, Server),
        control: Rc<SessionControl>,
        env: Rc<RelayEnv>,
    ) -> Self {
        let (client, backend) = legs;
        Self {
            client,
            backend,
            tracker: tracker.holding_change_user(),
            err_sequence: None,
            to,
            server,
            ahead: Vec::new(),
            is_forewarned: false,
            backend_spoke: false,
            control,
            env,
            observer: None,
            reader: None,
        }
    }

    /// Starts observing the statements, if that is configured. First it registers which session uses the connection.
    pub fn observe(&mut self, capabilities: Capabilities) {
        let info = self.control.info();
        let thread = info.as_ref().map(|info| (self.to.id, info.thread_id));
        let env = &self.env;
        env.origins
            .note_session(thread, || env.pool.now().0, info.as_ref());
        self.observer = Observer::of(&self.env, info);
        if let Some(observer) = &mut self.observer {
            observer.runs_on(self.to.id, capabilities);
        }
    }

    /// Takes the client's bytes that were read and not yet passed on.
    pub fn take_ahead(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.ahead)
    }

    /// Puts bytes first that were read before the relay began.
    pub fn put_ahead(
        &mut self,
        from_client: Vec<u8>,
        mut from_backend: Vec<u8>,
    ) -> Result<(), Failure> {
        self.ahead = from_client;
        self.tracker
            .backend_bytes(&mut from_backend, |_| {})
            .map_err(|violation| backend_violation(&self.to.name, violation))?;
        self.client.keep(from_backend);
        Ok(())
    }

    /// Relays until the session ends or needs something else.
    pub async fn run(&mut self) -> Result<RelayStop, Failure> {
        poll_fn(|context| self.poll(context)).await
    }

    /// Moves bytes in each direction as far as possible. Bytes from the backend may allow the
    /// client's next command, but not the other way round, so one round is enough.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<RelayStop, Failure>> {
        for direction in [Self::poll_down, Self::poll_up] {
            loop {
                match direction(self, context)? {
                    Step::Moved => {}
                    Step::Blocked => break,
                    Step::Over(turn) => return Poll::Ready(Ok(turn)),
                }
            }
        }
        self.control
            .note(self.env.clock.now(), self.tracker.is_idle());
        self.control.stand(self.tracker.status());
        if self.client.transport.is_compressed() || self.backend.transport.is_compressed() {
            self.count_compression()?;
        }
        match self.heed(context)? {
            Some(end) => Poll::Ready(Ok(RelayStop::Ended(end))),
            None => Poll::Pending,
        }
    }

    /// Counts the memory of compression: a frame that is not complete holds its window.
    fn count_compression(&mut self) -> Result<(), Failure> {
        let bytes = self.client.transport.held_bytes() + self.backend.transport.held_bytes();
        if self.control.memory.keep(Purpose::Compression, bytes)
            || self.env.sessions.makes_room(&self.control)
        {
            return Ok(());
        }
        self.err_sequence = self.tracker.error_sequence();
        Err(memory_full("a compressed frame"))
    }

    /// Does what the worker asks, if the session is ready for it.
    fn heed(&mut self, context: &Context<'_>) -> Result<Option<SessionEnd>, Failure> {
        let asked = self.control.poll_asked(context);
        if asked.is_nothing() {
            return Ok(None);
        }
        if asked.contains(Ask::RoleChanged) {
            self.control.withdraw(Ask::RoleChanged);
            if let (role @ Some(_), Some(reader)) = (self.role(), &mut self.reader) {
                reader.note_role(&role);
            }
        }
        if self.has_ended_reading() && self.client.is_drained() {
            return Ok(Some(SessionEnd::RoleChanged));
        }
        let is_idle = self.tracker.is_idle() && self.client.is_drained() && self.ahead.is_empty();
        let heeded = self.end_asked(asked, is_idle);
        if let Err(failure) = &heeded {
            self.err_sequence = match is_idle {
                true => failure.kind.unasked_sequence(self.server),
                false => self.tracker.error_sequence(),
            };
        }
        heeded
    }

    /// Returns the end that the worker asks for, if the session is ready for it.
    fn end_asked(&self, asked: Requests, is_idle: bool) -> Result<Option<SessionEnd>, Failure> {
        let is_at_rest = is_idle && !self.tracker.status().contains(StatusFlags::IN_TRANS);
        let ends_now = asked.contains(Ask::Stop);
        if is_at_rest && (ends_now || asked.contains(Ask::Drain)) {
            Ok(Some(SessionEnd::Drained))
        } else if ends_now {
            let error = errors::shutting_down_within("the statement or transaction");
            Err(Failure::saying(FailureKind::Stopped, error))
        } else if asked.contains(Ask::ClientGone) && !self.tracker.has_quit() {
            Err(match self.tracker.command() {
                Some(command) => self.client_left(command, "it closed the connection"),
                None => Failure::new(
                    FailureKind::ClientLost,
                    "the client has closed the connection",
                ),
            })
        } else if asked.contains(Ask::KillSession) {
            Err(Failure::new(FailureKind::Killed, "Connection was killed"))
        } else if asked.contains(Ask::BackendDisabled) && self.env.pool.is_disabled(self.to.id) {
            let outcome = match (is_at_rest, is_idle) {
                (true, _) => "",
                (false, true) => "; the transaction is rolled back",
                (false, false) => MAY_HAVE_RUN,
            };
            let cause = format_args!("{}{outcome}", ConnectionError::Disabled);
            let error = errors::lost(&self.to.name, cause);
            Err(Failure::saying(FailureKind::BackendDisabled, error))
        } else if asked.contains(Ask::BackendDown) && !is_idle {
            let error = errors::lost(&self.to.name, format_args!("{SILENT}{MAY_HAVE_RUN}"));
            Err(Failure::saying(FailureKind::BackendLost, error))
        } else if asked.contains(Ask::IdleTransaction) && is_idle && !is_at_rest {
            let error = self.env.idle_transaction(&self.control);
            Err(Failure::saying(FailureKind::IdleTransaction, error))
        } else if asked.contains(Ask::IdleTimeout) && is_idle {
            Err(Failure::saying(
                FailureKind::IdleTimeout,
                errors::idle_timeout(),
            ))
        } else {
            // Bytes have moved since the worker asked for these.
            self.control.withdraw(Ask::BackendDown);
            self.control.withdraw(Ask::BackendDisabled);
            self.control.withdraw(Ask::IdleTimeout);
            self.control.withdraw(Ask::IdleTransaction);
            Ok(None)
        }
    }

    /// Moves bytes from the backend to the client.
    fn poll_down(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        match self.client.poll_drain(context) {
            Poll::Pending => return Ok(Step::Blocked),
            Poll::Ready(Err(error)) => return self.client_broke(&error),
            Poll::Ready(Ok(())) if self.has_ended_reading() => {
                return Ok(Step::Over(RelayStop::Ended(SessionEnd::RoleChanged)));
            }
            Poll::Ready(Ok(())) => {}
        }
        let env = Rc::clone(&self.env);
        let mut scratch = env.pool.scratch.borrow_mut();
        let mut buffer = ReadBuf::new(&mut scratch);
        match Pin::new(&mut self.backend.transport).poll_read(context, &mut buffer) {
            Poll::Pending => return Ok(Step::Blocked),
            Poll::Ready(Err(error)) => return self.backend_ended(&error.to_string()),
            Poll::Ready(Ok(())) if buffer.filled().is_empty() => {
                return self.backend_ended("it closed the connection");
            }
            Poll::Ready(Ok(())) => {}
        }
        let command = self.tracker.command();
        let is_dump = matches!(
            command,
            Some(Command::BINLOG_DUMP | Command::BINLOG_DUMP_GTID)
        );
        if is_dump && !self.tracker.has_reply_started() {
            self.reader = BinlogReader::begin(command, self.role());
        }
        let bytes = match &mut self.reader {
            Some(reader) => reader.take(buffer.filled_mut()),
            None => buffer.filled_mut(),
        };
        self.err_sequence = self.tracker.error_sequence();
        self.backend_spoke = true;
        if let Some(sequence) = self.client.transport.frame_sequence() {
            self.tracker.align(sequence);
        }
        let (mut is_forewarned, mut is_lost) = (false, false);
        if let Some(observer) = &mut self.observer {
            observer.observe(bytes);
        }
        let observer = &mut self.observer;
        self.tracker
            .backend_bytes(bytes, |event| match event {
                Event::ReplyEnded { outcome, .. } => {
                    if let Some(observer) = observer {
                        observer.ends(outcome, None);
                    }
                }
                Event::Unsolicited(Outcome::Err(_)) => is_forewarned = true,
                Event::Lost(reason) => {
                    is_lost = true;
                    tracing::debug!(%reason, "session is relayed without being followed")
                }
                _ => {}
            })
            .map_err(|violation| backend_violation(&self.to.name, violation))?;
        self.is_forewarned |= is_forewarned;
        if is_lost {
            unfollowed(&self.env.login)?;
        }
        match self.client.send(bytes, context) {
            Ok(()) => Ok(Step::Moved),
            Err(error) => self.client_broke(&error),
        }
    }

    /// Returns the current role of the backend.
    fn role(&self) -> Option<Role> {
        let topology = self.env.pool.topology.borrow();
        topology.backend(self.to.id).and_then(|it| it.role)
    }

    /// Whether the client has to continue its binary log dump at another server.
    fn has_ended_reading(&self) -> bool {
        self.reader.as_ref().is_some_and(|it| it.has_ended())
    }

    /// Moves bytes from the client to the backend.
    fn poll_up(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        if self.backend.poll_drain_or_break(context).is_pending() || !self.tracker.wants_client() {
            return Ok(Step::Blocked);
        }
        match self.tracker.held(&self.ahead) {
            ChangeUserHold::Nothing if self.ahead.is_empty() => {}
            ChangeUserHold::Nothing => return self.pass_ahead(context),
            ChangeUserHold::ChangeUser(length) if self.ahead.len() >= HEADER_BYTES + length => {
                return self.change_user(length, context);
            }
            ChangeUserHold::ChangeUser(length) if length > CHANGE_USER_BYTES_MAX => {
                return Err(client_violation(Violation::PayloadTooLarge {
                    limit: CHANGE_USER_BYTES_MAX as u64,
                }));
            }
            ChangeUserHold::ChangeUser(_) | ChangeUserHold::Partly => {}
        }
        if self.client.has_ended {
            return self.client_ended();
        }
        let env = Rc::clone(&self.env);
        let mut scratch = env.pool.scratch.borrow_mut();
        let mut buffer = ReadBuf::new(&mut scratch);
        match Pin::new(&mut self.client.transport).poll_read(context, &mut buffer) {
            Poll::Pending => Ok(Step::Blocked),
            Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                let bytes = buffer.filled_mut();
                if !self.ahead.is_empty() {
                    self.ahead.extend_from_slice(bytes);
                    return Ok(Step::Moved);
                }
                let passed = self.pass(bytes, context)?;
                self.ahead.extend_from_slice(&bytes[passed..]);
                Ok(Step::Moved)
            }
            Poll::Ready(read) => {
                self.client.has_ended = true;
                match Leg::is_end(&read.map(|()| 0)) {
                    // The client may still read its reply.
                    true => self.env.note_half_closed(&self.control),
                    // After a reset the client reads nothing.
                    false => self.control.ask(Ask::ClientGone),
                }
                self.client_ended()
            }
        }
    }

    fn pass_ahead(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let mut bytes = std::mem::take(&mut self.ahead);
        let passed = self.pass(&mut bytes, context)?;
        bytes.drain(..passed);
        if !bytes.is_empty() {
            self.ahead = bytes;
        }
        Ok(Step::Moved)
    }

    /// Passes on a whole COM_CHANGE_USER, after the replies to earlier commands. It is refused if
    /// it leads to an account with a script, because the script would see nothing here.
    fn change_user(&mut self, length: usize, context: &mut Context<'_>) -> Result<Step, Failure> {
        if !self.tracker.is_idle() {
            return Ok(Step::Blocked);
        }
        let mut bytes = std::mem::take(&mut self.ahead);
        self.ahead = bytes.split_off(HEADER_BYTES + length);
        self.err_sequence = bytes.get(HEADER_BYTES - 1).map(|id| id.wrapping_add(1));
        if let Some(info) = self.control.info() {
            let change = UserChange {
                remote: &info.client,
                transport: &self.client.transport,
                argument: bytes.get(HEADER_BYTES + 1..).unwrap_or_default(),
                running: &[],
            };
            change.check(&self.env.login)?;
        }
        self.backend.transport.begin_command();
        self.backend_spoke = false;
        if let Some(observer) = &mut self.observer {
            observer.begins(&bytes, self.tracker.status());
            self.control.set_digest(observer.digest());
        }
        self.tracker
            .pass_change_user(&mut bytes, |_| {})
            .map_err(client_violation)?;
        self.backend.send_or_break(&bytes, context);
        Ok(Step::Over(RelayStop::ChangeUser))
    }

    /// Passes on the client's bytes that may pass; returns how many.
    fn pass(&mut self, bytes: &mut [u8], context: &mut Context<'_>) -> Result<usize, Failure> {
        // If the tracker has lost the session, client bytes after an answer are taken for the beginning of a command.
        if self.tracker.is_at_command() || (self.tracker.is_lost() && self.backend_spoke) {
            self.backend.transport.begin_command();
        }
        self.backend_spoke = false;
        if let Some(observer) = &mut self.observer
            && self.tracker.is_idle()
        {
            observer.begins(bytes, self.tracker.status());
            self.control.set_digest(observer.digest());
        }
        self.err_sequence = self.tracker.error_sequence();
        let mut is_lost = false;
        let passed = self
            .tracker
            .client_bytes(bytes, |event| {
                if let Event::Lost(reason) = event {
                    is_lost = true;
                    tracing::debug!(%reason, "session is relayed without being followed");
                }
            })
            .map_err(client_violation)?;
        if is_lost {
            unfollowed(&self.env.login)?;
        }
        self.backend.send_or_break(&bytes[..passed], context);
        Ok(passed)
    }

    /// Handles the close by the client, after all of its bytes were passed on.
    fn client_ended(&self) -> Result<Step, Failure> {
        match (self.tracker.has_quit(), self.tracker.command()) {
            (true, None) => Ok(Step::Over(RelayStop::Ended(SessionEnd::Quit))),
            // Commands before COM_QUIT are executed, as on a direct connection.
            (true, Some(_)) => Ok(Step::Blocked),
            (false, _) if self.control.is_asked(Ask::ClientGone) => self.client_is_gone(),
            // The rest of the reply is still on its way to the client.
            (false, None) if !self.client.is_drained() => Ok(Step::Blocked),
            (false, None) if self.tracker.is_idle() => {
                Ok(Step::Over(RelayStop::Ended(SessionEnd::ClientClosed)))
            }
            (false, None) if self.tracker.is_lost() => {
                Ok(Step::Over(RelayStop::Ended(SessionEnd::ClientClosed)))
            }
            (false, None) => Err(Failure::new(
                FailureKind::ClientLeft,
                "the client has closed the connection within a command",
            )),
            (false, Some(_)) => Ok(Step::Blocked),
        }
    }

    /// Handles a client that has closed and, as far as is known, reads nothing any more.
    fn client_is_gone(&self) -> Result<Step, Failure> {
        match self.tracker.command() {
            Some(command) => Err(self.client_left(command, "it closed the connection")),
            None if self.tracker.is_idle() || self.tracker.is_lost() => {
                Ok(Step::Over(RelayStop::Ended(SessionEnd::ClientClosed)))
            }
            None => Err(Failure::new(
                FailureKind::ClientLeft,
                "the client has closed the connection within a command",
            )),
        }
    }

    /// Handles a client that does not take the bytes that are sent to it.
    fn client_broke(&mut self, error: &io::Error) -> Result<Step, Failure> {
        match (self.tracker.has_quit(), self.tracker.command()) {
            (true, _) => {
                self.client.give_up();
                Ok(Step::Moved)
            }
            (false, Some(command)) => Err(self.client_left(command, &error.to_string())),
            (false, None) => Err(Failure::new(
                FailureKind::ClientLost,
                format!("the connection to the client is lost: {error}"),
            )),
        }
    }

    fn client_left(&self, command: Command, how: &str) -> Failure {
        let when = match self.tracker.has_reply_started() {
            true => "in the middle of the reply to",
            false => "before the reply to",
        };
        Failure::new(
            FailureKind::ClientLeft,
            format!("the client has left {when} {command}: {how}"),
        )
    }

    /// Handles the close by the backend, after the client has taken all of its bytes.
    fn backend_ended(&mut self, how: &str) -> Result<Step, Failure> {
        self.err_sequence = self.tracker.error_sequence();
        let is_expected = self.is_forewarned || self.tracker.is_lost() || self.tracker.is_idle();
        let name = &self.to.name;
        match self.tracker.command() {
            _ if self.tracker.has_quit() => Ok(Step::Over(RelayStop::Ended(SessionEnd::Quit))),
            _ if is_expected => Ok(Step::Over(RelayStop::Ended(SessionEnd::BackendClosed))),
            None => {
                let error = errors::lost_before_command(name, how);
                Err(Failure::saying(FailureKind::BackendLost, error))
            }
            Some(command) => {
                let cause = format_args!("{how}; it may have been executed");
                let error = errors::lost_during(name, command, cause);
                Err(Failure::saying(FailureKind::BackendLost, error))
            }
        }
    }
}

/// The failure of a backend that breaks the protocol: it ends the session.
pub fn backend_violation(name: &str, violation: Violation) -> Failure {
    let error = errors::protocol_broken(name, violation);
    Failure::saying(FailureKind::BackendProtocol, error)
}

/// The reason for giving up a backend that is down.
pub const SILENT: &str = "it is down and has not answered (health.timeout_down)";

/// A note about the statement that a lost backend was executing.
pub const MAY_HAVE_RUN: &str = "; the statement may have been executed";

/// The failure of a client that breaks the protocol: it ends the session.
pub fn client_violation(violation: Violation) -> Failure {
    match violation {
        Violation::PayloadTooLarge { limit } => Failure::saying(
            FailureKind::PayloadTooLarge,
            errors::payload_too_large(limit),
        ),
        _ => Failure::saying(FailureKind::ClientProtocol, errors::out_of_order(violation)),
    }
}
