//! The packet header: three bytes of length, one of sequence id (protocol page "MySQL Packets").

/// Bytes of a packet header.
pub const HEADER_BYTES: usize = 4;

/// The longest payload of one packet, in bytes. A packet of exactly this length is continued by another packet.
pub const PACKET_PAYLOAD_MAX: usize = 0xff_ffff;

/// A packet's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Payload bytes that follow, at most [`PACKET_PAYLOAD_MAX`].
    pub length: usize,
    /// Position within the exchange, modulo 256.
    pub sequence: u8,
}

impl Header {
    /// Reads a header.
    pub fn decode(bytes: [u8; HEADER_BYTES]) -> Self {
        let [a, b, c, sequence] = bytes;
        Self {
            length: u32::from_le_bytes([a, b, c, 0]) as usize,
            sequence,
        }
    }

    /// Writes a header. A length above [`PACKET_PAYLOAD_MAX`] is the caller's mistake, and is truncated.
    pub fn encode(self) -> [u8; HEADER_BYTES] {
        debug_assert!(self.length <= PACKET_PAYLOAD_MAX);
        let [a, b, c, ..] = (self.length as u32).to_le_bytes();
        [a, b, c, self.sequence]
    }

    /// Whether another packet continues this payload.
    pub fn is_continued(self) -> bool {
        self.length == PACKET_PAYLOAD_MAX
    }
}

#[cfg(test)]
mod tests;
