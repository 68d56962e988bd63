//! One side of a relayed session: its transport, and what it has not taken yet.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use wire::write::put_packets;

use crate::readiness_cache::Listening;
use crate::reply_observer::{ReplyObserver, renumbered};
use crate::transport::Transport;

/// A client's or a backend's side.
pub struct Leg {
    /// The connection.
    pub transport: Transport,
    /// It has closed: nothing more can be read from it.
    pub has_ended: bool,
    /// It takes nothing any more; what is for it is dropped.
    is_broken: bool,
    /// Bytes may wait in the transport.
    needs_flush: bool,
    /// Bytes for this side that it has not taken; none in the usual case.
    unsent: Vec<u8>,
    /// How many of them it has taken.
    sent: usize,
    /// Of a plain one that is read by [`Leg::poll_read`].
    listening: Option<Box<Listening>>,
    /// A script's, that hears what is said to this side.
    pub observer: Option<Box<ReplyObserver>>,
}

impl Leg {
    /// Nothing was read yet.
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

    /// The place of a side that has been moved elsewhere.
    pub fn gone() -> Self {
        Self {
            is_broken: true,
            ..Self::new(Transport::Gone)
        }
    }

    /// Whether it has been moved elsewhere.
    #[inline]
    pub fn is_gone(&self) -> bool {
        matches!(self.transport, Transport::Gone)
    }

    /// Whether a read says that this side has closed. Over TLS a side may close without saying so first.
    pub fn is_end(read: &io::Result<usize>) -> bool {
        match read {
            Ok(count) => *count == 0,
            Err(error) => error.kind() == io::ErrorKind::UnexpectedEof,
        }
    }

    /// Reads from this side. Whoever reads so alone reads from it: asking again and again is cheap.
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

    /// The same for a reader that can do nothing with less than `wanted` bytes, see [`Transport::poll_read_wanting`].
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

    /// Sends `bytes` behind what is left over, as far as this side takes them.
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

    /// Puts `bytes` behind what is left over; they leave when it is polled.
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

    /// What was kept for a script goes to this side after all, and all that follows of the reply.
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

    /// How many bytes wait for this side to take them.
    pub fn unsent(&self) -> usize {
        self.unsent.len() - self.sent
    }

    /// Whether everything for this side has left.
    pub fn is_drained(&self) -> bool {
        self.unsent.is_empty() && !self.needs_flush
    }

    /// Keeps bytes to be sent when it is polled.
    pub fn keep(&mut self, bytes: Vec<u8>) {
        debug_assert!(self.unsent.is_empty());
        self.unsent = bytes;
    }

    /// From now on, what is for this side is dropped.
    pub fn give_up(&mut self) {
        self.is_broken = true;
        self.needs_flush = false;
        self.unsent = Vec::new();
        self.sent = 0;
    }

    /// Sends what is left over; ready when nothing is.
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

    /// Sends `bytes` and keeps what is not taken. Everything before must have left.
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

    /// Sends what this side takes now.
    fn drain_now(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.poll_drain(context) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => Ok(()),
        }
    }

    /// Waits until everything for this side has left.
    pub async fn drained(&mut self) -> io::Result<()> {
        poll_fn(|context| self.poll_drain(context)).await
    }

    /// Sends what is left over and a last packet, and closes.
    pub async fn finish_with(&mut self, sequence: u8, payload: &[u8]) -> io::Result<()> {
        self.drained().await?;
        let sequence = self.transport.frame_sequence().unwrap_or(sequence);
        put_packets(&mut self.unsent, sequence, payload);
        self.drained().await?;
        self.transport.close().await
    }

    /// As [`Leg::poll_drain`], for a side whose end is learnt by reading: an error only means that it
    /// takes nothing more. What it said before it closed can still be read.
    pub fn poll_drain_or_break(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if ready!(self.poll_drain(context)).is_err() {
            self.give_up();
        }
        Poll::Ready(())
    }

    /// As [`Leg::send`], for such a side.
    pub fn send_or_break(&mut self, bytes: &[u8], context: &mut Context<'_>) {
        if self.send(bytes, context).is_err() {
            self.give_up();
        }
    }
}
