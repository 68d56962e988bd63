//! A connection with time limits. Bytes that were read ahead come first. A client that reads nothing for too long,
//! or takes too long to read everything, is disconnected. The last answer reaches the client before the connection
//! closes. A client that has begun a request must send it at a minimum rate.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::clock;

/// How long a client may read nothing of an answer.
const TIMEOUT_TAKE: Duration = Duration::from_secs(30);

/// How long a client may take to read everything that is written, counted from the first write that had to wait.
const TIMEOUT_ALL: Duration = Duration::from_secs(120);

/// How long a client may read nothing of an answer without an end. The connection needs no memory meanwhile.
const TIMEOUT_TAKE_LONG: Duration = Duration::from_secs(600);

/// How long a client may take to read the last answer, and to close.
const TIMEOUT_FAREWELL: Duration = Duration::from_secs(2);

/// How long a request may take to arrive, however short it is.
const TIMEOUT_BEGUN: Duration = Duration::from_secs(5);

/// Bytes for which a longer request has one more second.
const BYTES_A_SECOND: u32 = 256;

/// A request that is arriving.
struct Coming {
    bytes: u32,
    began: Instant,
    end: Pin<Box<Sleep>>,
}

/// A connection with time limits, see the module.
pub struct Patient<S> {
    stream: S,
    /// Bytes that were read before this was made. They come first.
    ahead: Vec<u8>,
    /// Runs while the client reads nothing.
    patience: Option<Pin<Box<Sleep>>>,
    /// Runs from the first write that had to wait until the client has read everything.
    end: Option<Pin<Box<Sleep>>>,
    /// Runs from when the proxy has closed its side.
    farewell: Option<Pin<Box<Sleep>>>,
    /// The request that is being read, while its head is incomplete.
    coming: Option<Coming>,
    /// The request's head has been read, and no answer written yet.
    is_read: Arc<AtomicBool>,
    /// The answer has no end.
    is_long: LongAnswer,
}

/// Whether the answer of a connection has no end: then its client may be slow for longer.
#[derive(Debug, Clone, Default)]
pub struct LongAnswer(Arc<AtomicBool>);

impl LongAnswer {
    /// Notes that the answer has no end.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl<S: AsyncWrite + Unpin> Patient<S> {
    /// Reads `ahead`, and then the stream.
    pub fn new(stream: S, ahead: Vec<u8>) -> Self {
        Self {
            stream,
            ahead,
            patience: None,
            end: None,
            farewell: None,
            coming: None,
            is_read: Arc::default(),
            is_long: LongAnswer::default(),
        }
    }

    /// The flag to set when an answer has no end.
    pub fn is_long(&self) -> LongAnswer {
        self.is_long.clone()
    }

    /// The flag to set when a request's head has been read: the request's body and answer have limits of their own.
    pub fn is_read(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_read)
    }

    /// Returns the result of a write, or an error if the client has read nothing for too long.
    fn judge<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let late = || Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        let is_long = self.is_long.is_set();
        if let Some(end) = &mut self.end
            && !is_long
            && end.as_mut().poll(context).is_ready()
        {
            return late();
        }
        if written.is_ready() {
            self.patience = None;
            return written;
        }
        self.end.get_or_insert_with(|| Box::pin(sleep(TIMEOUT_ALL)));
        let patience = self.patience.get_or_insert_with(|| {
            Box::pin(sleep(match is_long {
                true => TIMEOUT_TAKE_LONG,
                false => TIMEOUT_TAKE,
            }))
        });
        ready!(patience.as_mut().poll(context));
        late()
    }
}

impl<S: AsyncRead + Unpin> Patient<S> {
    /// Returns the result of a read, or an error if the request arrives too slowly.
    fn judge_rate(
        &mut self,
        context: &mut Context<'_>,
        read: Poll<io::Result<()>>,
        count: usize,
    ) -> Poll<io::Result<()>> {
        if self.is_read.load(Ordering::Relaxed) {
            self.coming = None;
            return read;
        }
        if count > 0 {
            let coming = self.coming.get_or_insert_with(|| Coming {
                bytes: 0,
                began: clock::now(),
                end: Box::pin(sleep(TIMEOUT_BEGUN)),
            });
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            coming.bytes = coming.bytes.saturating_add(count);
            let more = Duration::from_secs(1) * coming.bytes / BYTES_A_SECOND;
            let end = coming.began + TIMEOUT_BEGUN + more;
            coming.end.as_mut().reset(end);
        }
        if let (Poll::Pending, Some(coming)) = (&read, &mut self.coming) {
            ready!(coming.end.as_mut().poll(context));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }

    /// Reads and drops bytes until the client closes too, or its time is up. If a socket is closed with bytes unread,
    /// the kernel may discard the answer that it has not sent yet.
    fn drain_until_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let farewell = self
            .farewell
            .get_or_insert_with(|| Box::pin(sleep(TIMEOUT_FAREWELL)));
        if farewell.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let mut thrown_away = [0; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut thrown_away);
            let read = ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(());
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            let before = buffer.filled().len();
            let read = Pin::new(&mut self.stream).poll_read(context, buffer);
            let count = buffer.filled().len() - before;
            return self.judge_rate(context, read, count);
        }
        let count = self.ahead.len().min(buffer.remaining());
        let taken: Vec<_> = self.ahead.drain(..count).collect();
        buffer.put_slice(&taken);
        self.judge_rate(context, Poll::Ready(Ok(())), count)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.is_read.store(false, Ordering::Relaxed);
        self.coming = None;
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_ready() {
            self.end = None;
        }
        self.judge(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.farewell.is_none() {
            let shut = Pin::new(&mut self.stream).poll_shutdown(context);
            ready!(self.judge(context, shut))?;
        }
        self.drain_until_closed(context).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_closed() {
        let (near, mut far) = duplex(16);
        let mut patient = Patient::new(near, Vec::new());
        let written = patient.write_all(&[0; 17]).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
        far.read_exact(&mut [0; 16]).await.unwrap();
        patient.write_all(&[0; 16]).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_a_long_answer_may_pause() {
        let (near, mut far) = duplex(16);
        let mut patient = Patient::new(near, Vec::new());
        patient.is_long().set();
        let reader = tokio::spawn(async move {
            let mut bytes = [0; 16];
            for _ in 0..4 {
                sleep(TIMEOUT_TAKE_LONG / 2).await;
                far.read_exact(&mut bytes).await.unwrap();
            }
        });
        patient.write_all(&[0; 64]).await.unwrap();
        reader.await.unwrap();
        let (near, _far) = duplex(16);
        let mut patient = Patient::new(near, Vec::new());
        patient.is_long().set();
        let written = patient.write_all(&[0; 17]).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_one_byte_a_second_is_closed_in_the_end() {
        let (near, mut far) = duplex(16);
        let mut patient = Patient::new(near, Vec::new());
        let reader = tokio::spawn(async move {
            while far.read_u8().await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        });
        let began = tokio::time::Instant::now();
        // The client receives all bytes that it reads in time.
        patient.write_all(&[0; 100]).await.unwrap();
        patient.flush().await.unwrap();
        let written = patient.write_all(&[0; 1000]).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() < 2 * TIMEOUT_ALL, "{:?}", began.elapsed());
        drop(patient);
        reader.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn remaining_input_is_discarded_until_the_client_closes_or_a_time_limit() {
        let (near, mut far) = duplex(16);
        let mut patient = Patient::new(near, Vec::new());
        let client = tokio::spawn(async move {
            assert_eq!(
                far.read_u8().await.unwrap_err().kind(),
                io::ErrorKind::UnexpectedEof
            );
            far.write_all(&[0; 10_000]).await.unwrap();
        });
        let began = tokio::time::Instant::now();
        patient.shutdown().await.unwrap();
        client.await.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
        let (near, far) = duplex(16);
        Patient::new(near, Vec::new()).shutdown().await.unwrap();
        assert!(began.elapsed() >= TIMEOUT_FAREWELL);
        drop(far);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_comes_a_byte_at_a_time_is_given_up() {
        let (near, mut far) = duplex(1 << 16);
        let mut patient = Patient::new(near, Vec::new());
        let client = tokio::spawn(async move {
            while far.write_u8(b'x').await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        });
        let began = Instant::now();
        let mut request = Vec::new();
        let read = patient.read_to_end(&mut request).await;
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() < 2 * TIMEOUT_BEGUN, "{:?}", began.elapsed());
        drop(patient);
        client.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_was_read_has_no_time_limit_for_more_bytes() {
        let (near, mut far) = duplex(1 << 16);
        let mut patient = Patient::new(near, Vec::new());
        far.write_u8(b'x').await.unwrap();
        patient.read_u8().await.unwrap();
        patient.is_read().store(true, Ordering::Relaxed);
        let client = tokio::spawn(async move {
            sleep(4 * TIMEOUT_BEGUN).await;
            drop(far);
        });
        let ended = patient.read_u8().await;
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        client.await.unwrap();
    }

    #[tokio::test]
    async fn bytes_read_ahead_come_first() {
        let (near, mut far) = duplex(16);
        far.write_all(b"there").await.unwrap();
        drop(far);
        let mut all = String::new();
        let mut patient = Patient::new(near, b"hello ".to_vec());
        patient.read_to_string(&mut all).await.unwrap();
        assert_eq!(all, "hello there");
    }
}
