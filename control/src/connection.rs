//! A connection of the control plane to a backend: it reads and writes whole, small payloads.

use std::time::Duration;

use auth::Privacy;
use net::proxy_protocol::{Header as ProxyHeader, encode_v2};
use net::tls::{ClientTls, explain};
use net::{Endpoint, Socket};
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, WriteHalf, join, sink, split,
};
use wire::write::put_packets;
use wire::{Command, HEADER_BYTES, Header};

use crate::failure::Failure;

/// The longest payload read, in bytes: a greeting has about a hundred, an ERR packet 512 and some,
/// a public key a few thousand.
const PAYLOAD_BYTES_MAX: usize = 16 * 1024;

/// A byte stream in both directions, encrypted or not.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A connection to a backend.
pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    /// The sequence id of the next packet.
    sequence: u8,
    privacy: Privacy,
    /// The server's version in its greeting, printable in a log; empty before the greeting.
    pub version: String,
    /// The server's id of this connection, from its greeting.
    pub thread_id: u32,
}

/// Writes packets of a connection while another task reads from the connection.
pub struct PacketWriter {
    half: WriteHalf<Box<dyn Stream>>,
}

impl PacketWriter {
    pub(crate) async fn write_payload(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
        put_packets(&mut bytes, 0, payload);
        self.half.write_all(&bytes).await?;
        Ok(self.half.flush().await?)
    }
}

impl Connection {
    /// Connects within `timeout`; `header` says whether a PROXY header comes first.
    pub(crate) async fn open(
        endpoint: &route::Endpoint,
        header: config::ProxyProtocolSend,
        timeout: Duration,
    ) -> Result<Connection, Failure> {
        let endpoint = match endpoint {
            route::Endpoint::Tcp(address) => Endpoint::Tcp(*address),
            route::Endpoint::Unix(path) => Endpoint::Unix(path.clone()),
        };
        let mut socket = Socket::connect(&endpoint, timeout).await?;
        if header == config::ProxyProtocolSend::V2 {
            let mut bytes = Vec::new();
            encode_v2(&ProxyHeader::Own, &mut bytes);
            socket.write_all(&bytes).await?;
        }
        Ok(Connection {
            stream: Box::new(socket),
            sequence: 0,
            privacy: match endpoint {
                Endpoint::Tcp(_) => Privacy::Open,
                Endpoint::Unix(_) => Privacy::Local,
            },
            version: String::new(),
            thread_id: 0,
        })
    }

    /// A connection over a stream that is already logged in.
    pub(crate) fn over(stream: Box<dyn Stream>, version: String) -> Connection {
        Connection {
            stream,
            sequence: 0,
            privacy: Privacy::Local,
            version,
            thread_id: 0,
        }
    }

    /// The same connection with a read buffer of this size, for many small packets in a row.
    pub(crate) fn buffered(self, bytes: usize) -> Connection {
        Connection {
            stream: Box::new(BufReader::with_capacity(bytes, self.stream)),
            ..self
        }
    }

    /// Splits off the writing half. Anything that the connection itself writes from then on is discarded.
    pub(crate) fn with_writer(self) -> (Connection, PacketWriter) {
        let (reader, half) = split(self.stream);
        let connection = Connection {
            stream: Box::new(join(reader, sink())),
            ..self
        };
        (connection, PacketWriter { half })
    }

    /// Who could listen on the connection; this decides how a password may pass.
    pub(crate) fn privacy(&self) -> Privacy {
        self.privacy
    }

    /// Continues over TLS; `host` is the backend's name.
    pub(crate) async fn encrypted(
        self,
        tls: &ClientTls,
        host: &str,
    ) -> Result<Connection, Failure> {
        let name = tls.server_name(host);
        let name = name.map_err(|error| Failure::Tls(error.to_string()))?;
        let shaken = tls.connector().connect(name, self.stream).await;
        let stream = shaken.map_err(|error| Failure::Tls(explain(&error)))?;
        Ok(Connection {
            stream: Box::new(stream),
            sequence: self.sequence,
            privacy: Privacy::Tls,
            version: self.version,
            thread_id: self.thread_id,
        })
    }

    /// Reads the next payload; `item` names the payload in the error if the backend closes too early.
    pub(crate) async fn read(&mut self, item: &'static str) -> Result<Vec<u8>, Failure> {
        self.read_within(item, PAYLOAD_BYTES_MAX).await
    }

    /// As [`Connection::read`], for a payload of up to `bytes_max` bytes, which must be less than the
    /// longest packet.
    pub(crate) async fn read_within(
        &mut self,
        item: &'static str,
        bytes_max: usize,
    ) -> Result<Vec<u8>, Failure> {
        let mut header = [0; HEADER_BYTES];
        self.fill(&mut header, item).await?;
        let header = Header::decode(header);
        if header.sequence != self.sequence || header.length > bytes_max {
            return Err(Failure::NotMysql(format!("what it sent is not {item}")));
        }
        self.sequence = header.sequence.wrapping_add(1);
        let mut payload = vec![0; header.length];
        self.fill(&mut payload, item).await?;
        Ok(payload)
    }

    /// Appends the next packet's payload, up to `bytes_max` bytes, and returns its length. A packet of
    /// [`wire::PACKET_PAYLOAD_MAX`] bytes is continued by the next packet.
    pub(crate) async fn append_packet(
        &mut self,
        bytes: &mut Vec<u8>,
        bytes_max: usize,
    ) -> Result<usize, Failure> {
        let mut header = [0; HEADER_BYTES];
        self.fill(&mut header, "a packet").await?;
        let header = Header::decode(header);
        if header.sequence != self.sequence {
            return Err(Failure::NotMysql("its packets are not in order".to_owned()));
        }
        if header.length > bytes_max {
            let text = format!("it sends a packet that is longer than {bytes_max} bytes");
            return Err(Failure::NotMysql(text));
        }
        self.sequence = header.sequence.wrapping_add(1);
        let before = bytes.len();
        bytes.resize(before + header.length, 0);
        let packet = bytes.get_mut(before..).unwrap_or_default();
        self.fill(packet, "the end of a packet").await?;
        Ok(header.length)
    }

    /// Expects sequence id 1 next: the first packet of a reply to a packet that a [`PacketWriter`] sent.
    pub(crate) fn expect_reply(&mut self) {
        self.sequence = 1;
    }

    /// Sends a command.
    pub(crate) async fn send_command(&mut self, payload: &[u8]) -> Result<(), Failure> {
        self.sequence = 0;
        self.write(payload).await
    }

    async fn fill(&mut self, bytes: &mut [u8], item: &'static str) -> Result<(), Failure> {
        match self.stream.read_exact(bytes).await {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(Failure::Closed(item))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a payload.
    pub(crate) async fn write(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
        self.sequence = put_packets(&mut bytes, self.sequence, payload);
        self.stream.write_all(&bytes).await?;
        Ok(self.stream.flush().await?)
    }

    /// Sends a statement; returns the reply's first payload, which is all of it for OK and ERR.
    pub(crate) async fn execute(&mut self, statement: &str) -> Result<Vec<u8>, Failure> {
        self.command(Command::QUERY, statement).await?;
        self.read("a reply").await
    }

    /// Sends several statements in one write. Each one's reply begins with [`Connection::reply`].
    pub(crate) async fn send_all(&mut self, statements: &[&str]) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        for statement in statements {
            let mut payload = vec![Command::QUERY.0];
            payload.extend_from_slice(statement.as_bytes());
            put_packets(&mut bytes, 0, &payload);
        }
        self.stream.write_all(&bytes).await?;
        Ok(self.stream.flush().await?)
    }

    /// The first payload of the reply to the next of several statements.
    pub(crate) async fn reply(&mut self) -> Result<Vec<u8>, Failure> {
        self.expect_reply();
        self.read("a reply").await
    }

    /// Sends COM_QUIT and closes. If a client closes without it, the server's log counts the connection as
    /// aborted.
    pub(crate) async fn quit(mut self) {
        // The connection is closed in any case, so an error does not matter.
        let _ = self.command(Command::QUIT, "").await;
        let _ = self.stream.shutdown().await;
    }

    async fn command(&mut self, command: Command, argument: &str) -> Result<(), Failure> {
        let mut payload = vec![command.0];
        payload.extend_from_slice(argument.as_bytes());
        self.send_command(&payload).await
    }
}
