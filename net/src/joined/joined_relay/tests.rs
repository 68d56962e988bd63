#![allow(clippy::unwrap_used)]
use std::future::poll_fn;
use std::net::TcpListener;
use std::thread::{self, JoinHandle};

use tokio::task::LocalSet;

use super::*;

fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (near, _) = listener.accept().unwrap();
    near.set_nodelay(true).unwrap();
    far.set_nodelay(true).unwrap();
    near.set_nonblocking(true).unwrap();
    (near, far)
}

/// Pseudo-random numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// Sends `count` numbered words in pieces of random sizes, then closes the sending side.
fn send(mut far: TcpStream, count: u64, seed: u64) -> JoinHandle<()> {
    thread::spawn(move || {
        let (mut dice, mut word) = (Dice(seed), 0_u64);
        while word < count {
            let words = match dice.below(10) {
                0..7 => dice.below(64) + 1,
                7..9 => dice.below(2048) + 1,
                _ => dice.below(65_536) + 1,
            };
            let end = count.min(word + words as u64);
            let bytes: Vec<u8> = (word..end).flat_map(u64::to_le_bytes).collect();
            word = end;
            let cut = dice.below(bytes.len());
            far.write_all(&bytes[..cut]).unwrap();
            far.write_all(&bytes[cut..]).unwrap();
        }
        far.shutdown(Shutdown::Write).unwrap();
    })
}

/// Reads numbered words until the end. Returns their number, and asserts that they are whole and in order.
fn receive(mut far: TcpStream, seed: u64) -> JoinHandle<u64> {
    thread::spawn(move || {
        let (mut dice, mut next, mut rest) = (Dice(seed), 0_u64, Vec::new());
        let mut buffer = vec![0; 65_536];
        loop {
            let room = dice.below(buffer.len()) + 1;
            let count = far.read(&mut buffer[..room]).unwrap();
            rest.extend_from_slice(&buffer[..count]);
            let whole = rest.len() / 8 * 8;
            for word in rest[..whole].chunks_exact(8) {
                assert_eq!(u64::from_le_bytes(word.try_into().unwrap()), next);
                next += 1;
            }
            rest.drain(..whole);
            if count == 0 {
                assert_eq!(rest, []);
                return next;
            }
        }
    })
}

/// Runs a test on one thread, as a worker does. Skips it if the kernel does not let this process join sockets.
fn on_a_worker<F: Future<Output = ()>>(act: impl FnOnce(Rc<JoinWaiter>) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, async {
        let waiter = match JoinWaiter::new() {
            Ok(waiter) => waiter,
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{error}");
                return;
            }
        };
        tokio::task::spawn_local(Rc::clone(&waiter).run());
        act(waiter).await;
    });
}

async fn run(relay: &mut JoinedRelay) -> Result<(), LostEnd> {
    let mut buffer = vec![0; 16 * 1024];
    poll_fn(|context| relay.poll(context, &mut buffer)).await
}

#[test]
fn numbered_words_arrive_whole_and_in_order_in_both_directions() {
    const WORDS: u64 = 2_000_000;
    on_a_worker(async |waiter| {
        for seed in 1..=3 {
            let ((one, client), (other, backend)) = (connection(), connection());
            let both = |far: TcpStream, seed| {
                (
                    send(far.try_clone().unwrap(), WORDS, seed),
                    receive(far, seed + 100),
                )
            };
            let ends = [both(client, seed), both(backend, seed + 10)];
            let mut relay = JoinedRelay::begin(&waiter, [one, other], Default::default()).unwrap();
            run(&mut relay).await.unwrap();
            for (sender, receiver) in ends {
                sender.join().unwrap();
                assert_eq!(receiver.join().unwrap(), WORDS);
            }
            assert_eq!(relay.joined().bytes(), [WORDS * 8; 2]);
        }
    });
}

#[test]
fn a_receiver_that_does_not_read_stops_the_sender() {
    on_a_worker(async |waiter| {
        let ((one, client), (other, backend)) = (connection(), connection());
        backend.set_nonblocking(true).unwrap();
        let mut relay = JoinedRelay::begin(&waiter, [one, other], Default::default()).unwrap();
        let piece = [0; 65_536];
        let (mut sent, mut refused) = (0, 0);
        // If the socket refuses many times in a row, the relay moves no bytes any more.
        while refused < 200 {
            match (&backend).write(&piece) {
                Ok(count) => (sent, refused) = (sent + count, 0),
                Err(_) => {
                    refused += 1;
                    let a_while = tokio::time::timeout(Duration::from_millis(2), run(&mut relay));
                    assert!(a_while.await.is_err(), "it ends");
                }
            }
        }
        assert!(sent < 64 << 20, "{sent}");
        drop(client);
    });
}

#[test]
fn read_ahead_bytes_are_relayed_first_and_the_first_end_is_recorded() {
    on_a_worker(async |waiter| {
        let ((one, mut client), (other, mut backend)) = (connection(), connection());
        client.write_all(b"second").unwrap();
        let ahead = [b"first ".to_vec(), Vec::new()];
        let mut relay = JoinedRelay::begin(&waiter, [one, other], ahead).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        backend.shutdown(Shutdown::Write).unwrap();
        let reader = thread::spawn(move || {
            let mut text = String::new();
            backend.read_to_string(&mut text).unwrap();
            text
        });
        run(&mut relay).await.unwrap();
        assert_eq!(reader.join().unwrap(), "first second");
        assert!(relay.first_end().is_some());
    });
}

#[test]
fn a_reset_ends_the_relay() {
    on_a_worker(async |waiter| {
        let ((one, client), (other, _backend)) = (connection(), connection());
        let mut relay = JoinedRelay::begin(&waiter, [one, other], Default::default()).unwrap();
        let idle = tokio::time::timeout(Duration::from_millis(20), run(&mut relay));
        assert!(idle.await.is_err());
        rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
        drop(client);
        let broken = run(&mut relay).await.unwrap_err();
        assert_eq!(broken.end, JoinedEnd::One);
    });
}

#[test]
fn bytes_out_of_order_end_the_relay_and_are_not_passed_on() {
    on_a_worker(async |waiter| {
        for is_closed in [false, true] {
            let ((one, mut client), (other, mut backend)) = (connection(), connection());
            let mut relay = JoinedRelay::begin(&waiter, [one, other], Default::default()).unwrap();
            relay.joined().break_stream(JoinedEnd::One);
            client.write_all(b"out of order").unwrap();
            if is_closed {
                client.shutdown(Shutdown::Write).unwrap();
            }
            let broken = run(&mut relay).await.unwrap_err();
            assert_eq!(broken.end, JoinedEnd::One);
            assert_eq!(broken.error.kind(), io::ErrorKind::InvalidData);
            drop(relay);
            assert_eq!(backend.read(&mut [0; 16]).unwrap_or(0), 0);
        }
    });
}

#[test]
fn a_client_that_closes_its_sending_side_and_is_gone_later_ends_the_relay() {
    on_a_worker(async |waiter| {
        let ((one, client), (other, mut backend)) = (connection(), connection());
        let mut relay = JoinedRelay::begin(&waiter, [one, other], Default::default()).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut buffer = vec![0; 16 * 1024];
        poll_fn(|context| {
            assert!(relay.poll(context, &mut buffer).is_pending());
            match relay.has_delivered_end(JoinedEnd::One) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
        assert_eq!(backend.read(&mut [0; 8]).unwrap(), 0);
        assert_eq!(relay.first_end(), Some(JoinedEnd::One));
        rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
        drop(client);
        let broken = run(&mut relay).await.unwrap_err();
        assert_eq!(broken.end, JoinedEnd::One);
    });
}

#[test]
fn a_session_whose_receiver_does_not_read_is_polled_rarely() {
    on_a_worker(async |waiter| {
        let ((one, client), (other, backend)) = (connection(), connection());
        let mut relay = JoinedRelay::begin(&waiter, [one, other], Default::default()).unwrap();
        let sender = thread::spawn(move || (&backend).write_all(&vec![0; 64 << 20]).is_ok());
        let mut buffer = vec![0; 16 * 1024];
        // Polls until the relay waits for room, or checks at its longest interval because no bytes move.
        poll_fn(|context| {
            assert!(relay.poll(context, &mut buffer).is_pending());
            let is_waiting_for_room =
                !relay.flows[1].held.is_empty() && relay.next_check.timer.is_none();
            let looks_seldom = relay.next_check.interval == CHECK_INTERVAL_MAX;
            match is_waiting_for_room || looks_seldom {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
        assert!(relay.has_unacknowledged(JoinedEnd::One));
        drop((client, relay));
        assert!(!sender.join().unwrap(), "all was taken");
    });
}
