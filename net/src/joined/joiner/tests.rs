#![allow(clippy::unwrap_used)]
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};

use super::*;

/// A connection: the proxy's socket, and the socket at the other end.
fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (near, _) = listener.accept().unwrap();
    near.set_nodelay(true).unwrap();
    far.set_nodelay(true).unwrap();
    near.set_nonblocking(true).unwrap();
    (near, far)
}

struct Pair {
    joined: JoinedSockets,
    near: [TcpStream; 2],
    far: [TcpStream; 2],
}

/// Returns `None` if the kernel does not let this process join sockets.
fn joiner() -> Option<Rc<SocketJoiner>> {
    match SocketJoiner::new() {
        Ok(joiner) => Some(joiner),
        Err(error) => {
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
            None
        }
    }
}

fn pair(joiner: &Rc<SocketJoiner>, before: impl FnOnce(&mut [TcpStream; 2])) -> Pair {
    let ((one, client), (other, backend)) = (connection(), connection());
    let mut far = [client, backend];
    before(&mut far);
    let joined = joiner.join(&one, &other).unwrap();
    Pair {
        joined,
        near: [one, other],
        far,
    }
}

impl Pair {
    fn grant(&self, from: JoinedEnd, credit: u64, forwarded: u64) {
        self.joined
            .grant(from, Granted { credit, forwarded })
            .unwrap();
    }

    /// Reads the bytes that the kernel passed to the proxy from `from`, at least `count` bytes.
    fn passed(&self, from: JoinedEnd, count: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            let mut buffer = [0; 4096];
            match (&self.near[from as usize]).read(&mut buffer) {
                Ok(read) => bytes.extend(&buffer[..read]),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        }
        bytes
    }
}

fn read(mut far: &TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    far.read_exact(&mut bytes).unwrap();
    bytes
}

#[test]
fn bytes_received_before_the_join_are_read_by_the_proxy() {
    let Some(joiner) = joiner() else { return };
    let pair = pair(&joiner, |far| far[0].write_all(b"early").unwrap());
    assert_eq!(pair.passed(JoinedEnd::One, 5), b"early");
    let seen = pair.joined.seen(JoinedEnd::One);
    assert_eq!((seen.redirected, seen.passed), (0, 5));
}

#[test]
fn the_kernel_forwards_bytes_within_the_credit_in_both_directions() {
    let Some(joiner) = joiner() else { return };
    let mut pair = pair(&joiner, |_| {});
    pair.grant(JoinedEnd::One, 100, 0);
    pair.grant(JoinedEnd::Other, 100, 0);
    pair.far[0].write_all(b"question").unwrap();
    assert_eq!(read(&pair.far[1], 8), b"question");
    pair.far[1].write_all(b"answer").unwrap();
    assert_eq!(read(&pair.far[0], 6), b"answer");
    assert_eq!(pair.joined.seen(JoinedEnd::One).redirected, 8);
    assert_eq!(pair.joined.seen(JoinedEnd::Other).redirected, 6);
    assert!(
        pair.joined
            .has_left(JoinedEnd::Other, &pair.near[1], 0)
            .unwrap()
    );
}

#[test]
fn bytes_beyond_the_credit_go_to_the_proxy_in_order() {
    let Some(joiner) = joiner() else { return };
    let mut pair = pair(&joiner, |_| {});
    pair.grant(JoinedEnd::One, 4, 0);
    pair.far[0].write_all(b"1234").unwrap();
    assert_eq!(read(&pair.far[1], 4), b"1234");
    pair.far[0].write_all(b"56").unwrap();
    assert_eq!(pair.passed(JoinedEnd::One, 2), b"56");
    let mut noticed = Vec::new();
    joiner.notices().drain(|cookie| noticed.push(cookie));
    assert_eq!(noticed, [pair.joined.cookie(JoinedEnd::One)]);
    // Credit alone must not let later bytes overtake bytes that the proxy holds.
    pair.grant(JoinedEnd::One, 100, 0);
    pair.far[0].write_all(b"78").unwrap();
    assert_eq!(pair.passed(JoinedEnd::One, 2), b"78");
    while !pair
        .joined
        .has_left(JoinedEnd::Other, &pair.near[1], 0)
        .unwrap()
    {}
    (&pair.near[1]).write_all(b"5678").unwrap();
    pair.grant(JoinedEnd::One, 100, 4);
    pair.far[0].write_all(b"9").unwrap();
    assert_eq!(read(&pair.far[1], 5), b"56789");
}

#[test]
fn the_proxy_sees_the_end_of_a_joined_socket_after_its_bytes() {
    let Some(joiner) = joiner() else { return };
    let mut pair = pair(&joiner, |_| {});
    pair.grant(JoinedEnd::One, 100, 0);
    pair.far[0].write_all(b"last").unwrap();
    pair.far[0].shutdown(Shutdown::Write).unwrap();
    assert_eq!(read(&pair.far[1], 4), b"last");
    let mut byte = [0];
    let end = loop {
        match pair.near[0].read(&mut byte) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            end => break end,
        }
    };
    assert_eq!(end.unwrap(), 0);
    // The other direction still passes bytes.
    pair.grant(JoinedEnd::Other, 100, 0);
    pair.far[1].write_all(b"answer").unwrap();
    assert_eq!(read(&pair.far[0], 6), b"answer");
    let error = rustix::net::sockopt::socket_error(&pair.near[1]).unwrap();
    assert!(error.is_ok(), "{error:?}");
}

#[test]
fn a_connection_that_is_closing_cannot_be_joined() {
    let Some(joiner) = joiner() else { return };
    let ((one, client), (other, _backend)) = (connection(), connection());
    client.shutdown(Shutdown::Write).unwrap();
    let mut byte = [0];
    while one.peek(&mut byte).is_err() {}
    joiner.join(&one, &other).unwrap_err();
    client.set_nonblocking(true).unwrap();
}
