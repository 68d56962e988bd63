//! Whole payloads, one at a time, over a transport, as logins need them. The relay does not use
//! this, because it never holds a payload.

use std::io;
use std::sync::Arc;

use auth::Privacy;
use net::proxy_protocol;
use session::Sequences;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use wire::packet::{HEADER_BYTES, Header};

use crate::memory::{MemoryShare, Purpose};
use crate::transport::Transport;

/// The longest payload of a login, in bytes. Connection attributes are limited to 64 KiB by the
/// servers (`performance_schema_session_connect_attrs_size`); GSSAPI tokens are of the same order.
const LOGIN_PAYLOAD_BYTES_MAX: usize = 1 << 20;

const READ_BYTES: usize = 4096;

/// A transport during login, with the bytes that were read ahead and the next sequence id.
pub struct PacketStream<T = Transport> {
    /// `None` only after a failed upgrade.
    transport: Option<T>,
    /// Bytes that were read and not yet taken.
    buffer: Vec<u8>,
    /// The sequence id of the next packet in either direction.
    sequence: u8,
    sequences: Sequences,
    /// The share that counts the buffer.
    memory: Option<Arc<MemoryShare>>,
}

/// An error that can occur while the proxy waits for a packet.
#[derive(Debug, thiserror::Error)]
pub enum PacketError {
    /// The other side closed between two packets.
    #[error("connection closed")]
    Closed,
    /// The other side closed within a packet.
    #[error("connection closed within a packet")]
    Truncated,
    /// The sequence id does not follow the one before.
    #[error("packet out of order: sequence id {found} where {expected} belongs")]
    OutOfOrder {
        /// The sequence id that follows.
        expected: u8,
        /// The sequence id of the packet.
        found: u8,
    },
    /// Not a packet but a PROXY header, from a network that is not trusted.
    #[error("a PROXY header came from a network that is not in proxy_protocol.trusted_networks")]
    ProxyHeader,
    /// The process keeps as many bytes as it may.
    #[error("the proxy keeps as many bytes as it may (limits.memory_bytes_max)")]
    MemoryFull,
    /// The packet is far too long for a login.
    #[error("packet of {0} bytes is longer than {LOGIN_PAYLOAD_BYTES_MAX}")]
    TooLong(usize),
    /// An error of the kernel or of TLS.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl<T: AsyncRead + AsyncWrite + Unpin> PacketStream<T> {
    /// Returns a stream of packets over `transport`, the next of which has this sequence id.
    pub fn new(transport: T, sequence: u8) -> Self {
        Self {
            transport: Some(transport),
            buffer: Vec::new(),
            sequence,
            sequences: Sequences::Checked,
            memory: None,
        }
    }

    /// Counts the bytes that are read ahead in `memory`.
    pub fn counted_in(self, memory: &Arc<MemoryShare>) -> Self {
        Self {
            memory: Some(Arc::clone(memory)),
            ..self
        }
    }

    /// Accepts sequence ids as they come, and continues from there. Within compressed frames the
    /// ids have no meaning, see [`Sequences::Renumbered`].
    pub fn with_sequences(self, sequences: Sequences) -> Self {
        Self { sequences, ..self }
    }

    /// Adds bytes that were read before.
    pub fn with_ahead(self, ahead: Vec<u8>) -> Self {
        Self {
            buffer: ahead,
            ..self
        }
    }

    /// Returns the transport, unless an upgrade lost it, and the bytes that were read ahead.
    pub fn into_parts(self) -> Option<(T, Vec<u8>)> {
        let mut ahead = self.buffer;
        // These bytes are kept for the session's life.
        ahead.shrink_to_fit();
        if let Some(memory) = &self.memory {
            memory.keep(Purpose::Login, 0);
        }
        Some((self.transport?, ahead))
    }

    /// Waits for a payload. If the wait is cancelled, nothing is lost.
    pub async fn read(&mut self) -> Result<Vec<u8>, PacketError> {
        loop {
            if let Some(payload) = self.take_payload()? {
                return Ok(payload);
            }
            self.buffer.reserve(READ_BYTES);
            if let Some(memory) = &self.memory
                && !memory.keep(Purpose::Login, self.buffer.capacity())
            {
                return Err(PacketError::MemoryFull);
            }
            let transport = self.transport.as_mut().ok_or(PacketError::Closed)?;
            if transport.read_buf(&mut self.buffer).await? == 0 {
                return Err(match self.buffer.is_empty() {
                    true => PacketError::Closed,
                    false => PacketError::Truncated,
                });
            }
        }
    }

    /// Takes the next payload off the buffer, if it is whole. Login payloads fit into one packet.
    fn take_payload(&mut self) -> Result<Option<Vec<u8>>, PacketError> {
        let Some((header, rest)) = self.buffer.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let Header { length, sequence } = Header::decode(*header);
        let is_in_order = sequence == self.sequence || self.sequences == Sequences::Renumbered;
        if !is_in_order && proxy_protocol::begins_header(*header) {
            return Err(PacketError::ProxyHeader);
        }
        if !is_in_order {
            return Err(PacketError::OutOfOrder {
                expected: self.sequence,
                found: sequence,
            });
        }
        if length > LOGIN_PAYLOAD_BYTES_MAX {
            return Err(PacketError::TooLong(length));
        }
        let Some(payload) = rest.get(..length).map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        self.buffer.drain(..HEADER_BYTES + length);
        self.sequence = sequence.wrapping_add(1);
        Ok(Some(payload))
    }

    /// The sequence id of the next packet in either direction.
    pub fn next_sequence(&self) -> u8 {
        self.sequence
    }

    /// Sets the sequence id of the next packet in either direction: 0 begins a command.
    pub fn begin_at(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Sends packets with their headers, and waits until they are sent.
    pub async fn write_packets(&mut self, packets: &[u8]) -> io::Result<()> {
        let transport = self.transport.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        transport.write_all(packets).await?;
        transport.flush().await
    }

    /// Sends a payload, and waits until it is sent.
    pub async fn write(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(payload.len() + HEADER_BYTES);
        self.sequence = wire::write::put_packets(&mut bytes, self.sequence, payload);
        let transport = self.transport.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        transport.write_all(&bytes).await?;
        transport.flush().await
    }
}

impl PacketStream {
    /// Replaces the transport by what `upgrade` makes of it and of the bytes read ahead.
    pub async fn upgrade<F, Fut>(&mut self, upgrade: F) -> io::Result<()>
    where
        F: FnOnce(Transport, Vec<u8>) -> Fut,
        Fut: Future<Output = io::Result<Transport>>,
    {
        let transport = self.transport.take().ok_or(io::ErrorKind::NotConnected)?;
        let ahead = std::mem::take(&mut self.buffer);
        self.transport = Some(upgrade(transport, ahead).await?);
        Ok(())
    }

    /// Sends a last payload and closes, see [`Transport::close`].
    pub async fn finish_with(&mut self, payload: &[u8]) -> io::Result<()> {
        self.write(payload).await?;
        match &mut self.transport {
            Some(transport) => transport.close().await,
            None => Ok(()),
        }
    }

    /// Whether this is a backend that has sent its greeting and received nothing yet.
    pub fn awaits_first_answer(&self) -> bool {
        self.sequence == 1
    }

    /// Returns the local address of the connection; `None` if the transport was moved to another owner.
    pub fn local_address(&self) -> Option<net::Endpoint> {
        self.transport.as_ref()?.socket()?.local_address().ok()
    }

    /// Returns how private the connection is.
    pub fn privacy(&self) -> Privacy {
        match &self.transport {
            Some(transport) => transport.privacy(),
            None => Privacy::Open,
        }
    }

    /// Returns what TLS has agreed on; `None` without TLS.
    pub fn tls(&self) -> Option<net::tls::Facts> {
        self.transport.as_ref()?.tls()
    }
}

#[cfg(test)]
mod tests;
