//! Spares a socket the question whether there is something to be read while nobody has rung: it would be
//! asked several times a statement, and answered once.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker, ready};

use std::io;
use tokio::io::{AsyncRead, ReadBuf};

use crate::transport::Transport;

/// What the reactor calls when a socket can be read.
struct ReadinessWaker {
    has_rung: AtomicBool,
    /// Who is told.
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

/// One that listens to a plain socket. Nobody else may, as long as it does.
pub struct Listening {
    readiness_waker: Arc<ReadinessWaker>,
    waker: Waker,
    /// Who is told, as the bell knows.
    listener: Waker,
    /// The bell will ring when there is something to be read.
    is_set: bool,
}

impl Listening {
    /// Wakes `listener` too.
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

    /// Reads, unless it is known that there is nothing.
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
        // Should the reactor ring from here on, it is asked again.
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

    /// Counts how often it is woken.
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
    async fn the_last_listener_gets_every_event() {
        let (mut far, near) = UnixStream::pair().unwrap();
        let mut transport = Transport::from(Socket::Unix(near));
        let counters: [Arc<Counter>; 2] = Default::default();
        let wakers = counters.clone().map(Waker::from);
        let mut listening = Listening::new(&wakers[0]);
        for turn in 0..20u8 {
            // Now the one and now the other, asking several times.
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
        // The end is told like bytes.
        let end = poll_fn(|context| read(&mut listening, &mut transport, context.waker())).await;
        assert_eq!(end, Vec::<u8>::new());
    }
}
