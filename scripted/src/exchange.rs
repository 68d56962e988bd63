//! One command of a scripted session on its backend connection, and its reply: passed to the client
//! as it arrives, or kept for the script.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use route::{KillReason, Report};
use session::{Files, Outcome, Piece, Progress, Reply, Sequences};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::timeout;
use wire::{Capabilities, Command, ErrorCode, errors};

use super::session::Scripted;
use backend::kill_thread::TIMEOUT_KILL;
use link::client_command::Incoming;
use link::failure::{Failure, FailureKind};
use link::leg::Leg;
use link::memory::Purpose;
use link::reply_observer::{ObservedReply, Preparing, Reports, Towards};
use link::row_rewriting::Rewriting;
use registry::session_control::Ask;
use relay::outcome::SessionError;
use relay::relay::{MAY_HAVE_RUN, SILENT, backend_violation};
use script_hooks::packets::incoming_of;
use script_hooks::stage::{Stage, lacks_server};
use script_hooks::waiting::query;
use script_host::server::Server;

/// The maximum number of bytes that are read ahead from a client that sends before it is answered.
const AHEAD_BYTES_MAX: usize = 64 * 1024;

/// A reply that is being received.
pub(super) struct Passing {
    reply: Reply,
    pub towards: Towards,
    pub observed: ObservedReply,
    rewriting: Option<Rewriting>,
    preparing: Option<Preparing>,
}

impl Scripted {
    /// Sends a command and receives its whole reply. There must be a backend connection.
    pub(crate) async fn exchange(
        &mut self,
        incoming: &Incoming,
        towards: Towards,
    ) -> Result<ObservedReply, SessionError> {
        let Some(mut server) = self.server.take() else {
            return Err(lacks_server(towards.sequence()));
        };
        if incoming.command == Command::CHANGE_USER
            && let Err(failure) = self.may_become(&incoming.argument())
        {
            self.server = Some(server);
            return Err(SessionError::new(failure, Some(towards.sequence())));
        }
        if let Some(observer) = &mut self.observer {
            observer.runs_on(server.backend.id, server.capabilities);
            observer.begins(&incoming.packets, self.client.status);
            self.control.set_digest(observer.digest());
        }
        let instead = match self.in_place_of_kill(incoming, &mut server).await {
            Ok(instead) => instead,
            Err(cut) => {
                self.server = Some(server);
                self.report(&cut.failure);
                return Err(cut);
            }
        };
        let incoming = instead.as_ref().unwrap_or(incoming);
        self.note_files(incoming, server.capabilities);
        server.send(&incoming.packets).await;
        let observed = match incoming.command {
            Command::CHANGE_USER => self.change_user(&mut server).await,
            command if std::mem::take(&mut self.is_bound) => {
                self.run_exchange_in_time(&mut server, command, towards)
                    .await
            }
            command => self.run_exchange(&mut server, command, towards).await,
        };
        if observed.as_ref().is_ok_and(|it| it.outcome == Outcome::Ok) {
            self.pass_kill_on(incoming, &server);
        }
        self.server = Some(server);
        if let (Some(observer), Ok(observed)) = (&mut self.observer, &observed) {
            if let Some((id, _)) = observed.prepared {
                observer.is_prepared(id);
            }
            observer.ends(observed.outcome, Some(&observed.tally));
        }
        if let Err(cut) = &observed {
            self.report(&cut.failure);
        }
        observed
    }

    /// Does the same for a statement of the script's own, with a time limit. After the limit the statement is
    /// killed, if the proxy can kill it. The session ends if the proxy cannot, if the kill does not help, or
    /// if the statement has ended otherwise, because the kill may then hit the next statement.
    async fn run_exchange_in_time(
        &mut self,
        server: &mut Server,
        command: Command,
        towards: Towards,
    ) -> Result<ObservedReply, SessionError> {
        let (env, control) = (Rc::clone(&self.env), Rc::clone(&self.control));
        let limit = self.settings.config.script.timeout_query;
        let limit = Some(limit).filter(|it| !it.is_zero());
        let limit = limit.unwrap_or(Duration::MAX);
        let (backend, thread_id) = (server.backend.id, server.greeting.thread_id);
        let mut hearing = pin!(self.run_exchange(server, command, towards));
        let killed = Outcome::Err(ErrorCode::QUERY_INTERRUPTED.number);
        if let Ok(observed) = timeout(limit, &mut hearing).await {
            if observed.as_ref().is_ok_and(|it| it.outcome == killed) {
                // The statement was killed at the backend, which tells no other part of the proxy.
                control.ask(Ask::EndHook);
            }
            return observed;
        }
        env.pool.report(Report::KillStatement {
            backend,
            thread_id,
            why: KillReason::OverTime,
        });
        if env.has_monitor()
            && let Ok(observed) = timeout(TIMEOUT_KILL, &mut hearing).await
            && observed.as_ref().map_or(true, |it| it.outcome == killed)
        {
            return observed;
        }
        let failure = Failure::saying(FailureKind::ScriptRefused, errors::script_query_timeout());
        Err(SessionError::new(failure, Some(towards.sequence())))
    }

    pub(super) async fn run_exchange(
        &mut self,
        server: &mut Server,
        command: Command,
        towards: Towards,
    ) -> Result<ObservedReply, SessionError> {
        let observed = ObservedReply::nothing();
        let sequences = Sequences::Renumbered;
        let Some(reply) = Reply::to(command, server.capabilities, sequences, towards.sequence())
        else {
            return Ok(observed);
        };
        let files = Files::Named(std::mem::take(&mut self.files.named));
        let mut passing = Passing {
            reply: reply.with_files(files),
            towards,
            observed: ObservedReply {
                is_reply: true,
                ..observed
            },
            rewriting: self.rewriting(command, server.capabilities, towards),
            preparing: Preparing::of(command),
        };
        loop {
            match passing.reply.progress() {
                Progress::More => {
                    let step = poll_fn(|context| self.poll_step(server, &mut passing, context));
                    step.await.map_err(|failure| passing.cut(failure))?;
                }
                Progress::File { sequence } => {
                    let next = self.pass_file(server, &mut passing, sequence).await?;
                    passing.reply.file_ended(next);
                    if let Some(rewriting) = &mut passing.rewriting {
                        rewriting.align(next);
                    }
                }
                Progress::Over(outcome) => return Ok(self.conclude(passing, outcome)),
            }
        }
    }

    /// Returns the rewriting of the rows of a reply to the client.
    fn rewriting(
        &self,
        command: Command,
        capabilities: Capabilities,
        towards: Towards,
    ) -> Option<Rewriting> {
        let rows = self.rows.clone().filter(|_| towards.is_client())?;
        Rewriting::of(rows, command, capabilities, self.result_bytes_max())
    }

    fn conclude(&mut self, passing: Passing, outcome: Outcome) -> ObservedReply {
        let tally = *passing.reply.tally();
        if let Some(status) = tally.status {
            self.client.status = status;
        }
        ObservedReply {
            outcome,
            tally,
            last_at: self.host.scripts.now(),
            ..passing.observed
        }
    }

    /// Receives one piece of a reply.
    fn poll_step(
        &mut self,
        server: &mut Server,
        passing: &mut Passing,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        match self.client.leg.poll_drain(context) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(error)) => return Poll::Ready(Err(left_within_reply(error))),
            // The client takes nothing; the command may be killed even so.
            Poll::Pending => return self.poll_meanwhile(server, context),
        }
        let _ = server.leg.poll_drain_or_break(context);
        match self.poll_feed(server, passing, context) {
            Poll::Ready(fed) => Poll::Ready(fed),
            Poll::Pending => {
                self.control.note(self.env.clock.now(), false);
                self.poll_meanwhile(server, context)
            }
        }
    }

    /// Takes the bytes of a reply that have arrived.
    fn poll_feed(
        &mut self,
        server: &mut Server,
        passing: &mut Passing,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        let env = Rc::clone(&self.env);
        if !server.inbox.is_empty() {
            let mut bytes = std::mem::take(&mut server.inbox);
            let taken = self.feed(server, passing, &mut bytes, context)?;
            server.inbox = bytes.split_off(taken);
            return Poll::Ready(self.pass_reports(passing, context));
        }
        let mut scratch = env.pool.scratch.borrow_mut();
        let mut buffer = ReadBuf::new(&mut scratch);
        let read = ready!(Pin::new(&mut server.leg.transport).poll_read(context, &mut buffer));
        let lost = |how: &str| {
            let cause = format_args!("{how}{MAY_HAVE_RUN}");
            Failure::saying(
                FailureKind::BackendLost,
                errors::lost(&server.backend.name, cause),
            )
        };
        if let Err(error) = read {
            return Poll::Ready(Err(lost(&error.to_string())));
        }
        if buffer.filled().is_empty() {
            return Poll::Ready(Err(lost("it closed the connection")));
        }
        let bytes = buffer.filled_mut();
        let taken = self.feed(server, passing, bytes, context)?;
        server.inbox.extend_from_slice(&bytes[taken..]);
        Poll::Ready(self.pass_reports(passing, context))
    }

    fn feed(
        &mut self,
        server: &Server,
        passing: &mut Passing,
        bytes: &mut [u8],
        context: &mut Context<'_>,
    ) -> Result<usize, Failure> {
        let Passing {
            reply,
            towards,
            observed,
            rewriting,
            preparing,
        } = passing;
        if observed.first_at == 0.0 {
            observed.first_at = self.host.scripts.now();
        }
        if let (Towards::Client { .. }, Some(sequence)) =
            (*towards, self.client.leg.transport.frame_sequence())
        {
            reply.align(sequence);
            if let Some(rewriting) = rewriting {
                rewriting.align(sequence);
            }
        }
        let client = &mut self.client.leg;
        let (env, control) = (&self.env, &self.control);
        let memory = &control.memory;
        let mut sent = Ok(());
        let fed = reply.feed(bytes, |piece| {
            let (Piece::Pass(bytes) | Piece::Changes(bytes, _)) = piece;
            if let Some(preparing) = preparing {
                observed.prepared = preparing.feed(bytes);
            }
            let pushed = match *towards {
                Towards::Client { .. } => match rewriting {
                    Some(rewriting) => client.push(&rewriting.feed(bytes), context),
                    None => client.push(bytes, context),
                },
                Towards::Script { bytes_max, .. } => {
                    observed.keep(bytes, bytes_max);
                    let is_kept = memory.keep(Purpose::Reply, observed.kept.capacity());
                    if !is_kept && !env.sessions.makes_room(control) {
                        observed.give_up(memory);
                    }
                    Ok(())
                }
                Towards::Nobody => Ok(()),
            };
            if sent.is_ok() {
                sent = pushed;
            }
        });
        sent.map_err(left_within_reply)?;
        fed.map_err(|violation| backend_violation(&server.backend.name, violation))
    }

    /// Passes progress reports to the client at once, if they come before a reply that is kept.
    fn pass_reports(
        &mut self,
        passing: &mut Passing,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let Towards::Script {
            reports: Reports::Pass,
            ..
        } = passing.towards
        else {
            return Ok(());
        };
        let next = self.client.leg.transport.frame_sequence();
        let Some(reports) = passing.observed.take_reports(next) else {
            return Ok(());
        };
        let sent = self.client.leg.push(&reports, context);
        sent.map_err(left_within_reply)
    }

    /// While the session waits for a reply: notices that the client disconnects, or that the worker asks something.
    pub(super) fn poll_meanwhile(
        &mut self,
        server: &Server,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        if let Poll::Ready(failure) = self.poll_ended(context) {
            return Poll::Ready(Err(failure));
        }
        let asked = self.control.poll_asked(context);
        if asked.contains(Ask::KillStatement) {
            self.control.withdraw(Ask::KillStatement);
            self.env.pool.report(Report::KillStatement {
                backend: server.backend.id,
                thread_id: server.greeting.thread_id,
                why: KillReason::Asked,
            });
        }
        if let Some(cause) = self.cut_off_from(server) {
            let text = cause + MAY_HAVE_RUN;
            return Poll::Ready(Err(Failure::new(FailureKind::BackendDisabled, text)));
        }
        if asked.contains(Ask::BackendDown) {
            let cause = format_args!("{SILENT}{MAY_HAVE_RUN}");
            let error = errors::lost(&server.backend.name, cause);
            return Poll::Ready(Err(Failure::saying(FailureKind::BackendLost, error)));
        }
        Poll::Pending
    }

    /// During a command: whether the client disconnects, or the worker ends the session.
    pub(crate) fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<Failure> {
        while self.client.inbox.len() < AHEAD_BYTES_MAX && !self.client.leg.has_ended {
            match self.poll_client(context) {
                Poll::Pending => break,
                // The client may still read its reply.
                Poll::Ready(read) if Leg::is_end(&read) => {
                    self.client.leg.has_ended = true;
                    self.env.note_half_closed(&self.control);
                }
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(_)) => {
                    let text = "the client has left while its command was executed";
                    return Poll::Ready(Failure::new(FailureKind::ClientLeft, text));
                }
            }
        }
        self.poll_end(context)
    }

    /// Whether the worker ends the session during a command.
    pub(crate) fn poll_end(&self, context: &Context<'_>) -> Poll<Failure> {
        let asked = self.control.poll_asked(context);
        if asked.contains(Ask::Stop) {
            let error = errors::shutting_down_within("the statement");
            return Poll::Ready(Failure::saying(FailureKind::Stopped, error));
        }
        if asked.contains(Ask::ClientGone) {
            let text = "the client has left while its command was executed";
            return Poll::Ready(Failure::new(FailureKind::ClientLeft, text));
        }
        if asked.contains(Ask::KillSession) {
            let text = "Connection was killed";
            return Poll::Ready(Failure::new(FailureKind::Killed, text));
        }
        Poll::Pending
    }

    /// Resets a connection, and gives it this session's character set. False if the connection cannot be used.
    pub(crate) async fn reset(&mut self, server: &mut Server) -> bool {
        let id = self.client.collation;
        let column = |name| {
            format!("(SELECT {name} FROM information_schema.COLLATIONS WHERE ID = {id} LIMIT 1)")
        };
        let (charset, collation) = (column("CHARACTER_SET_NAME"), column("COLLATION_NAME"));
        let text = format!(
            "SET character_set_client = {charset}, character_set_results = {charset}, \
             collation_connection = {collation}"
        );
        let commands = [
            (Command::RESET_CONNECTION, vec![Command::RESET_CONNECTION.0]),
            (Command::QUERY, query(text.as_bytes(), server.capabilities)),
        ];
        for (command, payload) in commands {
            server.send(&incoming_of(command, &payload).packets).await;
            let observed = self.run_exchange(server, command, Towards::Nobody).await;
            if !matches!(observed, Ok(observed) if observed.outcome == Outcome::Ok) {
                return false;
            }
        }
        true
    }
}

impl Passing {
    /// Cuts the session off. An ERR is possible if the client is between two packets.
    pub(super) fn cut(&self, failure: Failure) -> SessionError {
        let sequence = match self.towards {
            Towards::Client { .. } => match &self.rewriting {
                Some(rewriting) => rewriting.next_sequence().or(self.reply.next_sequence()),
                None => self.reply.next_sequence(),
            },
            Towards::Script { sequence, .. } => Some(sequence.wrapping_add(self.observed.reports)),
            Towards::Nobody => Some(1),
        };
        SessionError::new(failure, sequence)
    }
}

fn left_within_reply(error: std::io::Error) -> Failure {
    Failure::new(
        FailureKind::ClientLeft,
        format!("the client has left within a reply: {error}"),
    )
}
