//! A connection's bytes as payloads, and replies on their way out.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use wire::{HEADER_BYTES, Header, PACKET_PAYLOAD_MAX};

/// How much is read at once.
const PIECE_BYTES: usize = 16 * 1024;

/// Why there is no payload.
#[derive(Debug)]
pub enum NoPayload {
    /// The client has closed the connection, or it broke.
    Closed,
    /// The sequence id is not the one that was due.
    OutOfOrder,
    /// It is longer than max_allowed_packet.
    TooLarge,
}

/// The stream of a connection.
#[derive(Debug)]
pub struct Packets<S> {
    stream: S,
    input: Vec<u8>,
    /// How much of the input was handed out.
    taken: usize,
    bytes_max: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Packets<S> {
    /// A stream of which nothing was read.
    pub fn new(stream: S, bytes_max: usize) -> Self {
        Self {
            stream,
            input: Vec::with_capacity(1024),
            taken: 0,
            bytes_max,
        }
    }

    /// Reads a payload whose first packet has this sequence id. Gives the payload's place in the input, and the
    /// sequence id that follows.
    pub async fn read(&mut self, sequence: u8, payload: &mut Vec<u8>) -> Result<u8, NoPayload> {
        payload.clear();
        let mut due = sequence;
        loop {
            let header = self.header().await?;
            if header.sequence != due {
                return Err(NoPayload::OutOfOrder);
            }
            due = due.wrapping_add(1);
            if payload.len() + header.length > self.bytes_max {
                return Err(NoPayload::TooLarge);
            }
            self.fill(HEADER_BYTES + header.length).await?;
            let start = self.taken + HEADER_BYTES;
            payload.extend_from_slice(&self.input[start..start + header.length]);
            self.taken = start + header.length;
            if header.length < PACKET_PAYLOAD_MAX {
                return Ok(due);
            }
        }
    }

    async fn header(&mut self) -> Result<Header, NoPayload> {
        self.fill(HEADER_BYTES).await?;
        let bytes = self.input[self.taken..].first_chunk::<HEADER_BYTES>();
        bytes.map(|it| Header::decode(*it)).ok_or(NoPayload::Closed)
    }

    /// Waits until so many bytes are there.
    async fn fill(&mut self, bytes: usize) -> Result<(), NoPayload> {
        while self.input.len() - self.taken < bytes {
            if self.taken > 0 {
                self.input.drain(..self.taken);
                self.taken = 0;
            }
            self.input.reserve(PIECE_BYTES.min(bytes.max(1024)));
            let read = self.stream.read_buf(&mut self.input).await;
            if read.unwrap_or(0) == 0 {
                return Err(NoPayload::Closed);
            }
        }
        Ok(())
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// When the client has closed.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// Closes the side to the client.
    pub async fn close(&mut self) {
        // It is gone anyway.
        let _ = self.stream.shutdown().await;
    }
}
