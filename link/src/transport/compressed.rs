//! A transport whose packets travel in compressed frames.
//!
//! Arriving frames are decompressed directly into the reader's buffer, when it is the connection's turn
//! ([`super::unpack_queue`]). Written bytes are collected until a frame is full or flushed, because
//! small frames compress badly. Buffers exist only while they hold something: an idle session has none.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use wire::compression::{Codec, FRAME_PAYLOAD_BYTES};

use super::packed_frames::{PIECE_BYTES_MAX, PackedFrames};
use super::unpack_queue::UnpackAllowance;

thread_local! {
    /// The buffer for reading from the transport below.
    static READ_BUFFER: Cell<Vec<u8>> = Cell::default();
}

/// The most bytes that are decompressed into the reader's buffer at once.
const DECODE_BYTES_MAX: usize = 64 * 1024;

/// A transport with compression; `S` carries the frames.
#[derive(Debug)]
pub struct Compressed<S> {
    inner: S,
    codec: Codec,
    /// Frames that have arrived and are still packed.
    arrived: PackedFrames,
    /// How many bytes have been unpacked since the beginning.
    unpacked_bytes: u64,
    /// Whether the last read filled the buffer: there may be more to unpack without further frames.
    has_filled: bool,
    allowance: UnpackAllowance,
    /// Bytes for the next frame, at most one frame.
    gathered: Vec<u8>,
    /// Frames to be sent; a new frame is made only when these are sent.
    frames: Queue,
}

/// Bytes that are taken from the front.
#[derive(Default, Debug)]
struct Queue {
    bytes: Vec<u8>,
    taken: usize,
}

impl Queue {
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.taken..).unwrap_or_default()
    }

    fn is_empty(&self) -> bool {
        self.taken == self.bytes.len()
    }

    /// Takes bytes; frees the memory with the last byte.
    fn take(&mut self, count: usize) {
        self.taken += count;
        if self.is_empty() {
            *self = Queue::default();
        }
    }
}

impl<S> Compressed<S> {
    pub fn new(inner: S, codec: Codec, read_ahead: &[u8]) -> Compressed<S> {
        let mut allowance = UnpackAllowance::default();
        allowance.arrived(read_ahead.len());
        Compressed {
            inner,
            codec,
            arrived: PackedFrames::new(read_ahead),
            unpacked_bytes: 0,
            has_filled: false,
            allowance,
            gathered: Vec::new(),
            frames: Queue::default(),
        }
    }

    pub fn inner(&self) -> &S {
        &self.inner
    }

    pub fn inner_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    pub fn into_inner(self) -> S {
        self.inner
    }

    /// Returns the memory in its buffers and in a frame that is not complete, in bytes.
    pub fn held_bytes(&self) -> usize {
        let queues = self.arrived.held_bytes() + self.frames.bytes.capacity();
        queues + self.gathered.capacity() + self.codec.held_bytes()
    }

    /// Returns the number of the next frame. Everything before must have been flushed.
    pub fn next_sequence(&self) -> u8 {
        self.codec.next_sequence()
    }

    /// Begins a command: bytes collected so far belong to the command before.
    pub fn begin_command(&mut self) {
        self.seal();
        self.codec.begin_command();
    }

    /// Makes a frame of the collected bytes.
    fn seal(&mut self) {
        if !self.gathered.is_empty() {
            let gathered = std::mem::take(&mut self.gathered);
            self.codec.encode(&gathered, &mut self.frames.bytes);
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Compressed<S> {
    /// Sends the finished frames.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.frames.is_empty() {
            let inner = Pin::new(&mut self.inner);
            let sent = ready!(inner.poll_write(context, self.frames.rest()))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.frames.take(sent);
        }
        Poll::Ready(Ok(()))
    }

    /// Waits until bytes can be collected; returns how many.
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.gathered.len() == FRAME_PAYLOAD_BYTES {
            ready!(self.poll_send(context))?;
            self.seal();
        }
        // Commands that are sealed one by one must not pile up either.
        if self.frames.bytes.len() > FRAME_PAYLOAD_BYTES {
            ready!(self.poll_send(context))?;
        }
        Poll::Ready(Ok(FRAME_PAYLOAD_BYTES - self.gathered.len()))
    }

    /// Reads more frames; returns the number of bytes, 0 at the end.
    fn poll_arrival(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut bytes = READ_BUFFER.take();
        bytes.resize(PIECE_BYTES_MAX, 0);
        let mut buffer = ReadBuf::new(&mut bytes);
        let read = Pin::new(&mut self.inner).poll_read(context, &mut buffer);
        let count = buffer.filled().len();
        self.arrived.put(buffer.filled());
        READ_BUFFER.set(bytes);
        ready!(read)?;
        self.allowance.arrived(count);
        Poll::Ready(Ok(count))
    }

    /// Reads like `poll_read`, for a caller that needs at least `wanted` bytes: frames stay packed
    /// until they have that many, or until they take as much memory as these bytes would.
    pub fn poll_read_wanting(
        &mut self,
        wanted: usize,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.lacks(wanted) {
            if ready!(self.poll_arrival(context))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        loop {
            if !self.arrived.is_empty() || self.has_filled {
                let allowed = ready!(self.allowance.poll(context));
                let count = self.unpack(allowed, buffer)?;
                if count > 0 {
                    return Poll::Ready(Ok(()));
                }
            }
            if self.arrived.is_empty() && ready!(self.poll_arrival(context))? == 0 {
                let whole = self.codec.check_end();
                return Poll::Ready(
                    whole.map_err(|cut| io::Error::new(io::ErrorKind::UnexpectedEof, cut)),
                );
            }
        }
    }

    /// Whether the whole frames that have arrived contain fewer bytes than that.
    fn lacks(&self, wanted: usize) -> bool {
        wanted > 0
            && self.arrived.whole_bytes() < self.unpacked_bytes + wanted as u64
            && self.arrived.held_bytes() < wanted
    }

    /// Unpacks at most this many bytes into the buffer; returns how many.
    fn unpack(&mut self, allowed: usize, buffer: &mut ReadBuf<'_>) -> io::Result<usize> {
        let room = buffer.remaining().min(DECODE_BYTES_MAX).min(allowed);
        let output = buffer.initialize_unfilled_to(room);
        let progress = self.codec.decode(self.arrived.next(), output);
        let progress =
            progress.map_err(|malformed| io::Error::new(io::ErrorKind::InvalidData, malformed))?;
        self.arrived.take(progress.consumed);
        self.unpacked_bytes += progress.produced as u64;
        self.has_filled = progress.produced == room;
        self.allowance.spend(progress.produced);
        buffer.advance(progress.produced);
        Ok(progress.produced)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Compressed<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.get_mut().poll_read_wanting(0, context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Compressed<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let room = ready!(this.poll_room(context))?;
        let (taken, _) = bytes.split_at(bytes.len().min(room));
        this.gathered.extend_from_slice(taken);
        Poll::Ready(Ok(taken.len()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let room = ready!(this.poll_room(context))?;
        let before = this.gathered.len();
        for slice in slices {
            let left = room - (this.gathered.len() - before);
            let (taken, _) = slice.split_at(slice.len().min(left));
            this.gathered.extend_from_slice(taken);
        }
        Poll::Ready(Ok(this.gathered.len() - before))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_send(context))?;
        this.seal();
        ready!(this.poll_send(context))?;
        Pin::new(&mut this.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(context))?;
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
