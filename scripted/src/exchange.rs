//! One command of a scripted session on its backend connection, and the reply: to the client as it
//! comes, or kept for the script.

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

/// A client that speaks before it is answered is read ahead up to so many bytes.
const AHEAD_BYTES_MAX: usize = 64 * 1024;

/// A reply on its way.
pub(super) struct Passing {
    reply: Reply,
    pub towards: Towards,
    pub observed: ObservedReply,
    rewriting: Option<Rewriting>,
    preparing: Option<Preparing>,
}

impl Scripted {
    /// Sends a command and sees its reply through. There must be a server.
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

    /// The same for a statement of the script's own: when it has had its time it is killed, if somebody
    /// can. If nobody can, if that is of no use, or if it has ended otherwise, so that the kill may hit what comes
    /// next, the session ends.
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
                // Somebody has done it at the backend, which tells nobody else.
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

    /// What rewrites the rows of a reply that goes to the client.
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

    /// One piece of a reply, as it comes.
    fn poll_step(
        &mut self,
        server: &mut Server,
        passing: &mut Passing,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        match self.client.leg.poll_drain(context) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(error)) => return Poll::Ready(Err(left_within_reply(error))),
            // It takes nothing, and may be killed even so.
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

    /// Takes what has come of a reply.
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

    /// The client has the reports of progress at once that come before a reply that is kept.
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

    /// What may happen while a reply is awaited: the client leaves, or the worker wants something.
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

    /// Within a command: whether the client leaves, or the worker ends the session.
    pub(crate) fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<Failure> {
        while self.client.inbox.len() < AHEAD_BYTES_MAX && !self.client.leg.has_ended {
            match self.poll_client(context) {
                Poll::Pending => break,
                // It may still take its reply.
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

    /// Whether the worker ends the session within a command.
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

    /// Makes a connection forget the session that used it before, and gives it this one's character
    /// set; false: it cannot be used.
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
    /// Cut off here: an ERR fits where the client is between two packets.
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
