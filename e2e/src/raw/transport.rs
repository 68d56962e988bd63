//! The transport of the packets: a TCP or Unix socket, TLS over it if requested, compression over that if negotiated.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::login::Compress;
use crate::wait;

/// Where to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// IPv4 or IPv6.
    Tcp(SocketAddr),
    /// A Unix socket's path.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl From<PathBuf> for Address {
    fn from(path: PathBuf) -> Self {
        Self::Unix(path)
    }
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn duplicate(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
enum Stream {
    Plain(Socket),
    Tls(Box<StreamOwned<ClientConnection, Socket>>),
}

impl Stream {
    fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => &stream.sock,
        }
    }
}

/// The stack of socket, TLS and compression.
#[derive(Debug)]
pub(super) struct Transport {
    stream: Stream,
    compression: Option<Compression>,
    inbox: Vec<u8>,
    taken: usize,
}

#[derive(Debug)]
struct Compression {
    how: Compress,
    sequence: u8,
}

impl Transport {
    pub(super) fn connect(address: &Address) -> io::Result<Self> {
        let socket = match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, wait::SOON)?;
                stream.set_nodelay(true)?;
                Socket::Tcp(stream)
            }
            Address::Unix(path) => Socket::Unix(UnixStream::connect(path)?),
        };
        let mut transport = Self {
            stream: Stream::Plain(socket),
            compression: None,
            inbox: Vec::new(),
            taken: 0,
        };
        transport.patience(wait::SOON);
        Ok(transport)
    }

    /// Frees the read buffer if all of its bytes were read, as between replies.
    pub(super) fn free_buffers(&mut self) {
        if self.taken == self.inbox.len() {
            (self.inbox, self.taken) = (Vec::new(), 0);
        }
    }

    pub(super) fn is_unix(&self) -> bool {
        matches!(self.stream.socket(), Socket::Unix(_))
    }

    pub(super) fn patience(&mut self, limit: Duration) {
        let result = match self.stream.socket() {
            Socket::Tcp(stream) => stream.set_read_timeout(Some(limit)),
            Socket::Unix(stream) => stream.set_read_timeout(Some(limit)),
        };
        result.expect("the timeout is not zero");
    }

    /// True when bytes can be read, from here or from the socket, within this time.
    pub(super) fn wait_readable(&self, limit: Duration) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        if self.taken < self.inbox.len() {
            return true;
        }
        let limit = Timespec::try_from(limit).expect("it is short");
        let mut sockets = [match self.stream.socket() {
            Socket::Tcp(stream) => PollFd::new(stream, PollFlags::IN),
            Socket::Unix(stream) => PollFd::new(stream, PollFlags::IN),
        }];
        poll(&mut sockets, Some(&limit)).is_ok_and(|ready| ready > 0)
    }

    pub(super) fn shut_down(&mut self, how: Shutdown) {
        // This fails if the server has already closed the connection, which is fine.
        let _ = match self.stream.socket() {
            Socket::Tcp(stream) => stream.shutdown(how),
            Socket::Unix(stream) => stream.shutdown(how),
        };
    }

    /// Puts TLS between the socket and what follows.
    pub(super) fn start_tls(&mut self, config: ClientConfig) -> io::Result<()> {
        let name = ServerName::try_from("localhost").expect("it is a name");
        let mut session =
            ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
        let mut socket = self.stream.socket().duplicate()?;
        while session.is_handshaking() {
            session.complete_io(&mut socket)?;
        }
        self.stream = Stream::Tls(Box::new(StreamOwned::new(session, socket)));
        Ok(())
    }

    /// Puts compression between the stream and what follows.
    pub(super) fn start_compression(&mut self, how: Compress) {
        self.compression = Some(Compression { how, sequence: 0 });
    }

    /// A new command: frames are counted from 0 again.
    pub(super) fn start_command(&mut self) {
        if let Some(compression) = &mut self.compression {
            compression.sequence = 0;
        }
    }

    /// Writes past the compression.
    pub(super) fn write_beneath(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.compression {
            None => self.stream.write_all(bytes)?,
            Some(compression) => {
                for part in bytes.chunks(compression.how.frame_bytes_max) {
                    let frame = compression.frame(part)?;
                    self.stream.write_all(&frame)?;
                }
            }
        }
        self.stream.flush()
    }

    pub(super) fn read_exact(&mut self, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            let count = self.read(buffer)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            buffer = &mut buffer[count..];
        }
        Ok(())
    }

    /// Reads some bytes; 0 when the server has closed.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.inbox.len() {
            self.refill()?;
        }
        let count = buffer.len().min(self.inbox.len() - self.taken);
        buffer[..count].copy_from_slice(&self.inbox[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }

    /// The number of the compressed frame that the next byte begins, if it begins one. Waits for
    /// that byte.
    pub(super) fn frame_in_front(&mut self) -> io::Result<Option<u8>> {
        if self.taken == self.inbox.len() {
            self.refill()?;
        }
        let frame = self
            .compression
            .as_ref()
            .map(|it| it.sequence.wrapping_sub(1));
        Ok(frame.filter(|_| self.taken == 0 && !self.inbox.is_empty()))
    }

    pub(super) fn is_compressed(&self) -> bool {
        self.compression.is_some()
    }

    fn refill(&mut self) -> io::Result<()> {
        self.taken = 0;
        if let Some(compression) = &mut self.compression {
            self.inbox.clear();
            while self.inbox.is_empty() {
                match compression.read_frame(&mut self.stream)? {
                    Some(bytes) => self.inbox = bytes,
                    None => return Ok(()),
                }
            }
            return Ok(());
        }
        self.inbox.resize(64 * 1024, 0);
        let count = self.stream.read(&mut self.inbox);
        self.inbox.truncate(*count.as_ref().unwrap_or(&0));
        count.map(|_| ())
    }
}

impl Compression {
    /// One frame: compressed length, sequence, length before compression (0: stored as it is).
    fn frame(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let squeezed = if bytes.len() < 50 {
            None
        } else {
            Some(self.squeeze(bytes)?)
        };
        let (body, whole) = match &squeezed {
            Some(squeezed) if squeezed.len() < bytes.len() => (&squeezed[..], bytes.len()),
            _ => (bytes, 0),
        };
        let mut frame = Vec::with_capacity(body.len() + 7);
        frame.extend(&length3(body.len()));
        frame.push(self.sequence);
        frame.extend(&length3(whole));
        frame.extend(body);
        self.sequence = self.sequence.wrapping_add(1);
        Ok(frame)
    }

    fn squeeze(&self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        if self.how.zstd {
            return zstd::bulk::compress(bytes, 3);
        }
        let level = flate2::Compression::fast();
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
        encoder.write_all(bytes)?;
        encoder.finish()
    }

    /// None when the stream has ended between frames.
    fn read_frame(&mut self, stream: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
        let mut header = [0; 7];
        if stream.read(&mut header[..1])? == 0 {
            return Ok(None);
        }
        stream.read_exact(&mut header[1..])?;
        let number = |at: usize| {
            usize::from(header[at])
                | usize::from(header[at + 1]) << 8
                | usize::from(header[at + 2]) << 16
        };
        if header[3] != self.sequence {
            let text = format!("frame {}, expected {}", header[3], self.sequence);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        self.sequence = header[3].wrapping_add(1);
        let (length, whole) = (number(0), number(4));
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        if whole == 0 {
            return Ok(Some(body));
        }
        let bytes = if self.how.zstd {
            zstd::bulk::decompress(&body, whole)?
        } else {
            let mut bytes = Vec::with_capacity(whole);
            flate2::read::ZlibDecoder::new(&body[..]).read_to_end(&mut bytes)?;
            bytes
        };
        if bytes.len() != whole {
            let text = format!("a frame of {} bytes, {whole} announced", bytes.len());
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(Some(bytes))
    }
}

fn length3(length: usize) -> [u8; 3] {
    let bytes = u32::try_from(length).expect("at most 16 MiB").to_le_bytes();
    [bytes[0], bytes[1], bytes[2]]
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
