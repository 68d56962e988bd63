//! One connected stream socket, TCP or Unix, and the places it may lead to.
//!
//! The hot path polls the socket directly. tokio clears a socket's readiness after a short read or write,
//! which saves the system call that would only return "would block". This type adds nothing in
//! between, so its users save that call too.

use std::fmt;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::coop::has_budget_remaining;

use crate::memory::{self, MemoryStream};

/// Time without traffic after which the kernel probes whether the other side is still there.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
/// Pause between two probes.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// Unanswered probes after which the connection counts as broken.
const KEEPALIVE_PROBES: u32 = 5;

/// The address that a stream socket listens on, connects to, or comes from.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Endpoint {
    /// An IPv4 or IPv6 address with its port.
    Tcp(SocketAddr),
    /// A Unix socket's path; empty for the connecting side, which has no name.
    Unix(PathBuf),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp(address) => address.fmt(f),
            Endpoint::Unix(path) if path.as_os_str().is_empty() => f.write_str("unix socket"),
            Endpoint::Unix(path) => path.display().fmt(f),
        }
    }
}

impl From<SocketAddr> for Endpoint {
    /// An IPv4 address mapped into IPv6 becomes plain IPv4, so that networks match it.
    fn from(address: SocketAddr) -> Endpoint {
        Endpoint::Tcp(SocketAddr::new(address.ip().to_canonical(), address.port()))
    }
}

impl From<tokio::net::unix::SocketAddr> for Endpoint {
    fn from(address: tokio::net::unix::SocketAddr) -> Endpoint {
        Endpoint::Unix(address.as_pathname().map(PathBuf::from).unwrap_or_default())
    }
}

/// A connected, non-blocking socket that no reactor knows yet; it may be sent to any thread.
#[derive(Debug)]
pub enum RawSocket {
    /// A TCP connection.
    Tcp(std::net::TcpStream),
    /// A connection over a Unix socket.
    Unix(std::os::unix::net::UnixStream),
    /// A connection within this process.
    Memory(Box<dyn MemoryStream>),
}

/// A connected socket, registered with the reactor of the worker that owns it.
#[derive(Debug)]
pub enum Socket {
    /// A TCP connection: no Nagle delay, kernel keepalive on.
    Tcp(TcpStream),
    /// A connection over a Unix socket.
    Unix(UnixStream),
    /// A connection within this process.
    Memory(Box<dyn MemoryStream>),
}

/// Sets the options of every TCP socket. An accepted socket inherits them from its listening socket.
pub(crate) fn set_options(socket: SockRef<'_>) -> io::Result<()> {
    // The keepalive options first: a socket that has `nodelay` has all options, see `accepted`.
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_IDLE)
        .with_interval(KEEPALIVE_INTERVAL)
        .with_retries(KEEPALIVE_PROBES);
    socket.set_tcp_keepalive(&keepalive)?;
    socket.set_tcp_nodelay(true)
}

impl Socket {
    /// Registers `raw` with the current thread's reactor and sets the options that every socket has.
    ///
    /// # Errors
    /// The kernel's; on TCP also if the other side is gone already.
    pub fn from_raw(raw: RawSocket) -> io::Result<Socket> {
        match raw {
            RawSocket::Tcp(stream) => Socket::accepted(TcpStream::from_std(stream)?),
            RawSocket::Unix(stream) => Ok(Socket::Unix(UnixStream::from_std(stream)?)),
            RawSocket::Memory(stream) => Ok(Socket::Memory(stream)),
        }
    }

    /// Connects within `timeout`.
    ///
    /// # Errors
    /// The kernel's; [`io::ErrorKind::TimedOut`] if the other side did not answer in time.
    pub async fn connect(endpoint: &Endpoint, timeout: Duration) -> io::Result<Socket> {
        let connecting = async {
            if let Some(connecting) = memory::connect(endpoint) {
                return connecting.await.map(Socket::Memory);
            }
            match endpoint {
                Endpoint::Tcp(address) => Socket::from_tcp(TcpStream::connect(address).await?),
                Endpoint::Unix(path) => Ok(Socket::Unix(UnixStream::connect(path).await?)),
            }
        };
        match tokio::time::timeout(timeout, connecting).await {
            Ok(connected) => connected,
            Err(_) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no answer within {timeout:?}"),
            )),
        }
    }

    /// Whether the other side has neither closed nor sent anything that was not read. It makes a system call only if
    /// the reactor has got an event since the last read that did not fill its buffer.
    pub fn is_silent(&self) -> bool {
        // Without budget tokio reports no readiness.
        if !has_budget_remaining() {
            return self.peeks_nothing();
        }
        let mut context = Context::from_waker(Waker::noop());
        let readiness = match self {
            Socket::Tcp(stream) => stream.poll_read_ready(&mut context),
            Socket::Unix(stream) => stream.poll_read_ready(&mut context),
            Socket::Memory(stream) => return stream.is_silent(),
        };
        readiness.is_pending() || self.peeks_nothing()
    }

    fn peeks_nothing(&self) -> bool {
        let mut byte = [std::mem::MaybeUninit::uninit()];
        let peeked = match self {
            Socket::Tcp(stream) => SockRef::from(stream).peek(&mut byte),
            Socket::Unix(stream) => SockRef::from(stream).peek(&mut byte),
            Socket::Memory(stream) => return stream.is_silent(),
        };
        matches!(peeked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    fn from_tcp(stream: TcpStream) -> io::Result<Socket> {
        set_options(SockRef::from(&stream))?;
        Ok(Socket::Tcp(stream))
    }

    /// An accepted socket. It has its listener's options already, unless it was queued before the listener had
    /// them. The check is one system call; setting the options would be five.
    fn accepted(stream: TcpStream) -> io::Result<Socket> {
        match stream.nodelay()? {
            true => Ok(Socket::Tcp(stream)),
            false => Socket::from_tcp(stream),
        }
    }

    /// Takes the TCP connection out of the worker's reactor.
    ///
    /// # Errors
    /// The kernel's; [`io::ErrorKind::InvalidInput`] if it is not a TCP connection.
    pub fn into_tcp(self) -> io::Result<std::net::TcpStream> {
        match self {
            Socket::Tcp(stream) => stream.into_std(),
            Socket::Unix(_) | Socket::Memory(_) => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// The other side's address.
    ///
    /// # Errors
    /// The kernel's: a TCP connection that was reset has no other side any more.
    pub fn remote_address(&self) -> io::Result<Endpoint> {
        match self {
            Socket::Tcp(stream) => stream.peer_addr().map(Endpoint::from),
            Socket::Unix(stream) => stream.peer_addr().map(Endpoint::from),
            Socket::Memory(stream) => stream.remote_address(),
        }
    }

    /// This side's address.
    ///
    /// # Errors
    /// The kernel's.
    pub fn local_address(&self) -> io::Result<Endpoint> {
        match self {
            Socket::Tcp(stream) => stream.local_addr().map(Endpoint::from),
            Socket::Unix(stream) => stream.local_addr().map(Endpoint::from),
            Socket::Memory(stream) => stream.local_address(),
        }
    }

    /// Closes at once: unsent bytes are dropped, and over TCP the other side sees a reset
    /// instead of an orderly end, so that it cannot mistake half a reply for a whole reply.
    pub fn abort(self) {
        match self {
            // It fails only on a socket that is broken already.
            Socket::Tcp(stream) => drop(stream.set_zero_linger()),
            Socket::Unix(_) => {}
            Socket::Memory(stream) => stream.abort(),
        }
    }
}

impl AsyncRead for Socket {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Socket::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
            Socket::Memory(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Socket::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
            Socket::Memory(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Socket::Unix(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Socket::Memory(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Nothing is buffered on this side of the kernel.
    #[inline]
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Socket::Unix(stream) => Pin::new(stream).poll_shutdown(context),
            Socket::Memory(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
