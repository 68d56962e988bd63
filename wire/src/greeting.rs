//! The server's greeting (protocol page "Protocol::HandshakeV10").

use crate::capability::Capabilities;
use crate::read::{Malformed, Reader};
use crate::status::StatusFlags;
use crate::write::put_nul_terminated;

/// Bytes of a scramble without its trailing NUL.
pub const SCRAMBLE_BYTES: usize = 20;

/// A greeting's first byte.
pub const PROTOCOL_VERSION: u8 = 10;

const SCRAMBLE_HEAD_BYTES: usize = 8;
const SCRAMBLE_TAIL_BYTES_MIN: usize = 13;

/// The first packet of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// The version text, for instance `9.7.0` or `5.5.5-10.11.14-MariaDB`.
    pub version: Vec<u8>,
    /// The connection's id, as in SHOW PROCESSLIST (its lower 32 bits).
    pub thread_id: u32,
    /// Authentication data, without its trailing NUL; 20 bytes from real servers.
    pub scramble: Vec<u8>,
    /// The server's capabilities.
    pub capabilities: Capabilities,
    /// The server's default collation id (lower 8 bits).
    pub collation: u8,
    /// Status flags before login.
    pub status: StatusFlags,
    /// The default authentication plugin; empty without PLUGIN_AUTH.
    pub plugin: Vec<u8>,
}

impl Greeting {
    /// Decodes a greeting's payload.
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8("protocol version")? != PROTOCOL_VERSION {
            return Err(Malformed::Invalid("protocol version"));
        }
        let version = reader.until_nul("server version")?.to_vec();
        let thread_id = reader.u32("thread id")?;
        let mut scramble = reader
            .bytes(SCRAMBLE_HEAD_BYTES, "scramble, first part")?
            .to_vec();
        reader.bytes(1, "filler")?;
        let lower = reader.u16("capabilities, lower half")?;
        let collation = reader.u8("collation")?;
        let status = StatusFlags(reader.u16("status flags")?);
        let upper = reader.u16("capabilities, upper half")?;
        let scramble_bytes = usize::from(reader.u8("scramble length")?);
        reader.bytes(6, "filler")?;
        let extended = reader.u32("extended capabilities")?;
        let protocol = u32::from(lower) | u32::from(upper) << 16;
        let capabilities = with_extended(protocol, extended);
        if capabilities.contains(Capabilities::SECURE_CONNECTION) {
            let tail = scramble_bytes
                .saturating_sub(SCRAMBLE_HEAD_BYTES)
                .max(SCRAMBLE_TAIL_BYTES_MIN);
            scramble.extend_from_slice(reader.bytes(tail, "scramble, second part")?);
            if scramble.last() == Some(&0) {
                scramble.pop();
            }
        }
        let plugin = match capabilities.contains(Capabilities::PLUGIN_AUTH) {
            // Some versions leave out the last NUL (MySQL bug 59453).
            true => up_to_nul(reader.remainder()).to_vec(),
            false => Vec::new(),
        };
        Ok(Self {
            version,
            thread_id,
            scramble,
            capabilities,
            collation,
            status,
            plugin,
        })
    }

    /// The scramble as the greeting carries it: with its trailing NUL under PLUGIN_AUTH.
    pub fn scramble_as_sent(&self) -> Vec<u8> {
        let mut scramble = self.scramble.clone();
        if self.capabilities.contains(Capabilities::PLUGIN_AUTH) {
            scramble.push(0);
        }
        scramble
    }

    /// Appends the payload. [`Greeting::decode`] returns the same value for scrambles of 20 to
    /// 254 bytes (8 without SECURE_CONNECTION). Shorter scrambles are filled up with NULs.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (lower, extended) = (
            self.capabilities.lower(),
            extended_on_wire(self.capabilities),
        );
        let (head, tail) = self
            .scramble
            .split_at(self.scramble.len().min(SCRAMBLE_HEAD_BYTES));
        out.push(PROTOCOL_VERSION);
        put_nul_terminated(out, &self.version);
        out.extend_from_slice(&self.thread_id.to_le_bytes());
        put_filled_up(out, head, SCRAMBLE_HEAD_BYTES);
        out.push(0);
        out.extend_from_slice(&(lower as u16).to_le_bytes());
        out.push(self.collation);
        out.extend_from_slice(&self.status.0.to_le_bytes());
        out.extend_from_slice(&((lower >> 16) as u16).to_le_bytes());
        out.push(self.scramble.len().saturating_add(1).min(255) as u8);
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&extended.to_le_bytes());
        if self.capabilities.contains(Capabilities::SECURE_CONNECTION) {
            put_filled_up(out, tail, SCRAMBLE_TAIL_BYTES_MIN.max(tail.len() + 1));
        }
        if self.capabilities.contains(Capabilities::PLUGIN_AUTH) {
            put_nul_terminated(out, &self.plugin);
        }
    }
}

fn put_filled_up(out: &mut Vec<u8>, bytes: &[u8], length: usize) {
    out.extend_from_slice(bytes);
    out.resize(out.len() + length.saturating_sub(bytes.len()), 0);
}

/// Joins the two halves. The extended half counts only if the flags say that the sender is MariaDB.
pub(crate) fn with_extended(protocol: u32, extended: u32) -> Capabilities {
    let speaks_mariadb =
        !Capabilities::from_parts(protocol, 0).contains(Capabilities::LONG_PASSWORD);
    Capabilities::from_parts(protocol, if speaks_mariadb { extended } else { 0 })
}

/// The value of the extended field: zero, unless LONG_PASSWORD is missing, which marks MariaDB.
pub(crate) fn extended_on_wire(capabilities: Capabilities) -> u32 {
    match capabilities.contains(Capabilities::LONG_PASSWORD) {
        true => 0,
        false => capabilities.extended(),
    }
}

pub(crate) fn up_to_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Overwrites the protocol's 32 capability flags of an encoded greeting. Everything else stays as
/// the server wrote it. A payload that is no greeting stays unchanged.
pub fn patch_capabilities(payload: &mut [u8], capabilities: Capabilities) {
    const FROM_VERSION_TO_LOWER: usize = 1 + 4 + SCRAMBLE_HEAD_BYTES + 1;
    const FROM_LOWER_TO_UPPER: usize = 2 + 1 + 2;
    if payload.first() != Some(&PROTOCOL_VERSION) {
        return;
    }
    let Some(version_end) = payload.iter().position(|byte| *byte == 0) else {
        return;
    };
    let lower_at = version_end + FROM_VERSION_TO_LOWER;
    let upper_at = lower_at + FROM_LOWER_TO_UPPER;
    let [a, b, c, d] = capabilities.lower().to_le_bytes();
    if let Some(lower) = payload.get_mut(lower_at..lower_at + 2) {
        lower.copy_from_slice(&[a, b]);
    }
    if let Some(upper) = payload.get_mut(upper_at..upper_at + 2) {
        upper.copy_from_slice(&[c, d]);
    }
}

#[cfg(test)]
mod tests;
