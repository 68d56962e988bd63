#![allow(clippy::unwrap_used)]
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener};

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

impl JoinedSockets {
    /// Has the program find the next piece of `from` out of order.
    pub(in crate::joined) fn break_stream(&self, from: JoinedEnd) {
        let cookie = self.cookie(from);
        let [redirected, passed, next, is_out_of_order] = self.joiner.seen.find(cookie).unwrap();
        let next = u64::from((next as u32).wrapping_sub(1));
        let seen = [redirected, passed, next, is_out_of_order];
        self.joiner.seen.set(cookie, seen).unwrap();
    }
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
            assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{error}");
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

/// A raw socket that sends whole TCP segments. Returns `None` if this process may not open one.
fn raw_sender() -> Option<socket2::Socket> {
    let (domain, kind) = (socket2::Domain::IPV4, socket2::Type::RAW);
    match socket2::Socket::new(domain, kind, Some(socket2::Protocol::TCP)) {
        Ok(socket) => Some(socket),
        Err(error) => {
            assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{error}");
            None
        }
    }
}

/// The flags ACK and PSH of a segment, and FIN.
const PUSHED: u8 = 0x18;
const LAST: u8 = 0x19;

/// A segment between two ports of 127.0.0.1, with the checksum of TCP over IPv4 (RFC 9293, 3.1).
fn segment(ports: [u16; 2], numbers: [u32; 2], flags: u8, bytes: &[u8]) -> Vec<u8> {
    let mut segment = Vec::new();
    segment.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    segment.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    segment.extend([5 << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
    segment.extend(bytes);
    let mut summed = [Ipv4Addr::LOCALHOST.octets(); 2].concat();
    summed.extend([0, 6]);
    summed.extend((segment.len() as u16).to_be_bytes());
    summed.extend(&segment);
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    let mut sum: u64 = summed.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    segment[16..18].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    segment
}

impl Pair {
    /// The number of the next byte that the program expects from the client, and the next one that the client expects.
    fn sequence_numbers(&self) -> [u32; 2] {
        const SCRATCH: u64 = u64::MAX;
        let joiner = &self.joined.joiner;
        let cookie = self.joined.cookie(JoinedEnd::One);
        joiner.seen.set(SCRATCH, [0; 4]).unwrap();
        joiner.targets.set(SCRATCH, number(&self.far[0])).unwrap();
        joiner
            .note_beginning((SCRATCH, &self.far[0]), SCRATCH)
            .unwrap();
        [cookie, SCRATCH].map(|key| joiner.seen.find(key).unwrap()[2] as u32)
    }

    /// Sends a segment in the client's name. Its first `old` bytes were sent before.
    fn retransmit(&self, raw: &socket2::Socket, flags: u8, old: usize, bytes: &[u8]) {
        let (from, to) = (self.far[0].local_addr(), self.far[0].peer_addr());
        let (from, to) = (from.unwrap(), to.unwrap());
        let [next, acknowledged] = self.sequence_numbers();
        let numbers = [next.wrapping_sub(old as u32), acknowledged];
        let segment = segment([from.port(), to.port()], numbers, flags, bytes);
        raw.send_to(&segment, &to.into()).unwrap();
    }
}

#[test]
fn retransmitted_bytes_before_new_ones_are_not_passed_on_twice() {
    let Some(joiner) = joiner() else { return };
    let Some(raw) = raw_sender() else { return };
    // One cut, several ones, and as many as the longest segment over IPv4 needs.
    for old in [4, 9000, 60_000] {
        for is_in_kernel in [true, false] {
            let mut pair = pair(&joiner, |_| {});
            if is_in_kernel {
                pair.grant(JoinedEnd::One, 1 << 20, 0);
            }
            let bytes: Vec<u8> = (0..old + 50).map(|at| (at % 251) as u8).collect();
            pair.far[0].write_all(&bytes[..old]).unwrap();
            let arrived = |count| match is_in_kernel {
                true => read(&pair.far[1], count),
                false => pair.passed(JoinedEnd::One, count),
            };
            let first = arrived(old);
            pair.retransmit(&raw, PUSHED, old, &bytes);
            assert_eq!([first, arrived(50)].concat(), bytes, "{old} old bytes");
            let seen = pair.joined.seen(JoinedEnd::One);
            assert_eq!(seen.redirected + seen.passed, bytes.len() as u64);
        }
    }
}

#[test]
fn retransmitted_bytes_with_the_end_of_a_side_are_an_orderly_end() {
    let Some(joiner) = joiner() else { return };
    let Some(raw) = raw_sender() else { return };
    for is_in_kernel in [true, false] {
        let mut pair = pair(&joiner, |_| {});
        if is_in_kernel {
            pair.grant(JoinedEnd::One, 100, 0);
        }
        pair.far[0].write_all(b"last").unwrap();
        let arrived = match is_in_kernel {
            true => read(&pair.far[1], 4),
            false => pair.passed(JoinedEnd::One, 4),
        };
        assert_eq!(arrived, b"last");
        pair.retransmit(&raw, LAST, 4, b"last");
        let end = loop {
            match pair.near[0].read(&mut [0; 16]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                end => break end,
            }
        };
        assert_eq!(end.unwrap(), 0);
        let seen = pair.joined.seen(JoinedEnd::One);
        assert_eq!(
            (seen.redirected + seen.passed, seen.is_out_of_order),
            (4, false)
        );
    }
}
