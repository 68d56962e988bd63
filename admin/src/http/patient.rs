//! A connection with patience: what was read ahead comes first, and a client that takes nothing for too
//! long, or takes too long for all of it, is given up.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long a client may take nothing of an answer.
const TIMEOUT_TAKE: Duration = Duration::from_secs(30);

/// How long a client may take for all that is written, once it keeps a write waiting.
const TIMEOUT_ALL: Duration = Duration::from_secs(120);

/// See the module.
pub struct Patient<S> {
    stream: S,
    /// What was read before anybody knew whose it is.
    ahead: Vec<u8>,
    /// Runs while the client takes nothing.
    patience: Option<Pin<Box<Sleep>>>,
    /// Runs from the first write that waited until all is taken.
    end: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncWrite + Unpin> Patient<S> {
    /// Reads `ahead`, and then the stream.
    pub fn new(stream: S, ahead: Vec<u8>) -> Self {
        Self {
            stream,
            ahead,
            patience: None,
            end: None,
        }
    }

    /// What has come of a write; none for too long is an error.
    fn judge<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let late = || Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        if let Some(end) = &mut self.end
            && end.as_mut().poll(context).is_ready()
        {
            return late();
        }
        if written.is_ready() {
            self.patience = None;
            return written;
        }
        self.end.get_or_insert_with(|| Box::pin(sleep(TIMEOUT_ALL)));
        let patience = self
            .patience
            .get_or_insert_with(|| Box::pin(sleep(TIMEOUT_TAKE)));
        ready!(patience.as_mut().poll(context));
        late()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let count = self.ahead.len().min(buffer.remaining());
        let taken: Vec<_> = self.ahead.drain(..count).collect();
        buffer.put_slice(&taken);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
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
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(context, shut)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_is_given_up() {
        let (near, mut far) = duplex(16);
        let mut patient = Patient::new(near, Vec::new());
        let written = patient.write_all(&[0; 17]).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
        far.read_exact(&mut [0; 16]).await.unwrap();
        patient.write_all(&[0; 16]).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_a_byte_a_second_is_given_up_in_the_end() {
        let (near, mut far) = duplex(16);
        let mut patient = Patient::new(near, Vec::new());
        let reader = tokio::spawn(async move {
            while far.read_u8().await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        });
        let began = tokio::time::Instant::now();
        // What it can take in time, it gets.
        patient.write_all(&[0; 100]).await.unwrap();
        patient.flush().await.unwrap();
        let written = patient.write_all(&[0; 1000]).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() < 2 * TIMEOUT_ALL, "{:?}", began.elapsed());
        drop(patient);
        reader.await.unwrap();
    }

    #[tokio::test]
    async fn what_was_read_ahead_comes_first() {
        let (near, mut far) = duplex(16);
        far.write_all(b"there").await.unwrap();
        drop(far);
        let mut all = String::new();
        let mut patient = Patient::new(near, b"hello ".to_vec());
        patient.read_to_string(&mut all).await.unwrap();
        assert_eq!(all, "hello there");
    }
}
