//! A session between two commands, and the events that may come then.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pool::CloseReason;
use tokio::io::{AsyncRead, ReadBuf};
use wire::{Command, ErrPacket, StatusFlags, errors};

use super::PooledSession;
use backend::connection_error::ConnectionError;
use command::current_command::CurrentCommand;
use link::client_command::Incoming;
use link::failure::{Failure, FailureKind};
use registry::session_control::Ask;
use relay::outcome::SessionError;

/// The event that ends a pooled session's wait for a command.
enum IdleEvent {
    Bytes,
    /// There is no memory for the frames that are kept packed.
    NoMemory,
    Closed,
}

impl PooledSession {
    /// Waits for the client's next command; `None`: the client has closed. A command of more bytes than `held_max` is
    /// not held whole.
    pub(super) async fn next_command(
        &mut self,
        held_max: u64,
    ) -> Result<Option<Incoming>, SessionError> {
        let config = &self.settings.config;
        let bytes = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        let held = bytes(held_max);
        let long = held.max(bytes(config.pool.long_data_bytes_max));
        self.keeps_no_command();
        loop {
            // A session that was killed executes nothing more, even if its next command is there already.
            if self.control.is_asked(Ask::KillSession) {
                let killed = Failure::new(FailureKind::Killed, "Connection was killed");
                return Err(self.unasked(killed));
            }
            // Commands with a statement id are held, because the proxy changes the id.
            let held = match self.client.inbox().peek() {
                Some(
                    Command::STMT_SEND_LONG_DATA
                    | Command::STMT_EXECUTE
                    | Command::STMT_BULK_EXECUTE,
                ) => long,
                _ => held,
            };
            let limit = self.payload_bytes_max();
            match self.client.inbox_mut().command(held, limit) {
                Ok(Some(incoming)) => {
                    self.begin_command(CurrentCommand::arrived(self.env.now().0));
                    // This comes first, because a script may answer the PREPARE.
                    if incoming.command == Command::STMT_PREPARE {
                        self.sql_state.statements_mut().begin_prepare();
                    }
                    return Ok(Some(incoming));
                }
                Ok(None) => {}
                Err(violation) => return Err(Box::pin(self.violated(violation)).await),
            }
            match poll_fn(|context| self.poll_idle(held, context)).await? {
                IdleEvent::Bytes if self.has_memory_for_command() => {}
                IdleEvent::Bytes | IdleEvent::NoMemory => {
                    Box::pin(self.refuse_next_command()).await?
                }
                IdleEvent::Closed if self.client.inbox().is_empty() => return Ok(None),
                IdleEvent::Closed => {
                    let text = "the client has closed the connection within a command";
                    let failure = Failure::new(FailureKind::ClientLeft, text);
                    return Err(SessionError::new(failure, None));
                }
            }
        }
    }

    /// Polls the client, its unsent bytes, the held connection, and the worker's requests.
    fn poll_idle(
        &mut self,
        held_max: usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<IdleEvent, SessionError>> {
        let lost = |error: io::Error| {
            let text = format!("the connection to the client is lost: {error}");
            SessionError::new(Failure::new(FailureKind::ClientLost, text), None)
        };
        if let Poll::Ready(Err(error)) = self.client.leg_mut().poll_drain(context) {
            return Poll::Ready(Err(lost(error)));
        }
        // The next command is read when the client has taken the reply to the last one.
        if self.client.leg().is_drained() {
            match self.poll_command_bytes(held_max, context) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Ok(IdleEvent::Closed)),
                Poll::Ready(Ok(_)) => {
                    self.control.has_spoken();
                    return Poll::Ready(Ok(IdleEvent::Bytes));
                }
                // A reset of the client's connection is an end like any other here.
                Poll::Ready(Err(_)) => return Poll::Ready(Ok(IdleEvent::Closed)),
                Poll::Pending if self.keeps_too_much_packed() => {
                    return Poll::Ready(Ok(IdleEvent::NoMemory));
                }
                Poll::Pending => {}
            }
        }
        let is_whole = self.client.inbox().is_empty();
        self.control.note(self.env.relay.clock.now(), is_whole);
        self.control.stand(self.client.status());
        self.control.note_values(self.sql_state.session().values());
        if let Some(cut) = self.heed(context) {
            return Poll::Ready(Err(cut));
        }
        self.poll_held(context)
    }

    /// Reads ahead from the client. Returns how many bytes came, 0 at the end.
    pub(crate) fn poll_client(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.poll_client_wanting(0, context)
    }

    /// The same while nothing can be done with less than `wanted` bytes, see [`link::transport::Transport::poll_read_wanting`].
    pub(crate) fn poll_client_wanting(
        &mut self,
        wanted: usize,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut scratch = self.env.pool_env.scratch.borrow_mut();
        let mut buffer = ReadBuf::new(&mut scratch);
        ready!(
            self.client
                .leg_mut()
                .poll_read_wanting(wanted, context, &mut buffer)
        )?;
        let store = &self.env.pool_env.store;
        self.client
            .inbox_mut()
            .put_into(buffer.filled(), || store.take_bytes());
        Poll::Ready(Ok(buffer.filled().len()))
    }

    /// Reads from the client. If a command is held whole, its compressed frames are unpacked when all of them have
    /// come.
    fn poll_command_bytes(
        &mut self,
        held_max: usize,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if !self.client.is_compressed() {
            return self.poll_client(context);
        }
        let wanted = self.client.inbox().missing_bytes(held_max);
        let read = ready!(self.poll_client_wanting(wanted, context))?;
        if read > 0 {
            self.client.inbox_mut().reserve(wanted.saturating_sub(read));
        }
        Poll::Ready(Ok(read))
    }

    /// Whether the frames that are kept packed until the command is whole are more than the process may keep.
    fn keeps_too_much_packed(&self) -> bool {
        self.client.is_compressed()
            && !self.client.inbox().is_empty()
            && !self.has_memory_for_command()
    }

    /// Does what the worker asks of a session that is between two commands.
    fn heed(&mut self, context: &Context<'_>) -> Option<SessionError> {
        let asked = self.control.poll_asked(context);
        if asked.is_nothing() {
            return None;
        }
        self.control.withdraw(Ask::KillStatement);
        self.control.withdraw(Ask::EndHook);
        self.control.withdraw(Ask::BackendDown);
        let is_at_rest = self.client.is_at_rest();
        let is_free = !self.client.status().contains(StatusFlags::IN_TRANS);
        if let Some(failure) = asked.end(is_at_rest, is_free) {
            return Some(self.unasked(failure));
        }
        if asked.contains(Ask::WaitTimeout) && is_at_rest {
            return Some(self.waited_too_long());
        }
        if asked.contains(Ask::IdleTransaction) && is_at_rest && !is_free {
            let error = self.env.relay.idle_transaction(&self.control);
            let (kind, reason) = (FailureKind::IdleTransaction, CloseReason::IdleTransaction);
            if let Some(cut) = self.give_up_kept(kind, &error, reason) {
                return Some(cut);
            }
        }
        if asked.contains(Ask::GiveUpKept)
            && is_at_rest
            && let Some(cut) = self.give_up_for_others()
        {
            return Some(cut);
        }
        self.control.withdraw(Ask::GiveUpKept);
        self.control.withdraw(Ask::IdleTransaction);
        self.control.withdraw(Ask::WaitTimeout);
        self.control.withdraw(Ask::IdleTimeout);
        self.leave_disabled()
    }

    /// Closes a held connection whose backend was disabled. A session that has more there than a transaction ends.
    fn leave_disabled(&mut self) -> Option<SessionError> {
        let backend = self.held.backend().cloned();
        let Some(backend) = backend else {
            self.control.withdraw(Ask::BackendDisabled);
            return None;
        };
        if !self.is_cut_off(backend.id) {
            return None;
        }
        let text = String::from(errors::lost(&backend.name, ConnectionError::Disabled));
        if self.cut_while_idle(&text) {
            return None;
        }
        let failure = Failure::new(FailureKind::BackendDisabled, self.with_losses(text));
        Some(self.unasked(failure))
    }

    /// Returns the end of a session between two commands.
    pub(crate) fn unasked(&self, failure: Failure) -> SessionError {
        let sequence = failure
            .kind
            .unasked_sequence(self.sql_state.session().flags().server);
        SessionError::new(failure, sequence)
    }

    /// Returns the end that a server makes of a session after its `wait_timeout`.
    fn waited_too_long(&self) -> SessionError {
        self.unasked(Failure::saying(
            FailureKind::IdleTimeout,
            errors::wait_timeout(),
        ))
    }

    /// Updates the session's `wait_timeout`, which may have changed.
    pub(crate) fn note_wait_timeout(&self) {
        self.control
            .may_wait(self.sql_state.session().wait_timeout());
    }

    /// Polls the connection that is held between two commands. If it closes, the session may end, too.
    fn poll_held(&mut self, context: &mut Context<'_>) -> Poll<Result<IdleEvent, SessionError>> {
        let Some(conn) = self.held.connection_mut() else {
            return Poll::Pending;
        };
        let mut scratch = self.env.pool_env.scratch.borrow_mut();
        let mut buffer = ReadBuf::new(&mut scratch);
        let read = Pin::new(&mut conn.leg.transport).poll_read(context, &mut buffer);
        let last_words = match read {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(())) => buffer.filled().to_vec(),
            Poll::Ready(Err(_)) => Vec::new(),
        };
        drop(scratch);
        let name = &conn.backend.name;
        let text = String::from(errors::lost_between_commands(name));
        let may_go_on =
            last_words.is_empty() || self.routing.optimistic().is_some() || self.has_only_begin();
        if may_go_on && self.cut_while_idle(&text) {
            return Poll::Pending;
        }
        // A server may send an ERR with the reason before it closes; the client gets that ERR.
        let words = last_words.get(4..);
        let cut = match words.filter(|words| ErrPacket::decode(words).is_ok()) {
            Some(words) => {
                let failure = Failure::relaying(FailureKind::HeldBackendLost, text, words.to_vec());
                SessionError::new(failure, Some(0))
            }
            None => {
                let text = self.with_losses(text);
                self.unasked(Failure::new(FailureKind::HeldBackendLost, text))
            }
        };
        Poll::Ready(Err(cut))
    }
}
