//! Avoids reads from a socket that cannot have anything to read, because the reactor has not called the
//! waker. Without the cache there would be several reads per statement, and only one would return bytes.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker, ready};

use std::io;
use tokio::io::{AsyncRead, ReadBuf};

use crate::transport::Transport;

/// The waker that the reactor calls when a socket can be read.
struct ReadinessWaker {
    has_rung: AtomicBool,
    /// The task that is woken then.
    listener: Mutex<Waker>,
}

impl Wake for ReadinessWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.has_rung.store(true, Ordering::Release);
        let listener = self.listener.lock();
        listener
            .unwrap_or_else(PoisonError::into_inner)
            .wake_by_ref();
    }
}

/// The only reader of a plain socket. As long as it exists, no other reader may listen.
pub struct Listening {
    readiness_waker: Arc<ReadinessWaker>,
    waker: Waker,
    /// The task that is woken, as the readiness waker knows it.
    listener: Waker,
    /// Whether the readiness waker will be called when there is something to read.
    is_set: bool,
}

impl Listening {
    /// Returns a reader that wakes `listener` too.
    pub fn new(listener: &Waker) -> Self {
        let readiness_waker = Arc::new(ReadinessWaker {
            has_rung: AtomicBool::new(false),
            listener: Mutex::new(listener.clone()),
        });
        Self {
            waker: Waker::from(Arc::clone(&readiness_waker)),
            readiness_waker,
            listener: listener.clone(),
            is_set: false,
        }
    }

    /// Reads, unless it is certain that there is nothing to read.
    pub fn poll_read(
        &mut self,
        transport: &mut Transport,
        context: &Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.listener.will_wake(context.waker()) {
            self.listener.clone_from(context.waker());
            let listener = self.readiness_waker.listener.lock();
            *listener.unwrap_or_else(PoisonError::into_inner) = context.waker().clone();
        }
        if self.is_set && !self.readiness_waker.has_rung.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        self.readiness_waker
            .has_rung
            .store(false, Ordering::Relaxed);
        // If the reactor calls the waker from here on, the socket is read again.
        self.is_set = true;
        let mut ringing = Context::from_waker(&self.waker);
        let read = ready!(Pin::new(transport).poll_read(&mut ringing, buffer));
        self.is_set = false;
        Poll::Ready(read)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use net::Socket;
    use tokio::io::AsyncWriteExt;
    use tokio::net::UnixStream;

    /// A waker that counts its wake-ups.
    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn read(listening: &mut Listening, transport: &mut Transport, waker: &Waker) -> Poll<Vec<u8>> {
        let mut bytes = [0; 16];
        let mut buffer = ReadBuf::new(&mut bytes);
        let context = Context::from_waker(waker);
        let read = listening.poll_read(transport, &context, &mut buffer);
        read.map(|read| {
            read.unwrap();
            buffer.filled().to_vec()
        })
    }

    #[tokio::test]
    async fn the_task_that_polled_last_gets_every_readiness_event() {
        let (mut far, near) = UnixStream::pair().unwrap();
        let mut transport = Transport::from(Socket::Unix(near));
        let counters: [Arc<Counter>; 2] = Default::default();
        let wakers = counters.clone().map(Waker::from);
        let mut listening = Listening::new(&wakers[0]);
        for turn in 0..20u8 {
            // The two wakers alternate, and each polls several times.
            let at = usize::from(turn / 3 % 2);
            for _ in 0..3 {
                let nothing = read(&mut listening, &mut transport, &wakers[at]);
                assert!(nothing.is_pending());
            }
            let before = counters[at].0.load(Ordering::Relaxed);
            far.write_all(&[turn]).await.unwrap();
            while counters[at].0.load(Ordering::Relaxed) == before {
                tokio::task::yield_now().await;
            }
            let one = read(&mut listening, &mut transport, &wakers[at]);
            assert_eq!(one, Poll::Ready(vec![turn]));
        }
        drop(far);
        // The end of the stream wakes the task like bytes do.
        let end = poll_fn(|context| read(&mut listening, &mut transport, context.waker())).await;
        assert_eq!(end, Vec::<u8>::new());
    }
}
