//! The client's side of the handshake (protocol pages "Protocol::SSLRequest" and
//! "Protocol::HandshakeResponse41").

use crate::capability::Capabilities;
use crate::greeting::{extended_on_wire, up_to_nul, with_extended};
use crate::read::{Malformed, Reader};
use crate::write::{put_lenenc, put_lenenc_bytes, put_nul_terminated};

/// Bytes of an SSLRequest, and of the part that every handshake response begins with.
pub const SSL_REQUEST_BYTES: usize = 32;

/// The fault of a handshake response in the protocol from before 4.1.
pub const PROTOCOL_40: Malformed = Malformed::Invalid("client capabilities (protocol 4.0)");

const FILLER_BYTES: usize = 19;
const EXTENDED_AT: usize = 28;

/// The fixed part: the whole of an SSLRequest, the beginning of a handshake response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandshakeHead {
    /// The capabilities that the client will use.
    pub capabilities: Capabilities,
    /// The longest payload that the client wants, in bytes.
    pub packet_bytes_max: u32,
    /// The connection's collation id (lower 8 bits).
    pub collation: u8,
}

impl HandshakeHead {
    /// Decodes the first 32 bytes of a 4.1 payload.
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        Self::read(&mut Reader::new(payload))
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let protocol = reader.u32("client capabilities")?;
        if !Capabilities::from_parts(protocol, 0).contains(Capabilities::PROTOCOL_41) {
            return Err(PROTOCOL_40);
        }
        let packet_bytes_max = reader.u32("maximum packet size")?;
        let collation = reader.u8("collation")?;
        reader.bytes(FILLER_BYTES, "filler")?;
        let extended = reader.u32("extended capabilities")?;
        Ok(Self {
            capabilities: with_extended(protocol, extended),
            packet_bytes_max,
            collation,
        })
    }

    /// Appends the 32 bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.capabilities.lower().to_le_bytes());
        out.extend_from_slice(&self.packet_bytes_max.to_le_bytes());
        out.push(self.collation);
        out.extend_from_slice(&[0; FILLER_BYTES]);
        out.extend_from_slice(&extended_on_wire(self.capabilities).to_le_bytes());
    }
}

/// A client's answer to the greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandshakeResponse<'a> {
    /// The fixed part.
    pub head: HandshakeHead,
    /// The account's user name.
    pub user: &'a [u8],
    /// The plugin's first answer.
    pub auth_response: &'a [u8],
    /// The first schema.
    pub schema: Option<&'a [u8]>,
    /// The plugin that made `auth_response`.
    pub plugin: Option<&'a [u8]>,
    /// Connection attributes: pairs of length-encoded strings, not decoded.
    pub attributes: Option<&'a [u8]>,
    /// zstd level, 1 to 22.
    pub zstd_level: Option<u8>,
    /// The bytes after all known fields; kept, so that nothing unknown is lost.
    pub trailing: &'a [u8],
}

impl<'a> HandshakeResponse<'a> {
    /// Decodes a payload. Like the servers, it accepts the last strings without their NUL.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let head = HandshakeHead::read(&mut reader)?;
        Self::read(head, reader)
    }

    /// Decodes the payload that follows an SSLRequest. The request's capabilities count, not those that
    /// the payload repeats: the servers do so (`parse_client_handshake_packet`), and some clients
    /// send different capabilities in the two packets.
    pub fn decode_behind(request: &HandshakeHead, payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let head = HandshakeHead::read(&mut reader)?;
        Self::read(
            HandshakeHead {
                capabilities: request.capabilities,
                ..head
            },
            reader,
        )
    }

    fn read(head: HandshakeHead, mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let has = |flag| head.capabilities.contains(flag);
        let user = reader.until_nul("user name")?;
        let auth_response = if has(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            reader.lenenc_bytes("authentication response")?
        } else if has(Capabilities::SECURE_CONNECTION) {
            let length = reader.u8("authentication response length")?;
            reader.bytes(usize::from(length), "authentication response")?
        } else {
            reader.until_nul("authentication response")?
        };
        let schema = optional_string(&mut reader, has(Capabilities::CONNECT_WITH_DB));
        let plugin = optional_string(&mut reader, has(Capabilities::PLUGIN_AUTH));
        let attributes = match has(Capabilities::CONNECT_ATTRS) && !reader.is_empty() {
            true => Some(reader.lenenc_bytes("connection attributes")?),
            false => None,
        };
        let zstd_level = match has(Capabilities::ZSTD_COMPRESSION_ALGORITHM) && !reader.is_empty() {
            true => Some(reader.u8("zstd level")?),
            false => None,
        };
        let trailing = reader.remainder();
        Ok(Self {
            head,
            user,
            auth_response,
            schema,
            plugin,
            attributes,
            zstd_level,
            trailing,
        })
    }

    /// Appends the payload, in the layout that `self.head.capabilities` requires.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let has = |flag| self.head.capabilities.contains(flag);
        self.head.encode(out);
        put_nul_terminated(out, self.user);
        if has(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            put_lenenc_bytes(out, self.auth_response);
        } else if has(Capabilities::SECURE_CONNECTION) {
            let length = self.auth_response.len().min(255);
            out.push(length as u8);
            out.extend_from_slice(&self.auth_response[..length]);
        } else {
            put_nul_terminated(out, self.auth_response);
        }
        if has(Capabilities::CONNECT_WITH_DB) {
            put_nul_terminated(out, self.schema.unwrap_or_default());
        }
        if has(Capabilities::PLUGIN_AUTH) {
            put_nul_terminated(out, self.plugin.unwrap_or_default());
        }
        if has(Capabilities::CONNECT_ATTRS) {
            put_lenenc(out, self.attributes.unwrap_or_default().len() as u64);
            out.extend_from_slice(self.attributes.unwrap_or_default());
        }
        if has(Capabilities::ZSTD_COMPRESSION_ALGORITHM) {
            out.push(self.zstd_level.unwrap_or(3));
        }
        out.extend_from_slice(self.trailing);
    }
}

/// A string that ends at its NUL or at the payload's end, as the servers read it.
fn optional_string<'a>(reader: &mut Reader<'a>, present: bool) -> Option<&'a [u8]> {
    if !present || reader.is_empty() {
        return None;
    }
    let text = up_to_nul(reader.rest());
    let taken = (text.len() + 1).min(reader.rest().len());
    reader.bytes(taken, "string").ok()?;
    Some(text)
}

/// Overwrites the capability flags of an encoded SSLRequest or handshake response.
///
/// Use it only for flags that do not change the layout. A payload shorter than 32 bytes stays unchanged.
pub fn patch_capabilities(payload: &mut [u8], capabilities: Capabilities) {
    if payload.len() >= SSL_REQUEST_BYTES {
        payload[..4].copy_from_slice(&capabilities.lower().to_le_bytes());
        payload[EXTENDED_AT..SSL_REQUEST_BYTES]
            .copy_from_slice(&extended_on_wire(capabilities).to_le_bytes());
    }
}

#[cfg(test)]
mod tests;
