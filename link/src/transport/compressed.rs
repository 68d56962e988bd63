//! A transport whose packets travel in compressed frames.
//!
//! What arrives is decompressed straight into the reader's buffer. What is written gathers until a
//! frame is full or flushed, since small frames compress badly. Buffers exist only while something
//! is in them: an idle session has none.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use wire::compression::{Codec, FRAME_PAYLOAD_BYTES};

/// How much is read from below at once.
const READ_BYTES: usize = 16 * 1024;
/// How much is decompressed into the reader's buffer at once.
const DECODE_BYTES_MAX: usize = 64 * 1024;

/// See the module. `S` carries the frames.
#[derive(Debug)]
pub struct Compressed<S> {
    inner: S,
    codec: Codec,
    /// Frames as they came.
    arrived: Queue,
    /// What the next frame will carry, one frame at most.
    gathered: Vec<u8>,
    /// Frames to send; a new one is made only when these are gone.
    frames: Queue,
}

/// Bytes taken from the front.
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

    /// Frees the memory with the last byte.
    fn take(&mut self, count: usize) {
        self.taken += count;
        if self.is_empty() {
            *self = Queue::default();
        }
    }
}

impl<S> Compressed<S> {
    pub fn new(inner: S, codec: Codec, read_ahead: &[u8]) -> Compressed<S> {
        Compressed {
            inner,
            codec,
            arrived: Queue {
                bytes: read_ahead.to_vec(),
                taken: 0,
            },
            gathered: Vec::new(),
            frames: Queue::default(),
        }
    }

    pub fn inner(&self) -> &S {
        &self.inner
    }

    pub fn into_inner(self) -> S {
        self.inner
    }

    /// Memory in its buffers, and in a frame that is not complete.
    pub fn held_bytes(&self) -> usize {
        let queues = self.arrived.bytes.capacity() + self.frames.bytes.capacity();
        queues + self.gathered.capacity() + self.codec.held_bytes()
    }

    /// The number of the next frame, everything before having been flushed.
    pub fn next_sequence(&self) -> u8 {
        self.codec.next_sequence()
    }

    /// What was gathered belongs to the command before.
    pub fn begin_command(&mut self) {
        self.seal();
        self.codec.begin_command();
    }

    /// Makes a frame of what was gathered.
    fn seal(&mut self) {
        if !self.gathered.is_empty() {
            let gathered = std::mem::take(&mut self.gathered);
            self.codec.encode(&gathered, &mut self.frames.bytes);
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Compressed<S> {
    /// Sends the frames there are.
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

    /// Waits until something can be gathered; says how much.
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.gathered.len() == FRAME_PAYLOAD_BYTES {
            ready!(self.poll_send(context))?;
            self.seal();
        }
        // Commands sealed one by one must not pile up either.
        if self.frames.bytes.len() > FRAME_PAYLOAD_BYTES {
            ready!(self.poll_send(context))?;
        }
        Poll::Ready(Ok(FRAME_PAYLOAD_BYTES - self.gathered.len()))
    }

    /// Reads more frames; says how many bytes, 0 at the end.
    fn poll_arrival(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut bytes = vec![0; READ_BYTES];
        let mut buffer = ReadBuf::new(&mut bytes);
        ready!(Pin::new(&mut self.inner).poll_read(context, &mut buffer))?;
        let count = buffer.filled().len();
        bytes.truncate(count);
        self.arrived = Queue { bytes, taken: 0 };
        Poll::Ready(Ok(count))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Compressed<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let room = buffer.remaining().min(DECODE_BYTES_MAX);
        loop {
            let output = buffer.initialize_unfilled_to(room);
            let progress = this.codec.decode(this.arrived.rest(), output);
            let progress = progress
                .map_err(|malformed| io::Error::new(io::ErrorKind::InvalidData, malformed))?;
            this.arrived.take(progress.consumed);
            if progress.produced > 0 || room == 0 {
                buffer.advance(progress.produced);
                return Poll::Ready(Ok(()));
            }
            if ready!(this.poll_arrival(context))? == 0 {
                let whole = this.codec.check_end();
                return Poll::Ready(
                    whole.map_err(|cut| io::Error::new(io::ErrorKind::UnexpectedEof, cut)),
                );
            }
        }
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
