//! One end of a connection.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use net::Endpoint;
use net::memory::MemoryStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::spawn_local;
use tokio::time::Sleep;

use super::pipe::Pipe;
use super::{Weather, locked};
use crate::seed::Dice;
use std::net::IpAddr;

/// The state that both ends of a connection share.
#[derive(Debug)]
pub struct Connection {
    client: SocketAddr,
    server: SocketAddr,
    /// The pipe from the client, and the pipe to the client.
    pipes: [Pipe; 2],
    is_reset: bool,
    is_cut: bool,
    delay: Duration,
    splits: u64,
    is_bytewise: bool,
    /// The number of the byte, of both directions together, at which the connection is reset.
    reset_at: Option<u64>,
    dice: Dice,
}

/// One end of a connection. Dropped, it closes: the other side reads what is under way and then the end; if this side
/// has left bytes unread, a reset.
#[derive(Debug)]
pub struct End {
    connection: Arc<Mutex<Connection>>,
    /// The pipe that this end writes to; it reads from the other.
    out: usize,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    /// Whether the connection leads from one host to the other.
    pub fn is_between(&self, from: IpAddr, to: IpAddr) -> bool {
        self.client.ip() == from && self.server.ip() == to
    }

    /// Applies a change of the link's weather.
    pub fn set_weather(&mut self, weather: &Weather) {
        let was_cut = std::mem::replace(&mut self.is_cut, weather.is_cut);
        self.delay = weather.delay;
        self.splits = weather.splits;
        self.is_bytewise = weather.is_bytewise;
        if was_cut && !weather.is_cut {
            self.wake();
        }
    }

    /// Resets the connection for both sides.
    pub fn reset(&mut self) {
        self.is_reset = true;
        for pipe in &mut self.pipes {
            pipe.discard();
        }
        self.wake();
    }

    fn wake(&mut self) {
        for pipe in &mut self.pipes {
            pipe.wake_reader();
            pipe.wake_writer();
        }
    }

    fn write(
        &mut self,
        out: usize,
        bytes: &[u8],
        context: &Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if self.is_reset {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if self.pipes[out].is_unread && !self.is_cut {
            self.reset();
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let room = self.pipes[out].room();
        if room == 0 {
            self.pipes[out].writer_waits(context.waker());
            return Poll::Pending;
        }
        let bytes = &bytes[..bytes.len().min(room)];
        let delayed = (!self.delay.is_zero()).then(|| {
            let now = net::clock::now();
            (now, now + self.delay)
        });
        let pipe = &mut self.pipes[out];
        pipe.put(bytes, delayed);
        if !self.is_cut {
            pipe.wake_reader();
        }
        let written = self.pipes[0].written + self.pipes[1].written;
        if self.reset_at.is_some_and(|at| written >= at) {
            self.reset();
        }
        Poll::Ready(Ok(bytes.len()))
    }

    /// Returns how many bytes may be read now, or why none may.
    fn readable(&mut self, into: usize) -> Readable {
        if self.is_reset {
            return Readable::Reset;
        }
        if self.is_cut {
            return Readable::Nothing;
        }
        let pipe = &self.pipes[into];
        match pipe.ready() {
            (0, Some(at)) => Readable::Later(at),
            (0, None) if pipe.is_closed => Readable::End,
            (0, None) => Readable::Nothing,
            (count, _) => Readable::Bytes(count),
        }
    }

    fn read(&mut self, into: usize, count: usize, buffer: &mut ReadBuf<'_>) {
        let mut count = count.min(buffer.remaining());
        if self.is_bytewise {
            count = count.min(1);
        } else if self.splits > 0 && count > 1 && self.dice.one_in(self.splits) {
            count = 1 + self.dice.index(count);
        }
        let pipe = &mut self.pipes[into];
        buffer.put_slice(pipe.front(count));
        pipe.take(count);
        pipe.wake_writer();
    }
}

/// The state that a reader finds.
enum Readable {
    Bytes(usize),
    Later(tokio::time::Instant),
    Nothing,
    End,
    Reset,
}

impl End {
    /// Returns both ends of a new connection: the client's, and the server's.
    pub(super) fn pair(
        client: SocketAddr,
        server: SocketAddr,
        weather: &Weather,
        mut dice: Dice,
    ) -> (End, End, Arc<Mutex<Connection>>) {
        let resets = weather.resets > 0 && dice.one_in(weather.resets);
        let connection = Arc::new(Mutex::new(Connection {
            client,
            server,
            pipes: Default::default(),
            is_reset: false,
            is_cut: weather.is_cut,
            delay: weather.delay,
            splits: weather.splits,
            is_bytewise: weather.is_bytewise,
            reset_at: resets.then(|| dice.below(8192)),
            dice,
        }));
        let end = |out| End {
            connection: Arc::clone(&connection),
            out,
            sleep: None,
        };
        (end(0), end(1), connection)
    }

    /// Closes the writing side: the other reads what is under way, and then the end.
    pub fn close_writing(&self) {
        let mut connection = locked(&self.connection);
        let pipe = &mut connection.pipes[self.out];
        pipe.is_closed = true;
        pipe.wake_reader();
    }

    /// This side's host has gone without a word: nothing passes any more, and nobody is told. When the host is back, it
    /// answers with a reset.
    pub fn fall_silent(self, away: Duration) {
        let connection = Arc::clone(&self.connection);
        locked(&connection).is_cut = true;
        spawn_local(async move {
            tokio::time::sleep(away).await;
            locked(&connection).reset();
        });
    }

    fn poll_bytes(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let into = 1 - self.out;
        loop {
            let mut connection = locked(&self.connection);
            let later = match connection.readable(into) {
                Readable::Bytes(count) => {
                    connection.read(into, count, buffer);
                    return Poll::Ready(Ok(()));
                }
                Readable::End => return Poll::Ready(Ok(())),
                Readable::Reset => {
                    return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
                }
                Readable::Nothing => {
                    connection.pipes[into].reader_waits(context.waker());
                    return Poll::Pending;
                }
                Readable::Later(at) => {
                    connection.pipes[into].reader_waits(context.waker());
                    at
                }
            };
            drop(connection);
            let sleep = self
                .sleep
                .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(later)));
            if sleep.deadline() != later {
                sleep.as_mut().reset(later);
            }
            if sleep.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let mut connection = locked(&self.connection);
        let into = 1 - self.out;
        let has_unread = connection.pipes[into].ready().0 > 0;
        connection.pipes[self.out].is_closed = true;
        connection.pipes[into].is_unread = true;
        if has_unread && !connection.is_cut {
            connection.reset();
        }
        connection.wake();
    }
}

impl AsyncRead for End {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let budget = std::task::ready!(tokio::task::coop::poll_proceed(context));
        let polled = self.get_mut().poll_bytes(context, buffer);
        if polled.is_ready() {
            budget.made_progress();
        }
        polled
    }
}

impl AsyncWrite for End {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        locked(&self.connection).write(self.out, bytes, context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut connection = locked(&self.connection);
        let mut written = 0;
        for slice in slices {
            match connection.write(self.out, slice, context) {
                Poll::Ready(Ok(count)) => written += count,
                polled if written == 0 => return polled,
                _ => break,
            }
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.close_writing();
        Poll::Ready(Ok(()))
    }
}

impl MemoryStream for End {
    fn remote_address(&self) -> io::Result<Endpoint> {
        let connection = locked(&self.connection);
        Ok(Endpoint::from(
            [connection.server, connection.client][self.out],
        ))
    }

    fn local_address(&self) -> io::Result<Endpoint> {
        let connection = locked(&self.connection);
        Ok(Endpoint::from(
            [connection.client, connection.server][self.out],
        ))
    }

    fn is_silent(&self) -> bool {
        let into = 1 - self.out;
        let readable = locked(&self.connection).readable(into);
        matches!(readable, Readable::Nothing | Readable::Later(_))
    }

    fn abort(self: Box<Self>) {
        let mut connection = locked(&self.connection);
        if !connection.is_cut {
            connection.reset();
        }
    }
}
