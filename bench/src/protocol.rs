//! As much of the MySQL protocol as a benchmark needs, for both ends of a connection.
//! Written apart from the `wire` crate on purpose: the ruler shares no code with what it measures.
//! Packets here stay far below 16 MiB, so a packet is a payload.

/// Bytes of a packet's header: three of length, one sequence id.
pub const HEADER_BYTES: usize = 4;

/// Capability flags of the login (protocol page "Capabilities Flags").
pub mod capability {
    pub const LONG_PASSWORD: u32 = 1;
    pub const FOUND_ROWS: u32 = 1 << 1;
    pub const LONG_FLAG: u32 = 1 << 2;
    pub const CONNECT_WITH_DB: u32 = 1 << 3;
    pub const COMPRESS: u32 = 1 << 5;
    pub const PROTOCOL_41: u32 = 1 << 9;
    pub const SSL: u32 = 1 << 11;
    pub const TRANSACTIONS: u32 = 1 << 13;
    pub const SECURE_CONNECTION: u32 = 1 << 15;
    pub const MULTI_STATEMENTS: u32 = 1 << 16;
    pub const MULTI_RESULTS: u32 = 1 << 17;
    pub const PLUGIN_AUTH: u32 = 1 << 19;
    pub const CONNECT_ATTRS: u32 = 1 << 20;
    pub const SESSION_TRACK: u32 = 1 << 23;
    pub const DEPRECATE_EOF: u32 = 1 << 24;
}

/// First bytes of commands.
pub mod command {
    pub const QUIT: u8 = 0x01;
    pub const INIT_DB: u8 = 0x02;
    pub const QUERY: u8 = 0x03;
    pub const PING: u8 = 0x0e;
    pub const CHANGE_USER: u8 = 0x11;
    pub const STMT_PREPARE: u8 = 0x16;
    pub const STMT_EXECUTE: u8 = 0x17;
    pub const STMT_CLOSE: u8 = 0x19;
    pub const RESET_CONNECTION: u8 = 0x1f;
}

/// Column types of the binary protocol that appear here.
pub mod column_type {
    pub const LONG: u8 = 0x03;
    pub const LONGLONG: u8 = 0x08;
    pub const STRING: u8 = 0xfe;
}

/// Whether result sets end with an EOF packet or, as CLIENT_DEPRECATE_EOF has it, with an OK packet
/// under the EOF header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EofStyle {
    Classic,
    Deprecated,
}

impl EofStyle {
    /// What two sides that both (or not both) offered CLIENT_DEPRECATE_EOF use.
    pub fn negotiated(capabilities: u32) -> Self {
        match capabilities & capability::DEPRECATE_EOF {
            0 => Self::Classic,
            _ => Self::Deprecated,
        }
    }
}

/// Writes one packet whose payload `write` appends.
pub fn frame(out: &mut Vec<u8>, sequence: u8, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, sequence]);
    write(out);
    let length = (out.len() - start - HEADER_BYTES) as u32;
    out[start..start + 3].copy_from_slice(&length.to_le_bytes()[..3]);
}

/// A whole packet found at the beginning of a buffer.
#[derive(Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    pub sequence: u8,
    pub payload: &'a [u8],
}

impl Packet<'_> {
    /// Bytes of the packet including its header.
    pub fn wire_bytes(&self) -> usize {
        HEADER_BYTES + self.payload.len()
    }
}

/// The first packet of `bytes`, or nothing while it is incomplete.
pub fn first_packet(bytes: &[u8]) -> Option<Packet<'_>> {
    let header = bytes.first_chunk::<HEADER_BYTES>()?;
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
    let payload = bytes.get(HEADER_BYTES..HEADER_BYTES + length)?;
    Some(Packet {
        sequence: header[3],
        payload,
    })
}

/// Appends a length-encoded string.
pub fn put_string(out: &mut Vec<u8>, text: &[u8]) {
    match text.len() {
        length @ 0..=250 => out.push(length as u8),
        length => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
    }
    out.extend_from_slice(text);
}

/// A length-encoded integer at the beginning of `bytes` and what follows it.
pub fn take_integer(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    let width = match first {
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        0xfb | 0xff => return None,
        small => return Some((u64::from(small), rest)),
    };
    let (digits, rest) = rest.split_at_checked(width)?;
    let value = digits
        .iter()
        .rev()
        .fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    Some((value, rest))
}

/// A length-encoded string at the beginning of `bytes` and what follows it.
pub fn take_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = take_integer(bytes)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_framed_payload_is_found_again_and_no_prefix_of_it_is() {
        let mut bytes = Vec::new();
        frame(&mut bytes, 7, |out| put_string(out, &[b'x'; 300]));
        for length in 0..bytes.len() {
            assert_eq!(first_packet(&bytes[..length]), None);
        }
        let packet = first_packet(&bytes).expect("it is whole");
        assert_eq!((packet.sequence, packet.wire_bytes()), (7, bytes.len()));
        assert_eq!(
            take_string(packet.payload),
            Some((&[b'x'; 300][..], &[][..]))
        );
    }

    #[test]
    fn integers_of_each_width_are_read() {
        assert_eq!(take_integer(&[250]), Some((250, &[][..])));
        assert_eq!(take_integer(&[0xfc, 1, 2]), Some((0x201, &[][..])));
        assert_eq!(take_integer(&[0xfd, 1, 2, 3]), Some((0x30201, &[][..])));
        assert_eq!(
            take_integer(&[0xfe, 1, 0, 0, 0, 0, 0, 0, 1]),
            Some((1 << 56 | 1, &[][..]))
        );
        assert_eq!(take_integer(&[0xfc, 1]), None);
    }
}
