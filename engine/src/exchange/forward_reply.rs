//! The hot path of a pooled session: a reply from the backend to the client, watched from both sides.
//!
//! As in the relay, bytes are read into the worker's one buffer and written out at once; while the
//! client does not take them, nothing more is read for it.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use session::{Piece, Progress, Reply};

use crate::session::PooledSession;
use backend::connection::BackendConn;
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::Cut;
use backend::own_reply::note_changes;
use command::delivery::Delivery;
use link::client_command::{EndOf, Passage};
use link::leg::Leg;
use registry::session_control::Ask;

/// The most bytes that are read ahead from a client that sends before it has its reply.
const AHEAD_BYTES_MAX: usize = 64 * 1024;

/// The most bytes of a command that are copied until the backend takes them.
pub(crate) const COPIED_BYTES_MAX: usize = 256 * 1024;

impl PooledSession {
    /// Sends packets to the backend.
    pub(crate) async fn send(&mut self, conn: &mut BackendConn, packets: &[u8]) {
        poll_fn(|context| {
            conn.send(packets, context);
            Poll::Ready(())
        })
        .await;
    }

    /// Sends a client's command to the backend. A long command leaves piece by piece, as the backend takes it, because
    /// bytes that the backend has not taken are copied.
    pub(crate) async fn send_packets(
        &mut self,
        conn: &mut BackendConn,
        packets: &[u8],
    ) -> Result<(), Cut> {
        let (first, rest) = packets.split_at(packets.len().min(COPIED_BYTES_MAX));
        self.send(conn, first).await;
        match rest.is_empty() {
            true => Ok(()),
            false => Box::pin(self.send_rest(conn, rest)).await,
        }
    }

    async fn send_rest(&mut self, conn: &mut BackendConn, rest: &[u8]) -> Result<(), Cut> {
        for piece in rest.chunks(COPIED_BYTES_MAX) {
            let drained = poll_fn(|context| conn.leg.poll_drain_or_break(context));
            self.unless_it_ends(drained).await?;
            poll_fn(|context| {
                conn.leg.send_or_break(piece, context);
                Poll::Ready(())
            })
            .await;
        }
        Ok(())
    }

    /// Passes a reply on to the client, up to its end or up to the place where the backend wants the client's file.
    pub(crate) async fn forward_reply(
        &mut self,
        conn: &mut BackendConn,
        reply: &mut Reply,
    ) -> Result<(), Cut> {
        while reply.progress() == Progress::More {
            poll_fn(|context| self.poll_forward(conn, reply, context)).await?;
        }
        Ok(())
    }

    fn poll_forward(
        &mut self,
        conn: &mut BackendConn,
        reply: &mut Reply,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Cut>> {
        loop {
            match self.client.leg_mut().poll_drain(context) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => {
                    return Poll::Ready(Err(Cut::Client(error.to_string())));
                }
                // The client takes no bytes now, but it may be killed all the same.
                Poll::Pending => break,
            }
            if let Some(sequence) = self.client.leg().transport.frame_sequence() {
                reply.align(sequence);
            }
            match self.poll_step(conn, reply, context) {
                Poll::Ready(Ok(())) if reply.progress() == Progress::More => {
                    // If a reply comes in one piece, the time of its end is enough.
                    if reply.has_started() {
                        let env = &self.env;
                        self.command.timing.begins(|| env.now().0);
                    }
                }
                Poll::Ready(done) => return Poll::Ready(done),
                Poll::Pending => break,
            }
        }
        self.control.note(self.env.relay.clock.now(), false);
        let meanwhile = self.poll_meanwhile(context);
        if meanwhile.is_pending() && self.is_cut_off(conn.backend.id) {
            return Poll::Ready(Err(Cut::Backend(ConnectionError::Disabled)));
        }
        meanwhile
    }

    /// Whether the session has to leave this backend, because it was disabled. A request about a backend that the
    /// session has already left is withdrawn.
    pub(crate) fn is_cut_off(&self, backend: route::BackendId) -> bool {
        if !self.control.is_asked(Ask::BackendDisabled) {
            return false;
        }
        self.control.withdraw(Ask::BackendDisabled);
        self.env.pool_env.is_disabled(backend)
    }

    /// Forwards one piece of the reply, as it comes.
    fn poll_step(
        &mut self,
        conn: &mut BackendConn,
        reply: &mut Reply,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Cut>> {
        let env = Rc::clone(&self.env);
        let (track_settings, changes) = self.tracking.settings_and_changes();
        let (capabilities, seen) = (conn.capabilities, self.client.capabilities());
        let client = self.client.leg_mut();
        let mut towards_client = Context::from_waker(context.waker());
        let mut sent = Ok(());
        let delivery = self.command.delivery;
        let mut push = |client: &mut Leg, bytes: &[u8]| match delivery {
            Delivery::AtOnce => client.push(bytes, &mut towards_client),
            Delivery::Kept => {
                client.append(bytes);
                Ok(())
            }
            Delivery::Nobody => Ok(()),
        };
        let fed = conn.poll_feed(&env.pool_env, reply, context, |piece| {
            let pushed = match piece {
                // The usual case: one piece, which is sent unchanged.
                Piece::Pass(bytes) => push(client, bytes),
                Piece::Changes(packet, result) => {
                    changes.ends(result);
                    note_changes(packet, capabilities, changes);
                    match track_settings {
                        Some(track_settings) => {
                            let packet = track_settings.rewrite(packet, capabilities, seen);
                            push(client, &packet)
                        }
                        None => push(client, packet),
                    }
                }
            };
            if sent.is_ok() {
                sent = pushed;
            }
        });
        ready!(fed)?;
        Poll::Ready(sent.map_err(|error| Cut::Client(error.to_string())))
    }

    /// Checks what may happen while a reply is awaited: the client disconnects, or the worker asks for something.
    pub fn poll_meanwhile(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Cut>> {
        if let Poll::Ready(cut) = self.poll_end(context) {
            return Poll::Ready(Err(cut));
        }
        let asked = self.control.poll_asked(context);
        if asked.contains(Ask::KillStatement) && self.control.takes_kill(self.command.timing.read())
        {
            self.kill_own_statement();
        }
        Poll::Pending
    }

    /// Checks what may end the session while it waits. A kill of the statement alone has to wait until that runs.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Cut> {
        // During a login other code reads from the client.
        let listens = |client: &Leg| !client.is_gone() && !client.has_ended;
        while self.client.inbox().len() < AHEAD_BYTES_MAX && listens(self.client.leg()) {
            match self.poll_client(context) {
                Poll::Pending => break,
                // The client may still read its reply.
                Poll::Ready(read) if Leg::is_end(&read) => {
                    self.client.leg_mut().has_ended = true;
                    self.env.relay.note_half_closed(&self.control);
                }
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => {
                    return Poll::Ready(Cut::Client(error.to_string()));
                }
            }
        }
        let asked = self.control.poll_asked(context);
        if asked.contains(Ask::ClientGone) {
            return Poll::Ready(Cut::Client("it closed the connection".to_owned()));
        }
        for ask in [Ask::Stop, Ask::BackendDown, Ask::KillSession] {
            if asked.contains(ask) {
                return Poll::Ready(Cut::Asked(ask));
            }
        }
        Poll::Pending
    }

    /// Waits for something that has to happen before the statement runs, unless the session ends meanwhile.
    pub(crate) async fn unless_it_ends<T>(
        &mut self,
        event: impl Future<Output = T>,
    ) -> Result<T, Cut> {
        let mut event = pin!(event);
        poll_fn(|context| match event.as_mut().poll(context) {
            Poll::Ready(outcome) => Poll::Ready(Ok(outcome)),
            Poll::Pending => self.poll_end(context).map(Err),
        })
        .await
    }

    /// Waits for it unless the session ends or the statement is killed: it must not be sent then.
    pub(crate) async fn unless_killed<T>(
        &mut self,
        event: impl Future<Output = T>,
    ) -> Result<T, Cut> {
        let mut event = pin!(event);
        poll_fn(|context| {
            if let Poll::Ready(outcome) = event.as_mut().poll(context) {
                return Poll::Ready(Ok(outcome));
            }
            if let Poll::Ready(cut) = self.poll_end(context) {
                return Poll::Ready(Err(cut));
            }
            self.not_killed()?;
            Poll::Pending
        })
        .await
    }

    /// An error if a kill has come before the statement was sent, because the server could not tell which statement it
    /// is for. Reads that the proxy repeats for the client's next statement are exempt.
    pub(crate) fn not_killed(&self) -> Result<(), Cut> {
        let is_killed = self.command.delivery != Delivery::Nobody
            && self.control.takes_kill(self.command.timing.read());
        match is_killed {
            true => Err(Cut::Asked(Ask::KillStatement)),
            false => Ok(()),
        }
    }

    /// Passes the client's packets on to the backend, unread, up to their end or to the session's end.
    pub(crate) async fn pass(
        &mut self,
        conn: &mut BackendConn,
        mut passage: Passage,
    ) -> Result<Passage, Cut> {
        let before = passage.bytes;
        poll_fn(
            |context| match self.poll_pass(conn, &mut passage, context) {
                Poll::Pending => self.poll_end(context).map(Err),
                passed => passed,
            },
        )
        .await?;
        self.command.timing.follows(passage.bytes - before);
        Ok(passage)
    }

    /// Reads the client's packets up to their end, and discards them. Returns the passage, with the id of the packet
    /// after them.
    pub async fn swallow(&mut self, mut passage: Passage) -> Result<Passage, Cut> {
        poll_fn(|context| {
            if let Poll::Ready(swallowed) = self.poll_swallow(&mut passage, context) {
                return Poll::Ready(swallowed);
            }
            let asked = self.control.poll_asked(context);
            let ends = [Ask::Stop, Ask::KillSession].into_iter();
            match ends.into_iter().find(|ask| asked.contains(*ask)) {
                Some(ask) => Poll::Ready(Err(Cut::Asked(ask))),
                None => Poll::Pending,
            }
        })
        .await?;
        Ok(passage)
    }

    fn poll_swallow(
        &mut self,
        passage: &mut Passage,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Cut>> {
        loop {
            if let Err(error) = ready!(self.client.leg_mut().poll_drain(context)) {
                return Poll::Ready(Err(Cut::Client(error.to_string())));
            }
            let bytes = self.client.inbox_mut().take_all();
            let taken = passage.pass(&bytes);
            self.client.inbox_mut().put(&bytes[taken..]);
            // No command may be longer than this.
            let limit = self.settings.config.limits.packet_bytes_max;
            let is_endless = passage.end == EndOf::Payload && passage.bytes > limit;
            if passage.is_over || is_endless {
                return Poll::Ready(Ok(()));
            }
            match ready!(self.poll_client(context)) {
                Ok(0) => {
                    let how = "it closed the connection within its file".to_owned();
                    return Poll::Ready(Err(Cut::Client(how)));
                }
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(Cut::Client(error.to_string()))),
            }
        }
    }

    fn poll_pass(
        &mut self,
        conn: &mut BackendConn,
        passage: &mut Passage,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Cut>> {
        loop {
            ready!(conn.leg.poll_drain_or_break(context));
            if let Err(error) = ready!(self.client.leg_mut().poll_drain(context)) {
                return Poll::Ready(Err(Cut::Client(error.to_string())));
            }
            if passage.is_over {
                return Poll::Ready(Ok(()));
            }
            if !self.client.inbox().is_empty() {
                let mut bytes = self.client.inbox_mut().take_all();
                let taken = passage.pass(&bytes);
                let rest = bytes.split_off(taken);
                self.client.inbox_mut().put(&rest);
                conn.leg.send_or_break(&bytes, context);
                continue;
            }
            match ready!(self.poll_client(context)) {
                Ok(0) => {
                    let how = "it closed the connection within a command".to_owned();
                    return Poll::Ready(Err(Cut::Client(how)));
                }
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(Cut::Client(error.to_string()))),
            }
        }
    }
}
