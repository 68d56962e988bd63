//! Two TCP connections whose bytes the kernel passes from one to the other (a sockmap), within a credit.
//!
//! Without a credit the kernel would take bytes from a sender without a limit, even if the receiver does not read them,
//! and no limit counts that memory. So the program redirects within a credit only, and only while the proxy has
//! forwarded all bytes that it had to read. The proxy reads all other bytes (see [`super::program`]).

use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::rc::Rc;

use super::bpf::{self, BpfMap, MapKind, ProgramKind};
use super::notices::Notices;
use super::program::{self, ProgramMaps};
use super::tcp::{self, is_established, notify_of_unread, unacknowledged, written};

/// The most joined sockets of one worker, two for each session.
const SOCKETS_MAX: u32 = 1 << 16;
/// How often the proxy asks where a socket's joining begins. It asks again if bytes have come in between.
const BEGINNINGS_MAX: usize = 64;

/// The maps and the programs of one worker.
#[derive(Debug)]
pub struct SocketJoiner {
    targets: BpfMap<1>,
    sources: BpfMap<1>,
    seen: BpfMap<4>,
    granted: BpfMap<2>,
    notices: Notices,
    beginning: OwnedFd,
    _verdict: OwnedFd,
}

/// The bytes of one direction, as the program has counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Bytes that the kernel has passed on.
    pub(super) redirected: u64,
    /// Bytes that the proxy is to read, or has read.
    pub(super) passed: u64,
    /// The program got a piece that does not follow the ones before it. It has dropped all since then.
    pub(super) is_out_of_order: bool,
}

/// The bytes that the program may redirect in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Granted {
    /// How far [`Seen::redirected`] may grow.
    pub(super) credit: u64,
    /// How many of the bytes that the proxy has read it has also forwarded.
    pub(super) forwarded: u64,
}

impl SocketJoiner {
    /// Asks the kernel for everything that joining needs.
    ///
    /// # Errors
    /// The kernel's: a capability is missing (CAP_BPF and CAP_NET_ADMIN are needed), or the kernel is too old.
    pub(super) fn new() -> io::Result<Rc<Self>> {
        let targets = BpfMap::new(MapKind::SocketHash, SOCKETS_MAX)?;
        let sources = BpfMap::new(MapKind::SocketHash, SOCKETS_MAX)?;
        let seen = BpfMap::new(MapKind::Hash, SOCKETS_MAX)?;
        let granted = BpfMap::new(MapKind::Hash, SOCKETS_MAX)?;
        let notices = Notices::new()?;
        let maps = ProgramMaps {
            targets: targets.fd(),
            seen: seen.fd(),
            granted: granted.fd(),
            notices: notices.fd(),
        };
        let verdict = bpf::load(ProgramKind::Verdict, &program::verdict(&maps))?;
        let beginning = bpf::load(ProgramKind::Call, &program::beginning(&maps))?;
        bpf::attach(verdict.as_fd(), sources.fd())?;
        Ok(Rc::new(Self {
            targets,
            sources,
            seen,
            granted,
            notices,
            beginning,
            _verdict: verdict,
        }))
    }

    /// Which sockets have bytes for the proxy.
    pub(super) fn notices(&self) -> &Notices {
        &self.notices
    }

    /// Joins two connections without a credit: the proxy reads all bytes until it grants one. It also reads the bytes
    /// that have come before.
    ///
    /// # Errors
    /// The kernel's: one connection is not established any more, or there are too many. Then nothing has changed, or both
    /// connections are shut down, because bytes of them were lost.
    pub(super) fn join(
        self: &Rc<Self>,
        one: &TcpStream,
        other: &TcpStream,
    ) -> io::Result<JoinedSockets> {
        let joined = JoinedSockets {
            sides: [JoinedSide::of(one)?, JoinedSide::of(other)?],
            joiner: Rc::clone(self),
        };
        for side in &joined.sides {
            self.seen.set(side.cookie, [0; 4])?;
            self.granted.set(side.cookie, [0; 2])?;
        }
        let [first, second] = [number(one), number(other)];
        let [of_one, of_other] = [joined.sides[0].cookie, joined.sides[1].cookie];
        // Both are targets before one of them is a source, so that each redirection finds its target.
        self.targets.set(of_one, second)?;
        self.targets.set(of_other, first)?;
        self.note_beginning((of_one, one), of_other)?;
        self.note_beginning((of_other, other), of_one)?;
        let attached = self.sources.set(of_one, first);
        let attached = attached.and_then(|()| self.sources.set(of_other, second));
        // The program sees the bytes that came before.
        let shown = attached.and_then(|()| notify_of_unread(one.as_fd()));
        match shown.and_then(|()| notify_of_unread(other.as_fd())) {
            Ok(()) => Ok(joined),
            Err(error) => {
                joined.give_up([one, other]);
                Err(error)
            }
        }
    }

    /// Tells the program the sequence number of the next byte that the proxy is to read from a socket. The proxy must not
    /// read from the socket until it is joined.
    fn note_beginning(&self, (cookie, socket): (u64, &TcpStream), key: u64) -> io::Result<()> {
        for _ in 0..BEGINNINGS_MAX {
            let unread = tcp::unread(socket.as_fd())?;
            let packet = program::beginning_packet(cookie, key);
            let noted = bpf::call(self.beginning.as_fd(), &packet)?;
            // With an end of the side the socket's next number would be one more than its bytes. The kernel locks the
            // socket to tell its state, so bytes that the number includes are unread bytes behind this.
            if noted == 0 || !is_established(socket.as_fd())? {
                return Err(io::ErrorKind::NotConnected.into());
            }
            if tcp::unread(socket.as_fd())? == unread {
                let [redirected, passed, next, is_out_of_order] =
                    self.seen.find(cookie).unwrap_or_default();
                let next = (next as u32).wrapping_sub(unread);
                return self
                    .seen
                    .set(cookie, [redirected, passed, next.into(), is_out_of_order]);
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }
}

fn number(socket: &TcpStream) -> [u64; 1] {
    [u64::from(socket.as_raw_fd().cast_unsigned())]
}

/// One of two joined sockets.
#[derive(Clone, Copy, Debug)]
struct JoinedSide {
    cookie: u64,
    /// The bytes that were written to it before it was joined.
    written: u64,
}

impl JoinedSide {
    fn of(socket: &TcpStream) -> io::Result<Self> {
        Ok(Self {
            cookie: rustix::net::sockopt::socket_cookie(socket)?,
            written: written(socket.as_fd())?,
        })
    }
}

/// One of the two joined connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinedEnd {
    /// The first one.
    One,
    /// The second one.
    Other,
}

impl JoinedEnd {
    /// Both ends, in the order of their numbers.
    pub const BOTH: [Self; 2] = [Self::One, Self::Other];

    /// The opposite end.
    pub fn opposite(self) -> Self {
        match self {
            Self::One => Self::Other,
            Self::Other => Self::One,
        }
    }
}

/// Two joined connections. When this is dropped, they are not joined any more, and their counts are gone.
#[derive(Debug)]
pub struct JoinedSockets {
    sides: [JoinedSide; 2],
    joiner: Rc<SocketJoiner>,
}

impl Drop for JoinedSockets {
    fn drop(&mut self) {
        for side in &self.sides {
            self.joiner.sources.remove(side.cookie);
            self.joiner.targets.remove(side.cookie);
            self.joiner.seen.remove(side.cookie);
            self.joiner.granted.remove(side.cookie);
        }
    }
}

impl JoinedSockets {
    /// Undoes the joining of two connections that are not to be joined after all. What the program has taken of a
    /// connection meanwhile is lost. Then both are shut down: no session must go on without these bytes.
    pub(super) fn give_up(self, sockets: [&TcpStream; 2]) {
        for side in &self.sides {
            self.joiner.sources.remove(side.cookie);
        }
        if self.bytes() != [0; 2] {
            for socket in sockets {
                // It fails if the connection has ended.
                let _ = socket.shutdown(Shutdown::Both);
            }
        }
    }

    /// Bytes that have come from each end since the joining.
    pub fn bytes(&self) -> [u64; 2] {
        JoinedEnd::BOTH.map(|end| {
            let seen = self.seen(end);
            seen.redirected + seen.passed
        })
    }

    fn side(&self, end: JoinedEnd) -> &JoinedSide {
        &self.sides[end as usize]
    }

    /// The cookie by which notices name this end.
    pub(super) fn cookie(&self, end: JoinedEnd) -> u64 {
        self.side(end).cookie
    }

    /// The counts of the bytes that come from `from`.
    pub(super) fn seen(&self, from: JoinedEnd) -> Seen {
        let counts = self.joiner.seen.find(self.side(from).cookie);
        let [redirected, passed, _, is_out_of_order] = counts.unwrap_or_default();
        Seen {
            redirected,
            passed,
            is_out_of_order: is_out_of_order != 0,
        }
    }

    /// Tells the program how many of the bytes that come from `from` it may redirect.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn grant(&self, from: JoinedEnd, granted: Granted) -> io::Result<()> {
        let bounds = [granted.credit, granted.forwarded];
        self.joiner.granted.set(self.side(from).cookie, bounds)
    }

    /// Whether all redirected bytes have left the kernel's queue for `to`. `wrote`: the bytes that the proxy itself has
    /// written to `to`. Until then the proxy must write nothing there, because its bytes would overtake the kernel's.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn has_left(
        &self,
        to: JoinedEnd,
        socket: &TcpStream,
        wrote: u64,
    ) -> io::Result<bool> {
        let due = self.seen(to.opposite()).redirected + wrote;
        let done = written(socket.as_fd())?.wrapping_sub(self.side(to).written);
        Ok(done >= due)
    }

    /// Whether the other side has not yet acknowledged all bytes that were written to `socket`, or are to be.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn has_unacknowledged(
        &self,
        to: JoinedEnd,
        socket: &TcpStream,
        wrote: u64,
    ) -> io::Result<bool> {
        Ok(unacknowledged(socket.as_fd())? > 0 || !self.has_left(to, socket, wrote)?)
    }
}

#[cfg(test)]
mod tests;
