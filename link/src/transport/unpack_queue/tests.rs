//! Connections unpack in turn, and other tasks of the worker run in between.
#![allow(clippy::unwrap_used)]

use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, LocalOptions};
use tokio::task::spawn_local;
use wire::compression::{Algorithm, Codec, Remote};

use super::*;
use crate::transport::Transport;
use net::Socket;

/// The unpacked bytes of each connection: many slices.
const UNPACKED_BYTES: usize = 64 * SLICE_BYTES;

/// Runs a future on a runtime like a worker's.
fn on_worker<F: Future>(future: F) -> F::Output {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default());
    runtime.unwrap().block_on(future)
}

/// A connection with received frames whose unpacked length is a hundred times as long.
async fn packed() -> (Transport, UnixStream) {
    let (near, mut far) = UnixStream::pair().unwrap();
    let mut frames = Vec::new();
    let mut codec = Codec::new(Algorithm::Zlib, 6, Remote::Backend);
    codec.encode(&vec![b' '; UNPACKED_BYTES], &mut frames);
    far.write_all(&frames).await.unwrap();
    let codec = Codec::new(Algorithm::Zlib, 6, Remote::Client);
    (
        Transport::from(Socket::Unix(near)).compress(codec, b""),
        far,
    )
}

/// One event of a test's log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    /// A byte arrived on a connection without compression.
    Byte,
    /// This number of bytes was unpacked.
    Unpacked(usize),
}

type Log = Rc<RefCell<Vec<Event>>>;

/// Reads all bytes of a packed connection.
async fn unpack(log: Log) {
    let (mut transport, _far) = packed().await;
    let mut buffer = vec![0; 16 * 1024];
    let mut total = 0;
    while total < UNPACKED_BYTES {
        let count = transport.read(&mut buffer).await.unwrap();
        log.borrow_mut().push(Event::Unpacked(count));
        total += count;
    }
}

/// Sends one byte back and forth, so that each byte needs a poll of the sockets.
async fn exchange_bytes(log: Log) {
    let (mut near, mut far) = UnixStream::pair().unwrap();
    spawn_local(async move {
        let mut byte = [0];
        while far.read_exact(&mut byte).await.is_ok() && far.write_all(&byte).await.is_ok() {}
    });
    let mut byte = [0];
    loop {
        near.write_all(&byte).await.unwrap();
        near.read_exact(&mut byte).await.unwrap();
        log.borrow_mut().push(Event::Byte);
    }
}

/// The largest number of bytes unpacked between two bytes of the exchange, without those that each arrival allows.
fn most_between_bytes(log: &[Event]) -> usize {
    let of = |events: &[Event]| {
        let bytes = events.iter().map(|it| match it {
            Event::Byte => 0,
            Event::Unpacked(count) => *count,
        });
        bytes.sum()
    };
    let between = log.split(|it| *it == Event::Byte);
    between.map(of).max().unwrap_or_default()
}

/// Three connections unpack while two other sockets exchange bytes.
async fn three_unpack() -> Vec<Event> {
    let log = Log::default();
    let bytes = spawn_local(exchange_bytes(Rc::clone(&log)));
    let all: Vec<_> = (0..3)
        .map(|_| spawn_local(unpack(Rc::clone(&log))))
        .collect();
    for one in all {
        one.await.unwrap();
    }
    bytes.abort();
    log.take()
}

#[test]
fn other_tasks_run_between_two_unpack_slices() {
    let log = on_worker(async {
        let server = spawn_local(serve_unpack_queue());
        let log = three_unpack().await;
        server.abort();
        log
    });
    // Arriving bytes allow some unpacking at once. A byte needs two polls of the sockets, each followed by one slice.
    let at_once = 3 * PER_ARRIVED_BYTE * 16 * 1024;
    let most = most_between_bytes(&log);
    assert!(most <= at_once + 4 * SLICE_BYTES, "{most}");
    let bytes = log.iter().filter(|it| **it == Event::Byte).count();
    let slices = (3 * UNPACKED_BYTES - at_once) / SLICE_BYTES;
    assert!(bytes >= slices / 4, "{bytes} bytes beside {slices} slices");
}

#[test]
fn connections_yield_between_slices_if_no_task_serves_the_queue() {
    let log = on_worker(three_unpack());
    let at_once = 3 * PER_ARRIVED_BYTE * 16 * 1024;
    let most = most_between_bytes(&log);
    assert!(most <= at_once + 4 * 3 * SLICE_BYTES, "{most}");
}

#[test]
fn the_longest_waiter_is_first_and_a_closed_connection_is_skipped() {
    let queue = UnpackQueue::default();
    let [a, b, c] = [(); 3].map(|()| Arc::<Waiter>::default());
    for waiter in [&a, &b, &c] {
        queue.push(waiter);
    }
    let has_turn = |it: &Arc<Waiter>| it.has_turn.swap(false, Ordering::Relaxed);
    drop(b);
    assert!(queue.give_turn());
    assert_eq!((has_turn(&a), has_turn(&c)), (true, false));
    queue.push(&a);
    assert!(queue.give_turn());
    assert_eq!((has_turn(&a), has_turn(&c)), (false, true));
    assert!(queue.give_turn());
    assert!(has_turn(&a));
    assert!(!queue.give_turn());
}

#[test]
fn unpacking_continues_if_one_of_several_serving_tasks_ends() {
    on_worker(async {
        let servers = [(); 2].map(|()| spawn_local(serve_unpack_queue()));
        yield_now().await;
        servers[1].abort();
        yield_now().await;
        unpack(Log::default()).await;
        servers[0].abort();
    });
}

#[test]
fn all_waiters_continue_when_the_queue_is_not_served() {
    on_worker(async {
        let server = spawn_local(serve_unpack_queue());
        let unpacking = spawn_local(unpack(Log::default()));
        while QUEUE.with(|queue| queue.waiting.borrow().is_empty()) {
            yield_now().await;
        }
        server.abort();
        unpacking.await.unwrap();
    });
}

#[test]
fn the_task_that_waits_now_is_woken_for_unpacking() {
    on_worker(async {
        let server = spawn_local(serve_unpack_queue());
        let (mut transport, _far) = packed().await;
        let mut buffer = vec![0; UNPACKED_BYTES];
        let mut filled = 0;
        let mut room = tokio::io::ReadBuf::new(&mut buffer);
        // Polled with a waker that does nothing until the transport waits in the queue.
        let mut nobody = Context::from_waker(Waker::noop());
        loop {
            use tokio::io::AsyncRead;
            let read = std::pin::Pin::new(&mut transport).poll_read(&mut nobody, &mut room);
            if read.is_pending() && !room.filled().is_empty() {
                break;
            }
            yield_now().await;
        }
        filled += room.filled().len();
        // From now on, this task polls it.
        transport.read_exact(&mut buffer[filled..]).await.unwrap();
        server.abort();
    });
}
