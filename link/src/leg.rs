//! One side of a session, the client's or the backend's: its transport, and the bytes that it has not taken yet.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use wire::write::put_packets;

use crate::readiness_cache::Listening;
use crate::reply_observer::{ReplyObserver, renumbered};
use crate::transport::Transport;

/// One side of a session: the connection to a client or to a backend.
pub struct Leg {
    /// The transport of the connection.
    pub transport: Transport,
    /// Whether this side has closed: nothing more can be read from it.
    pub has_ended: bool,
    /// Whether this side takes nothing any more; bytes for it are dropped.
    is_broken: bool,
    /// Whether bytes may wait in the transport.
    needs_flush: bool,
    /// Bytes that this side has not taken; usually none.
    unsent: Vec<u8>,
    /// The number of `unsent` bytes that this side has taken.
    sent: usize,
    /// The readiness of a plain transport that is read by [`Leg::poll_read`].
    listening: Option<Box<Listening>>,
    /// A script's observer of everything that is sent to this side.
    pub observer: Option<Box<ReplyObserver>>,
}

impl Leg {
    /// Returns a leg from which nothing was read yet.
    pub fn new(transport: Transport) -> Self {
        let unsent = Vec::new();
        Self {
            transport,
            has_ended: false,
            is_broken: false,
            needs_flush: false,
            unsent,
            sent: 0,
            listening: None,
            observer: None,
        }
    }

    /// Returns the placeholder for a leg that was moved to another owner.
    pub fn gone() -> Self {
        Self {
            is_broken: true,
            ..Self::new(Transport::Gone)
        }
    }

    /// Whether the leg was moved to another owner.
    #[inline]
    pub fn is_gone(&self) -> bool {
        matches!(self.transport, Transport::Gone)
    }

    /// Whether the result of a read means that this side has closed. Over TLS a side may close without a close message.
    pub fn is_end(read: &io::Result<usize>) -> bool {
        match read {
            Ok(count) => *count == 0,
            Err(error) => error.kind() == io::ErrorKind::UnexpectedEof,
        }
    }

    /// Reads from this side. The caller must be the only reader. Repeated calls are cheap.
    pub fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !matches!(self.transport, Transport::Plain(_)) {
            return Pin::new(&mut self.transport).poll_read(context, buffer);
        }
        let listening =
            (self.listening).get_or_insert_with(|| Box::new(Listening::new(context.waker())));
        listening.poll_read(&mut self.transport, context, buffer)
    }

    /// Reads for a caller that needs at least `wanted` bytes, see [`Transport::poll_read_wanting`].
    pub fn poll_read_wanting(
        &mut self,
        wanted: usize,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.transport.is_compressed() {
            true => self.transport.poll_read_wanting(wanted, context, buffer),
            false => self.poll_read(context, buffer),
        }
    }

    /// Sends `bytes` after the unsent bytes, as far as this side takes them.
    #[inline]
    pub fn push(&mut self, bytes: &[u8], context: &mut Context<'_>) -> io::Result<()> {
        let was_drained = self.is_drained();
        if was_drained && self.observer.is_none() {
            return self.send(bytes, context);
        }
        self.append(bytes);
        match was_drained {
            true => self.drain_now(context),
            false => Ok(()),
        }
    }

    /// Adds `bytes` to the unsent bytes; they are sent when the leg is polled.
    pub fn append(&mut self, bytes: &[u8]) {
        let next = self.transport.frame_sequence();
        match &mut self.observer {
            None => self.put(bytes),
            Some(observer) => {
                if let Some(passed) = observer.observe(bytes, next) {
                    self.put(&passed);
                }
            }
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        if !self.is_broken {
            self.unsent.extend_from_slice(bytes);
        }
    }

    /// Sends the bytes that were kept for a script to this side after all, and all further bytes of the reply.
    pub fn let_go(&mut self) {
        let next = self.transport.frame_sequence();
        if let Some(observer) = &mut self.observer {
            let kept = observer.let_go();
            match next {
                Some(next) => self.put(&renumbered(kept, next)),
                None => self.put(&kept),
            }
        }
    }

    /// Returns the number of bytes that wait for this side to take them.
    pub fn unsent(&self) -> usize {
        self.unsent.len() - self.sent
    }

    /// Whether all bytes for this side have been sent.
    pub fn is_drained(&self) -> bool {
        self.unsent.is_empty() && !self.needs_flush
    }

    /// Keeps bytes, which are sent when the leg is polled.
    pub fn keep(&mut self, bytes: Vec<u8>) {
        debug_assert!(self.unsent.is_empty());
        self.unsent = bytes;
    }

    /// Drops all bytes for this side from now on.
    pub fn give_up(&mut self) {
        self.is_broken = true;
        self.needs_flush = false;
        self.unsent = Vec::new();
        self.sent = 0;
    }

    /// Sends the unsent bytes; ready when there are none left.
    #[inline]
    pub fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.is_drained() {
            true => Poll::Ready(Ok(())),
            false => self.poll_drain_rest(context),
        }
    }

    fn poll_drain_rest(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.unsent.len() {
            let rest = &self.unsent[self.sent..];
            let written = ready!(Pin::new(&mut self.transport).poll_write(context, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += written;
            self.needs_flush = true;
        }
        // Idle sessions hold no buffer.
        self.unsent = Vec::new();
        self.sent = 0;
        if self.needs_flush {
            ready!(Pin::new(&mut self.transport).poll_flush(context))?;
            self.needs_flush = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Sends `bytes` and keeps those that are not taken. Everything before must have been sent.
    #[inline]
    pub fn send(&mut self, bytes: &[u8], context: &mut Context<'_>) -> io::Result<()> {
        debug_assert!(self.is_drained());
        if self.is_broken {
            return Ok(());
        }
        let written = match Pin::new(&mut self.transport).poll_write(context, bytes) {
            Poll::Ready(written) => written?,
            Poll::Pending => 0,
        };
        self.needs_flush = !matches!(self.transport, Transport::Plain(_));
        self.unsent.extend_from_slice(&bytes[written..]);
        self.drain_now(context)
    }

    /// Sends as many bytes as this side takes now.
    fn drain_now(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.poll_drain(context) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => Ok(()),
        }
    }

    /// Waits until all bytes for this side have been sent.
    pub async fn drained(&mut self) -> io::Result<()> {
        poll_fn(|context| self.poll_drain(context)).await
    }

    /// Sends the unsent bytes and a last packet, and closes.
    pub async fn finish_with(&mut self, sequence: u8, payload: &[u8]) -> io::Result<()> {
        self.drained().await?;
        let sequence = self.transport.frame_sequence().unwrap_or(sequence);
        put_packets(&mut self.unsent, sequence, payload);
        self.drained().await?;
        self.transport.close().await
    }

    /// Does the same as [`Leg::poll_drain`], but an error only means that this side takes nothing more. The
    /// caller learns of the end by reading, because bytes that were sent before the close can still be read.
    pub fn poll_drain_or_break(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if ready!(self.poll_drain(context)).is_err() {
            self.give_up();
        }
        Poll::Ready(())
    }

    /// Does the same as [`Leg::send`], but an error only means that this side takes nothing more.
    pub fn send_or_break(&mut self, bytes: &[u8], context: &mut Context<'_>) {
        if self.send(bytes, context).is_err() {
            self.give_up();
        }
    }
}
