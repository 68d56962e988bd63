//! Between a socket and the stream of MySQL packets: TLS, compression, both, or neither.
//!
//! ```text
//!   Plain(Socket)      Tls(TlsStream<Socket>)      Compressed(Plain or Tls inside)
//! ```
//!
//! A session begins plain and is upgraded during its login, at moments the protocol names. What is
//! written may stay here until it is flushed: after writing what belongs together, flush.

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

/// A connection's bytes as the packets they carry.
///
/// Reading and writing a plain one is the socket's own, one system call each. The others are
/// boxed, so that ten thousand plain sessions do not pay for what they do not use.
///
/// Writing takes what there is room for: a plain one all that the kernel takes, TLS up to 64 KiB
/// and compression up to one frame more than that. `poll_write` may answer `Ready` while bytes
/// still wait here; `poll_flush` sends them, and nothing else does.
#[derive(Debug)]
pub enum Transport {
    /// The socket's bytes are the packets.
    Plain(Socket),
    /// They are encrypted.
    Tls(Box<TlsStream<Socket>>),
    /// They are compressed, within TLS or without.
    Compressed(Box<Compressed<Transport>>),
    /// It has been moved elsewhere; all that is done to it fails.
    Gone,
}

impl From<Socket> for Transport {
    fn from(socket: Socket) -> Transport {
        Transport::Plain(socket)
    }
}

impl Transport {
    /// Answers a client's TLS handshake, after its request for TLS was read. `read_ahead` are the
    /// bytes that came behind that request: some clients send both at once.
    ///
    /// # Errors
    /// The handshake's ([`net::tls::explain`] words it); the connection is closed then. One of
    /// kind [`io::ErrorKind::InvalidInput`] when this is not plain.
    pub async fn accept_tls(
        self,
        acceptor: &TlsAcceptor,
        read_ahead: &[u8],
    ) -> io::Result<Transport> {
        let stream = tls::accept(acceptor, self.into_plain()?, read_ahead).await?;
        Ok(Transport::Tls(Box::new(stream)))
    }

    /// Makes the TLS handshake with a backend, after our request for TLS was flushed.
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

    /// From now on packets travel in compressed frames, after the OK that ends the login was
    /// flushed or read. `read_ahead` are bytes that came behind that packet.
    pub fn compress(self, codec: Codec, read_ahead: &[u8]) -> Transport {
        Transport::Compressed(Box::new(Compressed::new(self, codec, read_ahead)))
    }

    /// The next byte written begins a command. To be called before each, for a compressed
    /// connection to a backend counts its frames anew with every command; otherwise it does
    /// nothing. Commands sent without waiting for replies each need it.
    #[inline]
    pub fn begin_command(&mut self) {
        if let Transport::Compressed(compressed) = self {
            compressed.begin_command();
        }
    }

    /// The number of the next frame, on a compressed connection: the first packet in it must have
    /// the same. Everything before must have been flushed.
    #[inline]
    pub fn frame_sequence(&self) -> Option<u8> {
        match self {
            Transport::Compressed(compressed) => Some(compressed.next_sequence()),
            Transport::Plain(_) | Transport::Tls(_) | Transport::Gone => None,
        }
    }

    /// The socket beneath; `None` when it has been moved elsewhere.
    pub fn socket(&self) -> Option<&Socket> {
        match self {
            Transport::Plain(socket) => Some(socket),
            Transport::Tls(stream) => Some(stream.get_ref().0),
            Transport::Compressed(compressed) => compressed.inner().socket(),
            Transport::Gone => None,
        }
    }

    /// Who could listen in.
    pub fn privacy(&self) -> Privacy {
        match self.socket() {
            _ if self.tls().is_some() => Privacy::Tls,
            Some(Socket::Unix(_)) => Privacy::Local,
            Some(Socket::Tcp(_) | Socket::Memory(_)) | None => Privacy::Open,
        }
    }

    /// What TLS has agreed on; `None` without it.
    pub fn tls(&self) -> Option<Facts> {
        match self {
            Transport::Plain(_) | Transport::Gone => None,
            Transport::Tls(stream) => Facts::of(stream.get_ref().1),
            Transport::Compressed(compressed) => compressed.inner().tls(),
        }
    }

    /// Memory that compression takes for this connection now.
    pub fn held_bytes(&self) -> usize {
        match self {
            Transport::Compressed(compressed) => compressed.held_bytes(),
            Transport::Plain(_) | Transport::Tls(_) | Transport::Gone => 0,
        }
    }

    /// Reads for a reader that can do nothing with less than `wanted` bytes: compressed frames are not unpacked before they have
    /// so many. What comes without compression is given at once.
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

    /// Closes so that what was sent last arrives: a socket that is closed with bytes unread sends a
    /// reset, and a reset overtakes what the other side has not read yet. So what still comes is
    /// read and thrown away until the other side closes, too. The caller bounds the time.
    ///
    /// # Errors
    /// The kernel's or TLS's: the other side is gone.
    pub async fn close(&mut self) -> io::Result<()> {
        self.shutdown().await?;
        let below = match self {
            // What is thrown away is not unpacked before.
            Transport::Compressed(compressed) => compressed.inner_mut(),
            other => other,
        };
        let mut thrown_away = [0; 4096];
        while below.read(&mut thrown_away).await? > 0 {}
        Ok(())
    }

    /// Closes at once, without a farewell: see [`Socket::abort`].
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

    /// The socket itself, if its bytes are the packets.
    ///
    /// # Errors
    /// One of kind [`io::ErrorKind::InvalidInput`] when this is not plain.
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

/// Many clients close without TLS's own farewell. Packets carry their lengths and sessions their
/// COM_QUIT, so that a cut is noticed above all the same: here it is an end like any other.
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
