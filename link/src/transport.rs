//! The layer between a socket and the stream of MySQL packets: TLS, compression, both, or neither.
//!
//! ```text
//!   Plain(Socket)      Tls(TlsStream<Socket>)      Compressed(Plain or Tls inside)
//! ```
//!
//! A session begins plain and is upgraded during its login, at the moments that the protocol names. Written
//! bytes may stay here until they are flushed: so flush after the last write of what belongs together.

mod compressed;
mod packed_frames;
mod unpack_queue;

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use auth::Privacy;
use net::Socket;
use net::tls::{self, Facts, ServerName, TlsAcceptor, TlsConnector, TlsStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use wire::compression::Codec;

use compressed::Compressed;
pub use unpack_queue::serve_unpack_queue;

/// The bytes of a connection that carry its packets.
///
/// Reading and writing a plain transport is one system call each, as on the socket itself. The other
/// kinds are boxed, so that ten thousand plain sessions do not pay for memory that they do not use.
///
/// A write takes as many bytes as there is room for: on a plain transport all that the kernel
/// takes, with TLS up to 64 KiB, with compression up to one frame more. `poll_write` may return
/// `Ready` while bytes still wait here; only `poll_flush` sends them.
#[derive(Debug)]
pub enum Transport {
    /// The socket's bytes are the packets themselves.
    Plain(Socket),
    /// The packets are encrypted.
    Tls(Box<TlsStream<Socket>>),
    /// The packets are compressed, within TLS or without.
    Compressed(Box<Compressed<Transport>>),
    /// The transport was moved to another owner; every operation fails.
    Gone,
}

impl From<Socket> for Transport {
    fn from(socket: Socket) -> Transport {
        Transport::Plain(socket)
    }
}

impl Transport {
    /// Answers a client's TLS handshake, after the client's request for TLS was read. `read_ahead`:
    /// bytes that followed the request, because some clients send both at once.
    ///
    /// # Errors
    /// The handshake's error ([`net::tls::explain`] gives its text); the connection is then closed.
    /// An error of kind [`io::ErrorKind::InvalidInput`] if this transport is not plain.
    pub async fn accept_tls(
        self,
        acceptor: &TlsAcceptor,
        read_ahead: &[u8],
    ) -> io::Result<Transport> {
        let stream = tls::accept(acceptor, self.into_plain()?, read_ahead).await?;
        Ok(Transport::Tls(Box::new(stream)))
    }

    /// Makes the TLS handshake with a backend, after the proxy's request for TLS was flushed.
    /// `name` comes from [`net::tls::ClientTls::server_name`].
    ///
    /// # Errors
    /// As [`Transport::accept_tls`].
    pub async fn connect_tls(
        self,
        connector: &TlsConnector,
        name: ServerName<'static>,
    ) -> io::Result<Transport> {
        let stream = tls::connect(connector, name, self.into_plain()?).await?;
        Ok(Transport::Tls(Box::new(stream)))
    }

    /// Compresses all further packets, after the OK that ends the login was flushed or read.
    /// `read_ahead`: bytes that followed the OK.
    pub fn compress(self, codec: Codec, read_ahead: &[u8]) -> Transport {
        Transport::Compressed(Box::new(Compressed::new(self, codec, read_ahead)))
    }

    /// Marks the next written byte as the beginning of a command. Call it before each command, also
    /// if commands are sent without waiting for replies: on a compressed connection to a backend,
    /// frames are counted anew with each command. Without compression it does nothing.
    #[inline]
    pub fn begin_command(&mut self) {
        if let Transport::Compressed(compressed) = self {
            compressed.begin_command();
        }
    }

    /// Returns the number of the next frame, on a compressed connection: the first packet in the
    /// frame must have the same number. Everything before must have been flushed.
    #[inline]
    pub fn frame_sequence(&self) -> Option<u8> {
        match self {
            Transport::Compressed(compressed) => Some(compressed.next_sequence()),
            Transport::Plain(_) | Transport::Tls(_) | Transport::Gone => None,
        }
    }

    /// Returns the socket; `None` if the transport was moved to another owner.
    pub fn socket(&self) -> Option<&Socket> {
        match self {
            Transport::Plain(socket) => Some(socket),
            Transport::Tls(stream) => Some(stream.get_ref().0),
            Transport::Compressed(compressed) => compressed.inner().socket(),
            Transport::Gone => None,
        }
    }

    /// Returns how private the connection is.
    pub fn privacy(&self) -> Privacy {
        match self.socket() {
            _ if self.tls().is_some() => Privacy::Tls,
            Some(Socket::Unix(_)) => Privacy::Local,
            Some(Socket::Tcp(_) | Socket::Memory(_)) | None => Privacy::Open,
        }
    }

    /// Returns what TLS has agreed on; `None` without TLS.
    pub fn tls(&self) -> Option<Facts> {
        match self {
            Transport::Plain(_) | Transport::Gone => None,
            Transport::Tls(stream) => Facts::of(stream.get_ref().1),
            Transport::Compressed(compressed) => compressed.inner().tls(),
        }
    }

    /// Returns the memory that compression takes for this connection now, in bytes.
    pub fn held_bytes(&self) -> usize {
        match self {
            Transport::Compressed(compressed) => compressed.held_bytes(),
            Transport::Plain(_) | Transport::Tls(_) | Transport::Gone => 0,
        }
    }

    /// Reads for a caller that needs at least `wanted` bytes: compressed frames are not unpacked
    /// before they have that many. Bytes without compression are returned at once.
    pub fn poll_read_wanting(
        &mut self,
        wanted: usize,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self {
            Transport::Compressed(stream) => stream.poll_read_wanting(wanted, context, buffer),
            other => Pin::new(other).poll_read(context, buffer),
        }
    }

    /// Whether frames are compressed.
    pub fn is_compressed(&self) -> bool {
        matches!(self, Transport::Compressed(_))
    }

    /// Closes in such a way that the last bytes arrive. If a socket is closed with unread bytes, it
    /// sends a reset, and the reset overtakes bytes that the other side has not read yet. So bytes that
    /// still arrive are read and dropped until the other side closes too. The caller limits the time.
    ///
    /// # Errors
    /// An error of the kernel or of TLS: the other side is gone.
    pub async fn close(&mut self) -> io::Result<()> {
        self.shutdown().await?;
        let below = match self {
            // Dropped bytes need not be unpacked.
            Transport::Compressed(compressed) => compressed.inner_mut(),
            other => other,
        };
        let mut thrown_away = [0; 4096];
        while below.read(&mut thrown_away).await? > 0 {}
        Ok(())
    }

    /// Closes at once, without a close message: see [`Socket::abort`].
    pub fn abort(self) {
        match self {
            Transport::Plain(socket) => socket.abort(),
            Transport::Tls(stream) => match *stream {
                TlsStream::Client(stream) => stream.into_inner().0.abort(),
                TlsStream::Server(stream) => stream.into_inner().0.abort(),
            },
            Transport::Compressed(compressed) => compressed.into_inner().abort(),
            Transport::Gone => {}
        }
    }

    /// Returns the socket itself, if its bytes are the packets.
    ///
    /// # Errors
    /// An error of kind [`io::ErrorKind::InvalidInput`] if this transport is not plain.
    pub fn into_plain(self) -> io::Result<Socket> {
        match self {
            Transport::Plain(socket) => Ok(socket),
            Transport::Tls(_) | Transport::Compressed(_) | Transport::Gone => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the connection is not plain",
            )),
        }
    }
}

impl AsyncRead for Transport {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(socket) => Pin::new(socket).poll_read(context, buffer),
            Transport::Tls(stream) => poll_read_tls(stream, context, buffer),
            Transport::Compressed(stream) => Pin::new(&mut **stream).poll_read(context, buffer),
            Transport::Gone => Poll::Ready(Err(gone())),
        }
    }
}

fn gone() -> io::Error {
    io::ErrorKind::NotConnected.into()
}

/// Many clients close without TLS's close message. Packets have lengths and sessions end with
/// COM_QUIT, so the layer above notices a cut anyway. Here it counts as an ordinary end.
fn poll_read_tls(
    stream: &mut TlsStream<Socket>,
    context: &mut Context<'_>,
    buffer: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    match Pin::new(stream).poll_read(context, buffer) {
        Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Poll::Ready(Ok(()))
        }
        other => other,
    }
}

impl AsyncWrite for Transport {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Plain(socket) => Pin::new(socket).poll_write(context, bytes),
            Transport::Tls(stream) => Pin::new(&mut **stream).poll_write(context, bytes),
            Transport::Compressed(stream) => Pin::new(&mut **stream).poll_write(context, bytes),
            Transport::Gone => Poll::Ready(Err(gone())),
        }
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Plain(socket) => Pin::new(socket).poll_write_vectored(context, slices),
            Transport::Tls(stream) => Pin::new(&mut **stream).poll_write_vectored(context, slices),
            Transport::Compressed(stream) => {
                Pin::new(&mut **stream).poll_write_vectored(context, slices)
            }
            Transport::Gone => Poll::Ready(Err(gone())),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    #[inline]
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(socket) => Pin::new(socket).poll_flush(context),
            Transport::Tls(stream) => Pin::new(&mut **stream).poll_flush(context),
            Transport::Compressed(stream) => Pin::new(&mut **stream).poll_flush(context),
            Transport::Gone => Poll::Ready(Err(gone())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(socket) => Pin::new(socket).poll_shutdown(context),
            Transport::Tls(stream) => Pin::new(&mut **stream).poll_shutdown(context),
            Transport::Compressed(stream) => Pin::new(&mut **stream).poll_shutdown(context),
            Transport::Gone => Poll::Ready(Err(gone())),
        }
    }
}

#[cfg(test)]
mod tests;
