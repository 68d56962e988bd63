//! A network within the test's thread: a connection to an endpoint reaches the listener of this endpoint.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use net::memory::{Connecting, MemoryStream, Network};
use net::{Endpoint, Socket};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Bytes that may be in transit in one direction.
pub const ROOM: usize = 64 << 10;

/// The address of the connecting sides of this network.
const CONNECTING: [u8; 4] = [10, 0, 0, 100];

/// The endpoints of the network, with their listeners.
#[derive(Default)]
pub struct MemoryNetwork {
    hosts: RefCell<HashMap<Endpoint, Host>>,
    last_port: Cell<u16>,
}

enum Host {
    Listens(UnboundedSender<End>),
    /// The host does not answer, as behind a firewall that drops packets.
    Silent,
}

impl MemoryNetwork {
    /// Listens at an endpoint, and returns the queue of connections to it.
    pub fn listen(&self, endpoint: Endpoint) -> UnboundedReceiver<End> {
        let (to, connections) = unbounded_channel();
        let listens = Host::Listens(to);
        self.hosts.borrow_mut().insert(endpoint, listens);
        connections
    }

    /// Removes the listener of an endpoint.
    pub fn close(&self, endpoint: &Endpoint) {
        self.hosts.borrow_mut().remove(endpoint);
    }

    /// Makes the host of an endpoint silent: connections to it get no answer.
    pub fn fall_silent(&self, endpoint: Endpoint) {
        self.hosts.borrow_mut().insert(endpoint, Host::Silent);
    }

    fn connect_now(&self, endpoint: &Endpoint) -> Option<io::Result<Box<dyn MemoryStream>>> {
        let refused = || Some(Err(io::ErrorKind::ConnectionRefused.into()));
        let hosts = self.hosts.borrow();
        let to = match hosts.get(endpoint) {
            Some(Host::Listens(to)) => to,
            Some(Host::Silent) => return None,
            None => return refused(),
        };
        self.last_port.set(self.last_port.get() + 1);
        let near = SocketAddr::from((CONNECTING, 10_000 + self.last_port.get()));
        let (near, far) = End::pair(near.into(), endpoint.clone(), ROOM);
        match to.send(far) {
            Ok(()) => Some(Ok(Box::new(near))),
            Err(_) => refused(),
        }
    }
}

impl Network for MemoryNetwork {
    fn connect(&self, endpoint: &Endpoint) -> Connecting {
        match self.connect_now(endpoint) {
            Some(connected) => Box::pin(async move { connected }),
            None => Box::pin(std::future::pending()),
        }
    }
}

/// One end of a connection. Dropped, it closes: the other side reads what is under way, and then the end.
#[derive(Debug)]
pub struct End {
    bytes: DuplexStream,
    both: Arc<Both>,
    /// The number of this end: 0 or 1.
    index: usize,
}

/// The state that both ends share. The first of two values belongs to the first end.
#[derive(Debug)]
struct Both {
    addresses: [Endpoint; 2],
    written: [AtomicU64; 2],
    read: [AtomicU64; 2],
    has_closed: [AtomicBool; 2],
    is_reset: AtomicBool,
}

impl End {
    /// Returns both ends of a connection, each with its address. `room` bytes may be in transit in one direction.
    pub fn pair(first: Endpoint, second: Endpoint, room: usize) -> (Self, Self) {
        let both = Arc::new(Both {
            addresses: [first, second],
            written: Default::default(),
            read: Default::default(),
            has_closed: Default::default(),
            is_reset: AtomicBool::new(false),
        });
        let (first, second) = duplex(room);
        let end = |bytes, index| Self {
            bytes,
            both: Arc::clone(&both),
            index,
        };
        (end(first, 0), end(second, 1))
    }

    fn other(&self) -> usize {
        1 - self.index
    }

    /// Returns how many bytes of this end the other side has read.
    pub fn taken(&self) -> u64 {
        self.both.read[self.other()].load(Ordering::Relaxed)
    }

    fn check(&self) -> io::Result<()> {
        match self.both.is_reset.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::ConnectionReset.into()),
            false => Ok(()),
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.both.has_closed[self.index].store(true, Ordering::Relaxed);
    }
}

impl From<End> for Socket {
    fn from(end: End) -> Self {
        Self::Memory(Box::new(end))
    }
}

impl AsyncRead for End {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.check()?;
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.bytes).poll_read(context, buffer))?;
        let count = (buffer.filled().len() - before) as u64;
        this.both.read[this.index].fetch_add(count, Ordering::Relaxed);
        // Nothing is read after a reset, not even the bytes that came before it.
        Poll::Ready(this.check())
    }
}

impl AsyncWrite for End {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.check()?;
        let written = ready!(Pin::new(&mut this.bytes).poll_write(context, bytes))?;
        this.both.written[this.index].fetch_add(written as u64, Ordering::Relaxed);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.both.has_closed[this.index].store(true, Ordering::Relaxed);
        Pin::new(&mut this.bytes).poll_shutdown(context)
    }
}

impl MemoryStream for End {
    fn remote_address(&self) -> io::Result<Endpoint> {
        self.check()?;
        Ok(self.both.addresses[self.other()].clone())
    }

    fn local_address(&self) -> io::Result<Endpoint> {
        self.check()?;
        Ok(self.both.addresses[self.index].clone())
    }

    fn is_silent(&self) -> bool {
        let other = self.other();
        let written = self.both.written[other].load(Ordering::Relaxed);
        let is_read = written == self.both.read[self.index].load(Ordering::Relaxed);
        let has_closed = self.both.has_closed[other].load(Ordering::Relaxed);
        is_read && !has_closed && self.check().is_ok()
    }

    fn abort(self: Box<Self>) {
        self.both.is_reset.store(true, Ordering::Relaxed);
    }
}

/// Returns a network that replaces the kernel's on this thread until the second value is dropped.
pub fn in_use() -> (Rc<MemoryNetwork>, net::memory::NetworkInUse) {
    let network = Rc::new(MemoryNetwork::default());
    let in_use = net::memory::use_network(Rc::clone(&network) as Rc<dyn Network>);
    (network, in_use)
}
