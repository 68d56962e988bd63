//! The peer of the tested code: a scripted client, or a scripted server.

use std::io;

use link::packets::{PacketError, PacketStream};
use tokio::io::AsyncWriteExt;
use wire::{Capabilities, ErrPacket, Greeting, StatusFlags};

use crate::memory_network::End;

/// The payload of an OK packet whose fields are all zero.
pub const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// The capabilities of clients and servers in dialogues, unless a dialogue sets others.
pub const CAPABILITIES: Capabilities = Capabilities(
    Capabilities::PROTOCOL_41.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::CONNECT_WITH_DB.0
        | Capabilities::TRANSACTIONS.0
        | Capabilities::SESSION_TRACK.0,
);

/// The scramble of every scripted server.
pub const SCRAMBLE: &[u8] = b"abcdefghijklmnopqrst";

/// Returns the greeting of a scripted server.
pub fn greeting(thread_id: u32) -> Greeting {
    Greeting {
        version: b"5.5.5-10.11.14-MariaDB".to_vec(),
        thread_id,
        scramble: SCRAMBLE.to_vec(),
        capabilities: CAPABILITIES,
        collation: 45,
        status: StatusFlags::AUTOCOMMIT,
        plugin: b"mysql_native_password".to_vec(),
    }
}

/// Returns the payload of an ERR packet.
pub fn err(number: u16, text: &str) -> Vec<u8> {
    let mut payload = Vec::new();
    ErrPacket {
        number,
        sqlstate: Some(*b"HY000"),
        text: text.as_bytes(),
    }
    .encode(&mut payload);
    payload
}

/// Returns a payload with its packet header.
pub fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::write::put_packets(&mut bytes, sequence, payload);
    bytes
}

/// Returns a COM_QUERY packet with this text and its header.
pub fn query(text: &str) -> Vec<u8> {
    packet(0, &[b"\x03", text.as_bytes()].concat())
}

/// The way in which a connection has ended for a peer that reads from it.
#[derive(Debug, PartialEq, Eq)]
pub enum PeerEnd {
    /// The other side has closed between two packets.
    Closed,
    /// The other side has closed within a packet.
    Truncated,
    /// The other side has reset the connection.
    Reset,
}

/// A client or a server that a test scripts. The peer counts sequence ids itself.
pub struct Peer {
    stream: PacketStream<End>,
}

impl Peer {
    /// Returns the peer at this end of a connection.
    pub fn new(end: End) -> Self {
        Self {
            stream: PacketStream::new(end, 0),
        }
    }

    /// Sets the next sequence id: that of a command, or that of a reply.
    pub fn begin_at(&mut self, sequence: u8) {
        self.stream.begin_at(sequence);
    }

    /// Sends a payload.
    pub async fn send_payload(&mut self, payload: &[u8]) {
        self.stream.write(payload).await.unwrap();
    }

    /// Sends bytes without a packet header.
    pub async fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes).await.unwrap();
    }

    /// Sends bytes to a side that may have closed the connection.
    ///
    /// # Errors
    /// The other side has closed the connection.
    pub async fn try_send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_packets(bytes).await
    }

    /// Reads the next payload.
    pub async fn receive(&mut self) -> Vec<u8> {
        self.stream.read().await.unwrap()
    }

    /// Reads the next payload, or returns why there is none.
    ///
    /// # Errors
    /// The other side has closed, or breaks the protocol.
    pub async fn try_hear(&mut self) -> Result<Vec<u8>, PacketError> {
        self.stream.read().await
    }

    /// Sends a command and reads the first payload of its reply.
    pub async fn ask(&mut self, payload: &[u8]) -> Vec<u8> {
        self.begin_at(0);
        self.send_payload(payload).await;
        self.receive().await
    }

    /// Reads the next command, whose reply begins with sequence id 1.
    pub async fn receive_command(&mut self) -> Vec<u8> {
        self.begin_at(0);
        self.receive().await
    }

    /// Reads the next payload, which is an ERR, and returns its number and text.
    pub async fn receive_err(&mut self) -> (u16, String) {
        let payload = self.receive().await;
        let err = ErrPacket::decode(&payload);
        let err = err.unwrap_or_else(|_| panic!("no ERR, but {payload:?}"));
        (err.number, String::from_utf8_lossy(err.text).into_owned())
    }

    /// Waits for the end of the connection; nothing may come before it.
    pub async fn receive_end(&mut self) -> PeerEnd {
        match self.stream.read().await {
            Err(PacketError::Closed) => PeerEnd::Closed,
            Err(PacketError::Truncated) => PeerEnd::Truncated,
            Err(PacketError::Io(error)) if error.kind() == io::ErrorKind::ConnectionReset => {
                PeerEnd::Reset
            }
            other => panic!("no end, but {other:?}"),
        }
    }

    /// Closes the sending side. The peer can still read.
    pub async fn shut_down(self) -> End {
        let (mut end, _) = self.stream.into_parts().unwrap();
        end.shutdown().await.unwrap();
        end
    }

    /// Returns the end of the connection, for tests that read and write it byte by byte.
    pub fn into_end(self) -> End {
        self.stream.into_parts().unwrap().0
    }

    /// Sends a server's greeting.
    pub async fn send_greeting(&mut self, greeting: &Greeting) {
        let mut payload = Vec::new();
        greeting.encode(&mut payload);
        self.send_payload(&payload).await;
    }

    /// Reads the greeting of the other side.
    pub async fn receive_greeting(&mut self) -> Greeting {
        Greeting::decode(&self.receive().await).unwrap()
    }
}
